// Package process starts a plugin's executable and knows how it ends.
//
//	start.go         go-plugin's start and handshake
//	process.go       the process: its pipes, its end, how it is killed
//	lifetime.go      the end of a process, or of a connection
//	environment.go   which variables of the host a plugin gets
//	group_linux.go   its process group, so that its children end with it
package process
