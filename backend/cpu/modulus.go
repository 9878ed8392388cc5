package cpu

import (
	"context"
	"encoding/binary"
	"errors"
	"math/big"
	"math/bits"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu/internal/limbs"
)

// modulus is a modulus m with the constants of Montgomery products by m. Numbers have n limbs of 64
// bits, and R = 2^(64n). The time and the addresses of its methods depend on no values:
// TestConstantTime looks for branches and addresses that do. It is only read after newModulus,
// since many goroutines use it.
type modulus struct {
	n     int
	m     []uint64
	minus uint64   // -1/m modulo 2^64
	rr    []uint64 // R^2 modulo m
	one   []uint64 // R modulo m
	// The contract's Montgomery form has another R: r = 2^(32w) for numbers of w words. If n limbs
	// have a word more than w, narrow is R^2 / r modulo m, otherwise nil. rR is r R modulo m.
	narrow, rR []uint64
	// mu is R^2 / m, rounded down, in n+1 limbs. over is m and 2m, each with one limb more. product
	// uses them if it divides by m.
	mu   []uint64
	over [2][]uint64
}

var (
	errEven = errors.New("the modulus is even")
	errOne  = errors.New("the modulus is not above 1")
	errZero = errors.New("the modulus is 0")
)

// limbsOf returns how many limbs a number of size bytes has.
func limbsOf(size int) int { return (size + 7) / 8 }

// load sets x to a little-endian number of 4 bytes or more, with zeros above it.
func load(x []uint64, b []byte) {
	i := 0
	for ; len(b) >= 8; i++ {
		x[i] = binary.LittleEndian.Uint64(b)
		b = b[8:]
	}
	if len(b) >= 4 {
		x[i] = uint64(binary.LittleEndian.Uint32(b))
		i++
	}
	clear(x[i:])
}

// store writes x to all of b.
func store(b []byte, x []uint64) {
	i := 0
	for ; len(b) >= 8; i++ {
		binary.LittleEndian.PutUint64(b, x[i])
		b = b[8:]
	}
	if len(b) >= 4 {
		binary.LittleEndian.PutUint32(b, uint32(x[i]))
	}
}

// newModulus prepares a modulus. products asks for Montgomery products, for which it must be odd. A
// secret modulus shows its length in bits and nothing else; a public one takes less time.
func newModulus(b []byte, products, secret bool) (*modulus, error) {
	k := &modulus{n: limbsOf(len(b))}
	k.m = make([]uint64, k.n)
	load(k.m, b)
	switch rest := or(k.m[1:]); {
	case !products && k.m[0]|rest == 0:
		return nil, errZero
	case !products:
		return k, nil
	case k.m[0]&1 == 0:
		return nil, errEven
	case k.m[0] == 1 && rest == 0:
		return nil, errOne
	}
	inverse := k.m[0] // correct to three bits; each step doubles their number
	for range 5 {
		inverse *= 2 - k.m[0]*inverse
	}
	k.minus = -inverse
	power := k.power
	if secret {
		k.one = k.radix()
	} else {
		m := whole(b)
		power = func(e int) []uint64 { return k.divided(m, 64*k.n+e) }
		k.one = power(0)
	}
	k.rr = power(64 * k.n)
	if k.rR = k.rr; len(b)%8 != 0 {
		k.narrow, k.rR = power(32), power(64*k.n-32)
	}
	return k, nil
}

// fewLimbs is the number of limbs from which a product and a division take less time than two
// products and two reductions.
const fewLimbs = 12

// divides prepares product to divide by m. That pays for a modulus of full length and many
// products.
func (k *modulus) divides() {
	if k.n < fewLimbs || k.bits() <= 64*(k.n-1) {
		return
	}
	// R^2 - rr is a multiple of m. So the quotient is rr times -1/m modulo 2^(64(n+1)).
	n := k.n
	k.mu = make([]uint64, n+1)
	t := make([]uint64, 2*n+3)
	copy(t, k.rr)
	for i := range k.mu {
		k.mu[i] = t[i] * k.minus
		a := limbs.MulAdd(t[i:i+n], k.m, k.mu[i])
		var c uint64
		t[n+i], c = bits.Add64(t[n+i], a, 0)
		t[n+i+1] += c
	}
	k.over[0], k.over[1] = make([]uint64, n+1), make([]uint64, n+1)
	copy(k.over[0], k.m)
	up := uint64(0)
	for i, v := range k.over[0] {
		k.over[1][i] = v<<1 | up
		up = v >> 63
	}
}

// radix returns R modulo m, by doubling the highest power of 2 below m.
func (k *modulus) radix() []uint64 {
	x, top := make([]uint64, k.n), k.bits()-1
	x[top/64] = 1 << (top % 64)
	k.double(x, 64*k.n-top)
	return x
}

// bits returns the length of the modulus in bits.
func (k *modulus) bits() int {
	i := k.n - 1
	for i > 0 && k.m[i] == 0 {
		i--
	}
	return 64*i + bits.Len64(k.m[i])
}

// double doubles x times times, modulo m.
func (k *modulus) double(x []uint64, times int) {
	for range times {
		k.add(x, x, x)
	}
}

// power returns 2^log R modulo m, for log >= 0, by doublings and squarings: mul squares 2^i R to
// 2^(2i) R.
func (k *modulus) power(log int) []uint64 {
	x, t := slices.Clone(k.one), make([]uint64, 2*k.n)
	shift := max(bits.Len(uint(log))-bits.Len(uint(k.n/4)), 0) // up to about n/4 doubling is faster
	k.double(x, log>>shift)
	for shift--; shift >= 0; shift-- {
		k.sqr(x, x, t)
		k.double(x, log>>shift&1)
	}
	return x
}

// divided returns 2^e modulo m by a division.
func (k *modulus) divided(m *big.Int, e int) []uint64 {
	v := new(big.Int).Lsh(big.NewInt(1), uint(e))
	b := make([]byte, 8*k.n)
	put(b, v.Mod(v, m))
	x := make([]uint64, k.n)
	load(x, b)
	return x
}

func or(x []uint64) (all uint64) {
	for _, v := range x {
		all |= v
	}
	return all
}

// has reports whether x is below the modulus.
func (k *modulus) has(x []uint64) bool {
	var borrow uint64
	for i, m := range k.m {
		_, borrow = bits.Sub64(x[i], m, borrow)
	}
	return borrow == 1
}

// add sets z = x + y modulo m.
func (k *modulus) add(z, x, y []uint64) {
	var carry uint64
	for i := range k.m {
		z[i], carry = bits.Add64(x[i], y[i], carry)
	}
	limbs.Subtract(z, z, k.m, carry)
}

// accumulate adds the product t, of 2n limbs, to a sum of products, of 2n + 1 limbs.
func (k *modulus) accumulate(sum, t []uint64) {
	var carry uint64
	for i, v := range t {
		sum[i], carry = bits.Add64(sum[i], v, carry)
	}
	sum[len(t)] += carry
}

// sub sets z = x - y modulo m.
func (k *modulus) sub(z, x, y []uint64) {
	var borrow, carry uint64
	for i := range k.m {
		z[i], borrow = bits.Sub64(x[i], y[i], borrow)
	}
	for i, m := range k.m {
		z[i], carry = bits.Add64(z[i], m&-borrow, carry)
	}
}

// mul sets z = x y / R modulo m. One of x and y must be below m. t has 2n limbs. z may be x or y.
func (k *modulus) mul(z, x, y, t []uint64) {
	t = t[:2*k.n]
	limbs.Mul(t, x[:k.n], y)
	k.reduced(z, t)
}

// sqr sets z = x^2 / R modulo m, as mul does.
func (k *modulus) sqr(z, x, t []uint64) {
	t = t[:2*k.n]
	limbs.Sqr(t, x[:k.n])
	k.reduced(z, t)
}

// reduced sets z to t / R modulo m. t is below m R and has 2n limbs, which reduced overwrites.
func (k *modulus) reduced(z, t []uint64) {
	top := limbs.Reduce(t, k.m, k.minus)
	limbs.Subtract(z, t[k.n:], k.m, top)
}

// product sets z = x y modulo m, for x and y below m. t has 5n + 4 limbs. z may be x or y.
func (k *modulus) product(z, x, y, t []uint64) {
	if k.mu == nil {
		k.mul(z, x, y, t)
		k.mul(z, z, k.rr, t)
		return
	}
	n := k.n
	limbs.Mul(t[:2*n], x[:n], y)
	k.remainder(z, t[:2*n], t[2*n:])
}

// remainder sets z to x modulo m. x has 2n limbs and t has 2n + 4. divides must have prepared m.
//
// It is Barrett's division (1986), without the columns of its products that do not matter. The
// quotient is at most 3 too small: 2 because R^2/m and x are rounded down (Handbook of Applied
// Cryptography, 14.42), 1 because of the columns left out.
func (k *modulus) remainder(z, x, t []uint64) {
	n := k.n
	u, v := t[:n+3], t[n+3:2*n+4]
	clear(u)
	clear(v)
	// u is x's upper n+1 limbs times mu, from column n-1 on. Its upper n+1 limbs are the quotient.
	for i, f := range x[n-1:] {
		from := max(n-1-i, 0)
		at := i + from - (n - 1)
		above := at + n + 1 - from
		u[above] = limbs.MulAdd(u[at:above], k.mu[from:], f)
	}
	// v is the quotient times m, modulo 2^(64(n+1)).
	for i, f := range u[2:] {
		limbs.MulAdd(v[i:], k.over[0], f)
	}
	var borrow uint64
	for i, a := range x[:n+1] {
		v[i], borrow = bits.Sub64(a, v[i], borrow)
	}
	limbs.Subtract(v, v, k.over[1], 0)
	limbs.Subtract(v, v, k.over[0], 0)
	copy(z, v[:n])
}

// montgomery sets z = x y / r modulo m. Otherwise it is as mul, which divides by R.
func (k *modulus) montgomery(z, x, y, t []uint64) {
	k.mul(z, x, y, t)
	k.toNarrow(z, t)
}

// toNarrow turns z from a value divided by R into the same value divided by r.
func (k *modulus) toNarrow(z, t []uint64) {
	if k.narrow != nil {
		k.mul(z, z, k.narrow, t)
	}
}

// exp sets z = x^e modulo m, four bits of e at a time. e is little-endian bytes. It stops early
// when ctx ends. t has 20n limbs.
func (k *modulus) exp(ctx context.Context, z, x []uint64, e []byte, t []uint64) {
	n := k.n
	var table [16][]uint64 // x^i R
	for i := range table {
		table[i], t = t[:n], t[n:]
	}
	pick, acc, t := t[:n], t[n:2*n], t[2*n:]
	copy(table[0], k.one)
	k.mul(table[1], x, k.rr, t)
	for i := 2; i < len(table); i++ {
		k.mul(table[i], table[i-1], table[1], t)
	}
	copy(acc, k.one)
	for i := 2*len(e) - 1; i >= 0 && backend.Yield(ctx) == nil; i-- {
		for range 4 {
			k.sqr(acc, acc, t)
		}
		digit := uint64(e[i/2]>>(4*(i%2))) & 15
		clear(pick)
		for j, power := range table {
			same := -(((digit ^ uint64(j)) - 1) >> 63) // all ones if j is the digit
			for l, v := range power {
				pick[l] |= v & same
			}
		}
		k.mul(acc, acc, pick, t)
	}
	clear(pick)
	pick[0] = 1
	k.mul(z, acc, pick, t)
}

// reduce sets z to x modulo m, for x of any length. t has 4n + 4 limbs.
func (k *modulus) reduce(z, x, t []uint64) {
	n := k.n
	if k.mu != nil && len(x) <= 2*n {
		clear(t[len(x) : 2*n])
		copy(t, x)
		k.remainder(z, t[:2*n], t[2*n:])
		return
	}
	part, t := t[:n], t[n:]
	lo := (len(x) - 1) / n * n
	clear(z[:n])
	copy(z, x[lo:])
	if lo == 0 {
		k.mul(z, z, k.one, t)
	}
	for ; lo > 0; lo -= n {
		k.mul(z, z, k.rr, t) // z R
		k.mul(part, x[lo-n:lo], k.one, t)
		k.add(z, z, part)
	}
}

// invert sets z to 1/x modulo m, or to 0 if there is none. t has 6n + 12 limbs.
//
// It is Bernstein and Yang's division steps (2019). f and g begin as m and x; d and e are such that
// f = d x and g = e x modulo m. 62 steps at a time are computed on the lowest limbs of f and g; the
// product of their matrices is then applied to all limbs of f, g, d and e. The number of steps is
// theirs for the width, after which f is the greatest common divisor or minus it.
func (k *modulus) invert(z, x, t []uint64) {
	n := k.n
	w := n + 2 // f and g are signed
	f, g, d, e, s, r := t[:w], t[w:2*w], t[2*w:3*w], t[3*w:4*w], t[4*w:5*w], t[5*w:6*w]
	clear(t[:6*w])
	copy(f, k.m)
	copy(g, x[:n])
	e[0] = 1
	width := 64 * n
	steps := (49*width + 80) / 17
	delta := int64(1)
	for range (steps + 61) / 62 {
		var a [4]int64
		delta, a = divisionSteps(delta, f[0], g[0])
		combine(s, f, g, a[0], a[1])
		combine(r, f, g, a[2], a[3])
		shift62(f, s)
		shift62(g, r)
		combine(s, d, e, a[0], a[1])
		combine(r, d, e, a[2], a[3])
		k.quotient62(d, s)
		k.quotient62(e, r)
	}
	// If f is neither 1 nor -1, there is no inverse.
	negative := -(f[w-1] >> 63)
	none := (f[0] ^ negative - negative) ^ 1
	for _, v := range f[1:] {
		none |= v ^ negative
	}
	keep := -((none|-none)>>63 ^ 1)
	clear(s)
	k.sub(s, s, d) // -d
	for i := range n {
		z[i] = (d[i]&^negative | s[i]&negative) & keep
	}
}

// divisionSteps computes 62 steps on the lowest 64 bits of f and g. It returns the new delta, and
// the matrix of these steps times 2^62.
func divisionSteps(delta int64, f, g uint64) (int64, [4]int64) {
	u, v, q, r := uint64(1), uint64(0), uint64(0), uint64(1)
	for range 62 {
		odd := -(g & 1)
		swap := odd & uint64(-delta>>63) // all ones if delta > 0
		// g becomes g if it was even, else g + f, or g - f with a swap.
		g += (f ^ swap - swap) & odd
		q += (u ^ swap - swap) & odd
		r += (v ^ swap - swap) & odd
		// With a swap f becomes the old g: the new g plus the old f.
		f += g & swap
		u += q & swap
		v += r & swap
		delta = (delta ^ int64(swap) - int64(swap)) + 1
		g >>= 1
		u <<= 1
		v <<= 1
	}
	return delta, [4]int64{int64(u), int64(v), int64(q), int64(r)}
}

// combine sets z = a x + b y, all signed.
func combine(z, x, y []uint64, a, b int64) {
	clear(z)
	addSigned(z, x, a)
	addSigned(z, y, b)
}

// addSigned adds a x to z. x and z are signed and have one length.
func addSigned(z, x []uint64, a int64) {
	// For a negative a it adds the complement of x |a| times, and then |a|.
	negative := uint64(a >> 63)
	size := (uint64(a) ^ negative) - negative
	above := size & negative
	for i := range z {
		hi, lo := bits.Mul64(x[i]^negative, size)
		var c uint64
		lo, c = bits.Add64(lo, z[i], 0)
		hi += c
		z[i], c = bits.Add64(lo, above, 0)
		above = hi + c
	}
}

// shift62 sets z to x / 2^62, for a signed x.
func shift62(z, x []uint64) {
	for i := range len(x) - 1 {
		z[i] = x[i]>>62 | x[i+1]<<2
	}
	z[len(x)-1] = uint64(int64(x[len(x)-1]) >> 62)
}

// quotient62 sets z to x / 2^62 modulo m, from 0 to m-1. x is signed, and |x| is at most 2^62 m.
func (k *modulus) quotient62(z, x []uint64) {
	const low = 1<<62 - 1
	above := limbs.MulAdd(x[:k.n], k.m, x[0]*k.minus&low)
	var c uint64
	x[k.n], c = bits.Add64(x[k.n], above, 0)
	x[k.n+1] += c
	shift62(z, x) // above -m, below 2 m
	negative := -(z[len(z)-1] >> 63)
	c = 0
	for i, m := range k.m {
		z[i], c = bits.Add64(z[i], m&negative, c)
	}
	z[k.n] += c // 0, or 1 if the value is at least 2^(64n)
	limbs.Subtract(z, z, k.m, z[k.n]&1)
	clear(z[k.n:])
}
