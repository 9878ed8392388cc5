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
	// tail is the polynomial without x^n, where one fold is enough: where its degree is below
	// 64 and at most (n+1)/2. Else it is 0, and folds is how often the bits from n on are put
	// back before none are left.
	tail  uint64
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
	if taps[0] < 64 && 2*taps[0] <= n+1 {
		f.tail = 1
		for _, t := range taps {
			f.tail |= 1 << t
		}
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
func (f *Field) Scratch() int { return 8*f.Limbs() + 6 }

// Mul sets z = x y. z may be x or y.
func (f *Field) Mul(z, x, y, scratch []uint64) {
	w := f.Limbs()
	t, rest := scratch[:2*w+2], scratch[2*w+2:]
	if x, y = x[:w], y[:w]; w < karatsuba || w%4 != 0 {
		multiply(t, x, y, rest)
	} else {
		multiplyHalves(t, x, y, rest)
	}
	f.reduce(z, t, rest)
}

// karatsuba is from how many limbs on three products of halves are faster than one.
const karatsuba = 32

// multiplyHalves does what multiply does by Karatsuba's method, for n limbs, a multiple of 4;
// pad has n and two more.
func multiplyHalves(z, x, y, pad []uint64) {
	n := len(x)
	half := n / 2
	sums, middle := z[:n], pad[:n+2]
	for i := range half {
		sums[i] = x[i] ^ x[half+i]
		sums[half+i] = y[i] ^ y[half+i]
	}
	multiply(middle, sums[:half], sums[half:], nil)
	multiply(z[n:], x[half:], y[half:], nil)
	low, next := z[n], z[n+1] // which a product writes over with the zeros above it
	multiply(z[:n+2], x[:half], y[:half], nil)
	z[n], z[n+1] = low, next
	for i := range n {
		middle[i] ^= z[i] ^ z[n+i]
	}
	for i, v := range middle[:n] {
		z[half+i] ^= v
	}
}

// Sqr sets z = x^2. z may be x.
func (f *Field) Sqr(z, x, scratch []uint64) {
	w := f.Limbs()
	t := scratch[:2*w+2]
	square(t, x[:w])
	t[2*w], t[2*w+1] = 0, 0
	f.reduce(z, t, scratch[2*w+2:])
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

// reduce sets z to t, of 2 w + 2 limbs, modulo the polynomial, and uses t up.
func (f *Field) reduce(z, t, h []uint64) {
	if f.tail != 0 {
		f.reduceOnce(z, t, h)
		return
	}
	w, limb, bit := f.Limbs(), f.n/64, uint(f.n%64)
	h = h[:w+1]
	for range f.folds {
		above(h, t[limb:], bit)
		t[limb] &= 1<<bit - 1
		clear(t[limb+1:])
		xorShifted(t, h, 0)
		for _, tap := range f.taps {
			xorShifted(t, h, tap)
		}
	}
	copy(z[:w], t)
}

// reduceOnce does what reduce does, by one product with the tail r. Of t = l + h x^n, what
// h r has from x^n on, o, is added to h before: without those bits l + (h + o) r is t modulo
// the polynomial, since o r has none.
func (f *Field) reduceOnce(z, t, h []uint64) {
	w, limb, bit := f.Limbs(), f.n/64, uint(f.n%64)
	if bit == 0 {
		h = t[w : 2*w]
		fold(z[:w], t[:w], h, h[w-1], f.tail)
		return
	}
	h = h[:w]
	above(h, t[limb:], bit)
	t[limb] &= 1<<bit - 1
	top := h[w-1] << (64 - bit) // the 64 bits below x^n
	if w > 1 {
		top |= h[w-2] >> bit
	}
	fold(z[:w], t[:w], h, top, f.tail)
	z[w-1] &= 1<<bit - 1
}

// foldGeneric sets z to l + (h + o) tail without the limb above it, all of as many limbs as h.
// o is the upper limb of top tail, for the lowest limb of h. z may be l.
func foldGeneric(z, l, h []uint64, top, tail uint64) {
	before, _ := clmul(top, tail)
	var upper uint64
	for i, v := range h {
		hi, lo := clmul(v^before, tail)
		z[i] = l[i] ^ lo ^ upper
		upper, before = hi, 0
	}
}

// above sets h to t, which has a limb more, without its lowest bits, of which there are from
// 0 to 63.
func above(h, t []uint64, bit uint) {
	t = t[:len(h)+1]
	for i := range h {
		h[i] = t[i]>>bit | t[i+1]<<(64-bit)
	}
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

// multiplyGeneric sets z, of 2n limbs and two more, to x y, of n limbs each.
func multiplyGeneric(z, x, y []uint64) {
	clear(z)
	for i, v := range y {
		mulAdd(z[i:i+len(x)+1], x, v)
	}
}

// squareGeneric sets z, of 2n limbs, to x^2, of n limbs.
func squareGeneric(z, x []uint64) {
	for i, v := range x {
		z[2*i], z[2*i+1] = spread(uint32(v)), spread(uint32(v>>32))
	}
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
