//go:build !amd64 || purego

package gf2

// mulAdd adds x y to z, which has one limb more than x.
func mulAdd(z, x []uint64, y uint64) { mulAddGeneric(z, x, y) }
