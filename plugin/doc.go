// Package plugin runs a backend in a process of its own. A host finds a
// plugin's executable (Find, List), starts it (Open, or a Supervisor that
// starts it again after a crash) and gets a backend.Backend; a plugin's main
// function is a call of Serve.
//
// Points and scalars go through sealed shared memory (package shm), messages
// through gRPC (package proto). docs/protocol.md describes the protocol.
//
// Plugins need Linux. Elsewhere Open fails with backend.ErrUnsupported.
package plugin
