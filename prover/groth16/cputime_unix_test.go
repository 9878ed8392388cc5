//go:build unix

package groth16_test

import (
	"syscall"
	"time"
)

// cpuTime is the processors' time that this process has used. Unlike the
// clock's it says something on a machine that others use too.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
