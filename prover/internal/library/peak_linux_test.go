package library

import (
	"os"
	"syscall"
)

// peakKiB returns the most memory that a process had.
func peakKiB(p *os.ProcessState) int64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return u.Maxrss
	}
	return 0
}
