package library

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
)

// peakKiB calls a function and returns the most memory that the process had meanwhile.
func peakKiB(f func()) (kib int64) {
	debug.FreeOSMemory()
	err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak is what there is now
	f()
	status, unread := os.ReadFile("/proc/self/status")
	if err != nil || unread != nil {
		return 0
	}
	_, peak, _ := bytes.Cut(status, []byte("VmHWM:"))
	if _, err := fmt.Sscan(string(peak), &kib); err != nil {
		return 0
	}
	return kib
}
