package cuda

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// pin keeps the goroutine on a thread of its own, on those of the processors that
// the process may use. Where that fails it runs anywhere, which is only slower.
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
