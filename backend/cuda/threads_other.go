//go:build !linux

package cuda

func pin([]int) {} // no GPUs on these systems
