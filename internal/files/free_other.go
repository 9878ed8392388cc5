//go:build !linux && !darwin && !windows

package files

func free(string) (uint64, bool) { return 0, false }
