package main

import (
	"fmt"
	"os"
	"runtime"
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
	// Go's heap grows by 64 MiB of addresses, which the limit would refuse, and begins at a
	// random place of its first 64 MiB (go1.26 runtime/malloc.go, heapArenaBytes and
	// randomizeHeapBase): one process in 16 has 4 MiB. So it gets its room before.
	runtime.KeepAlive(make([]byte, 64<<20))
	runtime.GC()
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
