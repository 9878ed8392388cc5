package shm

import (
	"math"
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

// futexWait sleeps until it is woken, for so long at most where that is not 0, or for
// no reason; not when w is not v.
func futexWait(w *atomic.Uint32, v uint32, most time.Duration) {
	var limit *unix.Timespec
	if most > 0 {
		t := unix.NsecToTimespec(most.Nanoseconds())
		limit = &t
	}
	_, _, errno := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), opWait, uintptr(v), uintptr(unsafe.Pointer(limit)), 0, 0)
	switch errno {
	case 0, unix.EAGAIN, unix.EINTR, unix.ETIMEDOUT:
	default:
		time.Sleep(wakeAgain) // a kernel that cannot: who waits looks again and again
	}
}

// yield lets other threads that want the processor have it.
func yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

// futexWake wakes all who sleep there.
func futexWake(w *atomic.Uint32) {
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), opWake, math.MaxInt32, 0, 0, 0)
}
