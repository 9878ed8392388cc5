//go:build !linux

package demo

import (
	"fmt"
	"runtime"
)

// KillPlugin is not written for this system, on which plugins do not run.
func KillPlugin(plugin string) (pid int, err error) {
	return 0, fmt.Errorf("killing %s: not supported on %s", plugin, runtime.GOOS)
}
