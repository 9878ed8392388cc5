// Package limbs multiplies and reduces long numbers. Their limbs have 64 bits, the lowest first.
// Time and addresses depend only on lengths.
package limbs

import "math/bits"

// mulAddGeneric computes MulAdd in Go.
func mulAddGeneric(z, x []uint64, y uint64) (above uint64) {
	x = x[:len(z)]
	for i := range z {
		hi, lo := bits.Mul64(x[i], y)
		var c uint64
		lo, c = bits.Add64(lo, z[i], 0)
		hi += c
		z[i], c = bits.Add64(lo, above, 0)
		above = hi + c
	}
	return above
}

// mulGeneric computes Mul in Go.
func mulGeneric(t, x, y []uint64) {
	n := len(x)
	clear(t[:n])
	for i, v := range y[:n] {
		t[n+i] = mulAddGeneric(t[i:i+n], x, v)
	}
}

// sqrGeneric computes Sqr in Go. It computes each product of two different limbs once and doubles
// it.
func sqrGeneric(t, x []uint64) {
	n := len(x)
	clear(t[:2*n])
	for i, v := range x {
		t[n+i] = mulAddGeneric(t[2*i+1:n+i], x[i+1:], v)
	}
	var carry, up uint64 // up is the bit that a doubling moves to the next limb
	for i, v := range x {
		hi, lo := bits.Mul64(v, v)
		a, b := t[2*i], t[2*i+1]
		t[2*i], carry = bits.Add64(a<<1|up, lo, carry)
		t[2*i+1], carry = bits.Add64(b<<1|a>>63, hi, carry)
		up = b >> 63
	}
}

// reduceGeneric computes Reduce in Go.
func reduceGeneric(t, m []uint64, minus uint64) (above uint64) {
	n := len(m)
	for i := range m {
		a := mulAddGeneric(t[i:i+n], m, t[i]*minus)
		t[n+i], above = bits.Add64(t[n+i], a, above)
	}
	return above
}

// subtractGeneric computes Subtract in Go.
func subtractGeneric(z, x, m []uint64, above uint64) {
	var borrow uint64
	for i, v := range m {
		_, borrow = bits.Sub64(x[i], v, borrow)
	}
	whether := -(above | (borrow ^ 1))
	borrow = 0
	for i, v := range m {
		z[i], borrow = bits.Sub64(x[i], v&whether, borrow)
	}
}
