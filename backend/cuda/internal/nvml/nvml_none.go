//go:build !cuda || !cgo || !linux || !(amd64 || arm64)

package nvml

// Energy returns false: without the library nothing is known.
func Energy(string) (millijoules uint64, ok bool) { return 0, false }
