// Package oracle has slow, obvious models of the arithmetic that the device code
// does fast: words and Montgomery form, prime and quadratic fields, and points
// of y^2 = x^3 + b, all in math/big. Tests compare with it; nothing else uses it.
package oracle

import "math/big"

// Words returns x as n little-endian 32-bit words. It panics when x is negative
// or does not fit, which is a mistake in a test.
func Words(x *big.Int, n int) []uint32 {
	if x.Sign() < 0 || x.BitLen() > 32*n {
		panic("oracle: number does not fit its words")
	}
	buf := x.FillBytes(make([]byte, 4*n))
	w := make([]uint32, n)
	for i := range w {
		b := buf[4*(n-1-i):]
		w[i] = uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	}
	return w
}

// Int returns the number of little-endian 32-bit words.
func Int(w []uint32) *big.Int {
	buf := make([]byte, 4*len(w))
	for i, x := range w {
		b := buf[4*(len(w)-1-i):]
		b[0], b[1], b[2], b[3] = byte(x>>24), byte(x>>16), byte(x>>8), byte(x)
	}
	return new(big.Int).SetBytes(buf)
}

// Pow2 returns 2^n.
func Pow2(n int) *big.Int { return new(big.Int).Lsh(big.NewInt(1), uint(n)) }

// Signed reads x < 2^bits as two's complement.
func Signed(x *big.Int, bits int) *big.Int {
	if x.Bit(bits-1) == 0 {
		return x
	}
	return new(big.Int).Sub(x, Pow2(bits))
}

// Unsigned returns the two's complement of x in so many bits.
func Unsigned(x *big.Int, bits int) *big.Int {
	return new(big.Int).Mod(x, Pow2(bits))
}

// Redc returns Montgomery's reduction of t by p with R = 2^bits, before any
// subtraction: (t + q p)/R with q = -t/p mod R.
func Redc(t, p *big.Int, bits int) *big.Int {
	r := Pow2(bits)
	q := new(big.Int).ModInverse(p, r)
	q.Mul(q, t).Neg(q).Mod(q, r)
	q.Mul(q, p).Add(q, t)
	return q.Rsh(q, uint(bits))
}
