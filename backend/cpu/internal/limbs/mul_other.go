//go:build !amd64 || purego

package limbs

// MulAdd sets z += x y and returns the limb above. x has len(z) limbs, or more, which are
// not used.
func MulAdd(z, x []uint64, y uint64) (above uint64) { return mulAddGeneric(z, x, y) }

// Mul sets t = x y. x and y have n limbs, t 2n.
func Mul(t, x, y []uint64) { mulGeneric(t, x, y) }

// Sqr sets t = x^2. x has n limbs, t 2n.
func Sqr(t, x []uint64) { sqrGeneric(t, x) }

// Reduce adds to t the multiple of m whose sum with it ends in n limbs of zeros: what is
// left is t / 2^(64n) modulo m, in the upper n limbs and the bit above them, which is
// returned. m has n limbs, t 2n; minus is -1/m modulo 2^64.
func Reduce(t, m []uint64, minus uint64) (above uint64) { return reduceGeneric(t, m, minus) }

// Subtract sets z to x, which has the bit above over its limbs and is below 2m, modulo m.
// z may be x.
func Subtract(z, x, m []uint64, above uint64) { subtractGeneric(z, x, m, above) }
