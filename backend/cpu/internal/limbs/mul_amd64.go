//go:build !purego

package limbs

import "golang.org/x/sys/cpu"

// twoChains reports whether the processor can keep two chains of carries apart (ADX).
var twoChains = cpu.X86.HasADX && cpu.X86.HasBMI2

// MulAdd sets z += x y and returns the limb above z. x has at least len(z) limbs; more are not
// used.
func MulAdd(z, x []uint64, y uint64) (above uint64) {
	if n := len(z); twoChains && n > 0 {
		return mulAddADX(&z[0], &x[:n][0], n, y)
	}
	return mulAddGeneric(z, x, y)
}

// Mul sets t = x y. x and y have n limbs, t 2n.
func Mul(t, x, y []uint64) {
	if n := len(x); twoChains && n > 0 {
		mulADX(&t[:2*n][0], &x[0], &y[:n][0], n)
		return
	}
	mulGeneric(t, x, y)
}

// Sqr sets t = x^2. x has n limbs, t 2n.
func Sqr(t, x []uint64) {
	if n := len(x); twoChains && n >= 8 { // below 8 limbs all products are as fast
		sqrADX(&t[:2*n][0], &x[0], n)
		return
	} else if twoChains {
		Mul(t, x, x)
		return
	}
	sqrGeneric(t, x)
}

// Reduce adds to t the multiple of m that makes its lower n limbs zero. The upper n limbs, with the
// returned bit above them, are then t / 2^(64n) modulo m. m has n limbs and t 2n. minus is -1/m
// modulo 2^64.
func Reduce(t, m []uint64, minus uint64) (above uint64) {
	if n := len(m); twoChains && n > 0 {
		return reduceADX(&t[:2*n][0], &m[0], n, minus)
	}
	return reduceGeneric(t, m, minus)
}

// Subtract sets z to x modulo m. above is the bit above x's limbs, and x with it is below 2m. z may
// be x.
func Subtract(z, x, m []uint64, above uint64) {
	if n := len(m); twoChains && n > 0 {
		subtractBMI2(&z[:n][0], &x[:n][0], &m[0], n, above)
		return
	}
	subtractGeneric(z, x, m, above)
}

// These do the same in assembly, for n >= 1 limbs.

//go:noescape
func mulAddADX(z, x *uint64, n int, y uint64) (above uint64)

//go:noescape
func mulADX(t, x, y *uint64, n int)

//go:noescape
func sqrADX(t, x *uint64, n int)

//go:noescape
func reduceADX(t, m *uint64, n int, minus uint64) (above uint64)

//go:noescape
func subtractBMI2(z, x, m *uint64, n int, above uint64)
