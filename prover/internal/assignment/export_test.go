package assignment

import "runtime"

// AwaitSchedules waits until no schedule is being made.
func AwaitSchedules() {
	for making := true; making; runtime.Gosched() {
		making = false
		schedules.Lock()
		for _, levels := range schedules.of {
			making = making || levels == nil
		}
		schedules.Unlock()
	}
}
