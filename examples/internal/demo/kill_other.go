//go:build !linux

package demo

import (
	"fmt"
	"runtime"
)

// KillPlugin fails: plugins do not run on this system.
func KillPlugin(plugin string) (pid int, err error) {
	return 0, fmt.Errorf("killing %s: not supported on %s", plugin, runtime.GOOS)
}
