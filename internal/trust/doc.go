// Package trust refuses files that somebody else could have changed or put in their
// place: executables and their checksums, the folders of sockets, and configurations.
//
//	trust_unix.go    the way to a file, link by link, and who may write on it
//	list_linux.go    a file whose mode alone says who may
//	noexec_linux.go  whether a file's file system lets it be executed
//	trust_other.go   systems on which nothing is executed
package trust
