// Package serve is the side of the plugin boundary that has the backend. A plugin's main function
// is one call of Plugin. A program that only serves links nothing of a host, and a host (package
// plugin) links nothing of this.
//
//	serve.go           what an author of a plugin uses
//	serve_linux.go     a plugin of one host, and its end with the host
//	daemon_linux.go    a daemon: the socket, sessions
//	server.go          one session: calls, bases
//	program.go         spaces and programs
//	lane.go            calls in lanes
//	limit.go           what requests and replies of one user may take
//	mapped.go          arenas, and descriptors that have arrived
//	memory.go          secrets in this process's memory
package serve
