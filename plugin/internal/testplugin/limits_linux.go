package main

import (
	"fmt"
	"os"
	"syscall"
)

// noMoreDescriptors limits this process as ulimit -n: what is open stays, nothing can be
// added.
func noMoreDescriptors() error {
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 3, Max: 3})
}

// littleMore limits this process as ulimit -v: this many bytes can be mapped, and no large
// arena.
func littleMore(size uint64) error {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	var pages uint64
	if _, err := fmt.Sscan(string(statm), &pages); err != nil {
		return err
	}
	limit := pages*uint64(os.Getpagesize()) + size
	return syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: limit, Max: limit})
}
