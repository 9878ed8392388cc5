//go:build !amd64 || purego

package mont8

const available = false

func mul(_, _, _ []uint64, _ *Powers) { panic("mont8: not available") }
