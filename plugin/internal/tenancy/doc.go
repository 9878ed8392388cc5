// Package tenancy has one backend serve several sessions, which are backends
// themselves: what a daemon gives each prover that connects.
//
// Bases are recognised by their digest (backend.Digest), which is always computed
// here, of a copy that nobody else can change: two sessions that load the same
// bases hold them once, and bases that no session holds any more are kept as a
// cache. Spaces of vectors are a session's own, and no session can name
// another's. Calls take turns (turns.go), so that none waits for all of another
// session's. What a session may hold has a limit.
//
//	tenancy.go   the backend, and the bases of all sessions
//	session.go   one session
//	room.go      what sessions and users may hold
//	source.go    reading bases, and their digest
//	file.go      files whose digest is known
//	turns.go     whose call computes next
package tenancy
