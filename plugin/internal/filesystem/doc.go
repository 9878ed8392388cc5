// Package filesystem tells which files can be read without waiting for somebody else's
// program or machine.
//
//	filesystem_linux.go   by the file's mount or its disk
//	filesystem_other.go   systems without plugins
package filesystem
