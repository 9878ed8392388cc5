package shm

import "golang.org/x/sys/unix"

// defaultBudget is half of the machine's memory.
func defaultBudget() int64 {
	var si unix.Sysinfo_t
	if err := unix.Sysinfo(&si); err != nil {
		return 1 << 30
	}
	return int64(uint64(si.Totalram) * uint64(si.Unit) / 2)
}
