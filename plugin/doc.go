// Package plugin runs a backend in a separate process. A host finds a plugin's executable (Find,
// List), starts it (Open) and gets a backend.Backend. Package engine starts it again after a crash.
// The plugin's side is package serve. Most programs open plugins by pippin.New, which calls this
// package.
//
//	b, err := plugin.Open(ctx, plugin.Spec{Name: "cuda"})
//
// Points and scalars cross in sealed shared memory (package shm), messages through gRPC (package
// proto) or, if they are small, through shared memory too (lane.go). docs/protocol.md describes the
// protocol.
//
// Plugins need Linux. Elsewhere Open fails with backend.ErrUnsupported.
//
//	find.go                     executables, and which of them may be started
//	open.go, memory.go          starting a plugin, and what the next one takes over
//	daemon.go, dial_linux.go    a daemon's settings; connecting to one
//	exec_linux.go               becoming a daemon
//	client.go, peer.go          the backend, its life and its end
//	call.go, program.go         MSMs and programs: what a request is and what becomes of it
//	lane.go                     the short way of requests
//	load.go                     bases
//	alloc.go, attach.go         shared memory for callers, and showing it to the plugin
//	feed.go                     copying scalars while the plugin computes
package plugin
