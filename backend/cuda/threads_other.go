//go:build !linux

package cuda

func pin([]int) {} // there are no GPUs here
