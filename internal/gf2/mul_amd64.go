//go:build !purego

package gf2

import "golang.org/x/sys/cpu"

// mulAdd adds x y to z, which has one limb more than x.
func mulAdd(z, x []uint64, y uint64) {
	if cpu.X86.HasPCLMULQDQ && len(x) > 0 {
		mulAddPCLMULQDQ(&z[:len(x)+1][0], &x[0], len(x), y)
		return
	}
	mulAddGeneric(z, x, y)
}

// mulAddPCLMULQDQ does what mulAdd does, for n >= 1 limbs.
//
//go:noescape
func mulAddPCLMULQDQ(z, x *uint64, n int, y uint64)
