package cuda

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// pin locks the goroutine to its thread and pins the thread to those of the processors that the
// process may use. If that fails the goroutine runs anywhere, which is only slower.
func pin(near []int) {
	runtime.LockOSThread()
	var may, set unix.CPUSet
	if unix.SchedGetaffinity(0, &may) != nil {
		return
	}
	for _, p := range near {
		if may.IsSet(p) {
			set.Set(p)
		}
	}
	if set.Count() > 0 {
		_ = unix.SchedSetaffinity(0, &set)
	}
}
