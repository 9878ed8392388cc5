// Package serve is the side of the plugin boundary that has the backend: a plugin's
// main function is a call of Plugin. A program that only serves links nothing of a
// host's, and a host (package plugin) nothing of this.
//
//	serve.go           what an author of a plugin uses
//	serve_linux.go     a plugin of one host, and its end with the host
//	daemon_linux.go    a daemon: the socket, sessions
//	server.go          one session: calls, bases
//	vectors.go         spaces and programs
//	lane.go            calls in lanes
//	mapped.go          arenas, and descriptors that have arrived
package serve
