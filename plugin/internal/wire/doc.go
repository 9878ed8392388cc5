// Package wire is what a host and a plugin agree on beside the messages themselves
// (package proto): how these become types of package backend and back, how errors
// cross, and the limits that both sides keep to. docs/protocol.md describes it.
//
//	handshake.go    go-plugin's handshake, and the version of the protocol
//	greeting.go     a daemon's settings, and what it says first
//	limits.go       of requests, replies and lanes
//	errors.go       errors as statuses and failures
//	info.go         what a backend is and can do
//	usage.go        what a backend has counted
//	weigh.go        what a request takes in memory
//	region.go       shared memory
package wire
