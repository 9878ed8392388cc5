//go:build !amd64 || purego

package gf2

// mulAdd adds x y to z, which has one limb more than x.
func mulAdd(z, x []uint64, y uint64) { mulAddGeneric(z, x, y) }

// multiply sets z, of 2n limbs and two more, to x y, of n limbs each. pad is not used.
func multiply(z, x, y, pad []uint64) { multiplyGeneric(z, x, y) }

// square sets z, of 2n limbs, to x^2, of n limbs.
func square(z, x []uint64) { squareGeneric(z, x) }

// fold does what foldGeneric does.
func fold(z, l, h []uint64, top, tail uint64) { foldGeneric(z, l, h, top, tail) }
