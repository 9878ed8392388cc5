// Package gf2 is the binary fields GF(2^n), n from 2 on: polynomials over GF(2)
// modulo the sparsest irreducible one, which is NTL's default too, so that results
// compare bit for bit. Nothing here depends in time or addresses on values.
package gf2

import (
	"context"
	"fmt"
	"math/bits"
	"sync"
)

// Field is one GF(2^n). Its elements are Limbs limbs, bit i of which is the
// coefficient of x^i. Safe for concurrent use.
type Field struct {
	n    int
	taps []int // exponents of the polynomial between n and 0, the largest first
	// folds is how often the bits from n on are put back before none are left.
	folds int
}

// fields by degree, made when they are first asked for.
var fields sync.Map

// New returns GF(2^n). It panics for n below 2. It searches once, for up to some seconds,
// for the polynomial of a large n that no table has.
func New(n int) *Field {
	f, err := Find(context.Background(), n)
	if err != nil {
		panic(fmt.Sprintf("gf2: %v", err)) // it cannot be: nothing ends the search
	}
	return f
}

// Find does what New does, until ctx ends: then its error is the context's.
func Find(ctx context.Context, n int) (*Field, error) {
	if n < 2 {
		panic(fmt.Sprintf("gf2: a field of degree %d", n))
	}
	if f, ok := fields.Load(n); ok {
		return f.(*Field), nil
	}
	taps, err := sparse(ctx, n)
	if err != nil {
		return nil, err
	}
	f, _ := fields.LoadOrStore(n, field(n, taps))
	return f.(*Field), nil
}

func field(n int, taps []int) *Field {
	f := &Field{n: n, taps: taps}
	for degree := 2*n - 2; degree >= n; degree -= n - taps[0] {
		f.folds++
	}
	return f
}

// Degree returns n.
func (f *Field) Degree() int { return f.n }

// Taps returns the exponents of the polynomial other than n and 0: one, or three with
// the largest first. Do not change the result.
func (f *Field) Taps() []int { return f.taps }

// Limbs returns the number of 64-bit words of an element.
func (f *Field) Limbs() int { return (f.n + 63) / 64 }

// Has reports whether x is an element: whether it has no bit from n on.
func (f *Field) Has(x []uint64) bool {
	return f.n%64 == 0 || x[f.n/64]>>(f.n%64) == 0
}

// Scratch returns how many limbs of scratch memory Mul, Sqr and Inv need.
func (f *Field) Scratch() int { return 6*f.Limbs() + 2 }

// Mul sets z = x y. z may be x or y.
func (f *Field) Mul(z, x, y, scratch []uint64) {
	w := f.Limbs()
	t := scratch[:2*w+1]
	clear(t)
	for i, v := range y[:w] {
		mulAdd(t[i:i+w+1], x[:w], v)
	}
	f.reduce(z, t, scratch[2*w+1:])
}

// Sqr sets z = x^2. z may be x.
func (f *Field) Sqr(z, x, scratch []uint64) {
	w := f.Limbs()
	t := scratch[:2*w+1]
	for i, v := range x[:w] {
		t[2*i], t[2*i+1] = spread(uint32(v)), spread(uint32(v>>32))
	}
	t[2*w] = 0
	f.reduce(z, t, scratch[2*w+1:])
}

// Inv sets z = 1/x, 0 for 0, as x^(2^n-2). z may be x.
func (f *Field) Inv(z, x, scratch []uint64) {
	// With b(k) = x^(2^k-1), b(j+k) = b(j)^(2^k) b(k); the answer is b(n-1)^2.
	w := f.Limbs()
	b, t, rest := scratch[:w], scratch[w:2*w], scratch[2*w:]
	base := make([]uint64, w)
	copy(base, x)
	copy(b, x)
	k := 1
	for i := bits.Len(uint(f.n-1)) - 2; i >= 0; i-- {
		copy(t, b)
		for range k {
			f.Sqr(t, t, rest)
		}
		f.Mul(b, b, t, rest)
		if k *= 2; (f.n-1)>>i&1 == 1 {
			f.Sqr(b, b, rest)
			f.Mul(b, b, base, rest)
			k++
		}
	}
	f.Sqr(z, b, rest)
	clear(base)
}

// reduce sets z to t, of 2 w + 1 limbs, modulo the polynomial, and uses t up.
func (f *Field) reduce(z, t, h []uint64) {
	w, limb, bit := f.Limbs(), f.n/64, uint(f.n%64)
	h = h[:w+1]
	for range f.folds {
		for i := range h { // the bits from n on
			v := uint64(0)
			if limb+i < len(t) {
				v = t[limb+i] >> bit
			}
			if limb+i+1 < len(t) {
				v |= t[limb+i+1] << (64 - bit)
			}
			h[i] = v
		}
		t[limb] &= 1<<bit - 1
		clear(t[limb+1:])
		xorShifted(t, h, 0)
		for _, tap := range f.taps {
			xorShifted(t, h, tap)
		}
	}
	copy(z[:w], t)
}

// xorShifted adds h x^by to t, of whose limbs the product has no more.
func xorShifted(t, h []uint64, by int) {
	limb, bit := by/64, uint(by%64)
	low := uint64(0)
	for i, v := range h {
		if limb+i >= len(t) {
			return
		}
		t[limb+i] ^= v<<bit | low>>(64-bit)
		low = v
	}
	if limb+len(h) < len(t) {
		t[limb+len(h)] ^= low >> (64 - bit)
	}
}

// spread puts zeros between the bits of v: it is v squared.
func spread(v uint32) uint64 {
	x := uint64(v)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
	x = (x | x<<2) & 0x3333333333333333
	return (x | x<<1) & 0x5555555555555555
}

// mulAddGeneric adds x y to z, which has one limb more than x.
func mulAddGeneric(z, x []uint64, y uint64) {
	for i, v := range x {
		hi, lo := clmul(v, y)
		z[i] ^= lo
		z[i+1] ^= hi
	}
}

// clmul returns the product of the polynomials x and y, by products of integers. It
// splits x and y into parts whose bits lie five places apart. Such a part has at most 13
// bits, so no column of the product of two parts carries into the next one.
func clmul(x, y uint64) (hi, lo uint64) {
	const apart = 5
	const every = 0x1084210842108421 // the bits 0, 5, .. 60
	var xs, ys [apart]uint64
	for k := range apart {
		xs[k], ys[k] = x&(every<<k), y&(every<<k)
	}
	for k := range apart { // the places k modulo 5
		var h, l uint64
		for i := range apart {
			ph, pl := bits.Mul64(xs[i], ys[(k+apart-i)%apart])
			h, l = h^ph, l^pl
		}
		// Bit 64 is the place 4 modulo 5.
		lo |= l & residue(k)
		hi |= h & residue((k+1)%apart)
	}
	return hi, lo
}

// residue returns a mask of the bits k, k+5, .. of a limb.
func residue(k int) uint64 {
	const every = 0x1084210842108421
	return every << k
}
