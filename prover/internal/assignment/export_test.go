package assignment

import (
	"maps"
	"slices"
)

// AwaitSchedules waits until no schedule is being made.
func AwaitSchedules() {
	known.Lock()
	all := slices.Collect(maps.Values(known.of))
	known.Unlock()
	for _, f := range all {
		if f.begun.Load() {
			<-f.made
		}
	}
}
