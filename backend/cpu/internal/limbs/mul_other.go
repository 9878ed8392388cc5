//go:build !amd64 || purego

package limbs

// MulAdd sets z += x y and returns the limb above z. x has at least len(z) limbs; more are not
// used.
func MulAdd(z, x []uint64, y uint64) (above uint64) { return mulAddGeneric(z, x, y) }

// Mul sets t = x y. x and y have n limbs, t 2n.
func Mul(t, x, y []uint64) { mulGeneric(t, x, y) }

// Sqr sets t = x^2. x has n limbs, t 2n.
func Sqr(t, x []uint64) { sqrGeneric(t, x) }

// Reduce adds to t the multiple of m that makes its lower n limbs zero. The upper n limbs, with the
// returned bit above them, are then t / 2^(64n) modulo m. m has n limbs and t 2n. minus is -1/m
// modulo 2^64.
func Reduce(t, m []uint64, minus uint64) (above uint64) { return reduceGeneric(t, m, minus) }

// Subtract sets z to x modulo m. above is the bit above x's limbs, and x with it is below 2m. z may
// be x.
func Subtract(z, x, m []uint64, above uint64) { subtractGeneric(z, x, m, above) }
