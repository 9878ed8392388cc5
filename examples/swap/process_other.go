//go:build !linux

package main

import (
	"fmt"
	"runtime"
)

// killChild is not written for this system, on which plugins do not run.
func killChild(plugin string) (pid int, err error) {
	return 0, fmt.Errorf("killing %s: not supported on %s", plugin, runtime.GOOS)
}
