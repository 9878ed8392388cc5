//go:build unix

package cli

import (
	"os"
	"syscall"
)

// become makes this process another program, which keeps the name that this one was called by.
func become(path string, args, env []string) error {
	return &os.PathError{Op: "exec", Path: path, Err: syscall.Exec(path, append([]string{os.Args[0]}, args...), env)}
}
