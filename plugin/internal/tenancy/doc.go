// Package tenancy makes one backend serve several sessions, which are backends themselves. A daemon
// gives one to each prover that connects.
//
// Bases are recognised by their digest (backend.Digest). The digest is always computed here, from a
// copy that nobody else can change. Two sessions that load the same bases hold them once. Bases
// that no session holds any more are kept as a cache.
//
// Spaces belong to one session, and no session can name another's. Calls take turns (turns.go), so
// that none waits until another session has no more calls. What a session may hold is limited.
//
//	tenancy.go   the backend, and the bases of all sessions
//	session.go   one session
//	room.go      what sessions and users may hold
//	source.go    reading bases, and their digest
//	file.go      files whose digest is known
//	turns.go     whose call computes next
package tenancy
