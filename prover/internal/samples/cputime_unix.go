//go:build unix

package samples

import (
	"syscall"
	"time"
)

// CPUTime is the processors' time that this process has used. Unlike the
// clock's it says something on a machine that others use too.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
