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

var hasDigits = cpu.X86.HasPCLMULQDQ && cpu.X86.HasAVX

// multiply sets z, of 2n limbs and two more, to x y, of n limbs each. pad has as many as z.
func multiply(z, x, y, pad []uint64) {
	n := len(x)
	if !hasDigits || n < 2 {
		multiplyGeneric(z, x, y)
		return
	}
	if n%2 == 1 { // digits have two limbs
		a, b := pad[:n+1], pad[n+1:2*n+2]
		copy(a, x)
		copy(b, y)
		a[n], b[n] = 0, 0
		x, y = a, b
	} else {
		z[2*n], z[2*n+1] = 0, 0
	}
	mulDigitsAVX(&z[:2*len(x)][0], &x[0], &y[:len(x)][0], len(x)/2)
}

// mulDigitsAVX sets z to x y, of n >= 1 digits of two limbs each.
//
//go:noescape
func mulDigitsAVX(z, x, y *uint64, n int)

// square sets z, of 2n limbs, to x^2, of n limbs.
func square(z, x []uint64) {
	if n := len(x); cpu.X86.HasPCLMULQDQ && n > 0 {
		sqrPCLMULQDQ(&z[:2*n][0], &x[0], n)
		return
	}
	squareGeneric(z, x)
}

// sqrPCLMULQDQ does what square does, for n >= 1 limbs.
//
//go:noescape
func sqrPCLMULQDQ(z, x *uint64, n int)

// fold does what foldGeneric does.
func fold(z, l, h []uint64, top, tail uint64) {
	if n := len(h); cpu.X86.HasPCLMULQDQ && n > 0 {
		foldPCLMULQDQ(&z[:n][0], &l[:n][0], &h[0], n, top, tail)
		return
	}
	foldGeneric(z, l, h, top, tail)
}

// foldPCLMULQDQ does what fold does, for n >= 1 limbs.
//
//go:noescape
func foldPCLMULQDQ(z, l, h *uint64, n int, top, tail uint64)
