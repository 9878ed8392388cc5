package shm

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The operations of futex(2), between processes.
const (
	opWait = 0
	opWake = 1
)

// futexWait sleeps until it is woken, or for no reason; not when w is not v.
func futexWait(w *atomic.Uint32, v uint32) {
	_, _, errno := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), opWait, uintptr(v), 0, 0, 0)
	if errno != 0 && errno != unix.EAGAIN && errno != unix.EINTR {
		time.Sleep(maxSleep) // a kernel that cannot: who waits looks again and again
	}
}

// futexWake wakes who sleeps there.
func futexWake(w *atomic.Uint32) {
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), opWake, 1, 0, 0, 0)
}
