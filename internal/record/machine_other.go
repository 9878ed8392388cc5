//go:build !linux

package record

// describeSystem knows no more than what Go itself says.
func describeSystem(*Machine) {}

// AvailableMemory returns unknown on this system.
func AvailableMemory() (n uint64, ok bool) { return 0, false }
