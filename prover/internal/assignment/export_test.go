package assignment

import (
	"maps"
	"slices"
)

// HintsOnElements returns the names of the hints that are computed on elements, but for those
// of emulated numbers, which TestEmulatedHints calls.
func HintsOnElements() (names []string) {
	for name, e := range library {
		if e.way != wayNone && !e.emulated {
			names = append(names, name)
		}
	}
	return names
}

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

// Known returns how many systems something is known of.
func Known() int {
	known.Lock()
	defer known.Unlock()
	return len(known.of)
}
