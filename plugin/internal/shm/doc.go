// Package shm moves bytes between a host and its plugin without copying them
// through a socket: sealed, memory-backed files that both sides map.
//
// The host creates an Arena, writes to it and sends its descriptor over a
// Channel; the plugin attaches it as a Mapping,
// read-only unless the arena is for answers. A Pool hands out
// page-aligned Regions of a bounded number of arenas, so that the cost of
// touching memory for the first time is paid once. A Counter tells the other
// side how much of a region is already written.
//
// Only Linux has what this needs; elsewhere the constructors fail with
// backend.ErrUnsupported.
//
//	arena.go       memory to share, and how the other side maps it
//	pool.go        regions of arenas
//	counter.go     how far a region is written
//	mailbox.go     one message after the other, in shared memory
//	channel.go     sending descriptors
//	peer_linux.go  who is at the other end of a socket
//	bytes.go       copying and wiping with several processors
package shm
