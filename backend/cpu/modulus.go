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

// modulus is a modulus with what Montgomery's products by it need. Numbers have n
// limbs of 64 bits, R = 2^(64n). Its methods depend in time and addresses on no values:
// TestConstantTime looks for branches and addresses that do. Read only: it is used by many goroutines.
type modulus struct {
	n     int
	m     []uint64
	minus uint64   // -1/m modulo 2^64
	rr    []uint64 // R^2 modulo m
	one   []uint64 // R modulo m
	// The contract has another R, r = 2^(32w) of w words: where n limbs have a word
	// more, narrow is R^2 / r modulo m, else nil. rR is r R modulo m.
	narrow, rR []uint64
	// mu is R^2 / m, rounded down, in n+1 limbs, and over is m and 2m, with a limb above,
	// where product divides by them.
	mu   []uint64
	over [2][]uint64
}

var (
	errEven = errors.New("the modulus is even")
	errOne  = errors.New("the modulus is not above 1")
	errZero = errors.New("the modulus is 0")
)

// limbsOf returns how many limbs a number of some bytes has.
func limbsOf(size int) int { return (size + 7) / 8 }

// load sets x to a number of 4 bytes or more, little-endian, and zeros above it.
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

// store writes x to as many bytes as there are.
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

// newModulus prepares a modulus of some bytes; products are possible by an odd one. A
// secret modulus shows its length in bits, and nothing else; a public one takes less time.
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
	inverse := k.m[0] // of three bits; each step doubles them
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

// fewLimbs is below how many limbs two products and reductions take less time than a
// product and a division.
const fewLimbs = 12

// divides prepares product to divide by a modulus of full length, for many products.
func (k *modulus) divides() {
	if k.n < fewLimbs || k.bits() <= 64*(k.n-1) {
		return
	}
	// R^2 less rr is a multiple of m: -1/m modulo 2^(64(n+1)) times rr is the quotient.
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

// radix returns R modulo m: twice the highest power of 2 below m, as often as it takes.
func (k *modulus) radix() []uint64 {
	x, top := make([]uint64, k.n), k.bits()-1
	x[top/64] = 1 << (top % 64)
	k.double(x, 64*k.n-top)
	return x
}

// bits returns how many bits the modulus has.
func (k *modulus) bits() int {
	i := k.n - 1
	for i > 0 && k.m[i] == 0 {
		i--
	}
	return 64*i + bits.Len64(k.m[i])
}

// double doubles x some times, modulo m.
func (k *modulus) double(x []uint64, times int) {
	for range times {
		k.add(x, x, x)
	}
}

// power returns 2^log R modulo m, log from 0 on, by doubling and by squares: the square of
// 2^i R by mul is 2^(2i) R.
func (k *modulus) power(log int) []uint64 {
	x, t := slices.Clone(k.one), make([]uint64, 2*k.n)
	shift := max(bits.Len(uint(log))-bits.Len(uint(k.n/4)), 0) // doubling is faster up to about n/4
	k.double(x, log>>shift)
	for shift--; shift >= 0; shift-- {
		k.sqr(x, x, t)
		k.double(x, log>>shift&1)
	}
	return x
}

// divided returns 2^e modulo m, by a division.
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

// accumulate adds the product t, of 2n limbs, to a sum of products, which has one limb more.
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

// mul sets z = x y / R modulo m, with one of x and y below m; t has 2n limbs. z may
// be x or y.
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

// reduced sets z to t / R modulo m, t below m R and of 2n limbs, which it uses up.
func (k *modulus) reduced(z, t []uint64) {
	top := limbs.Reduce(t, k.m, k.minus)
	limbs.Subtract(z, t[k.n:], k.m, top)
}

// product sets z = x y modulo m, x and y below m; t has 5n + 4 limbs. z may be x or y.
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

// remainder sets z to x modulo m, x of 2n limbs, by a modulus that divides; t has 2n + 4.
//
// It is Barrett's division (1986), and computes only the columns of its products that
// matter. The quotient is at most 3 too small: by 2 since R^2/m and x are rounded down
// (Handbook of Applied Cryptography, 14.42), by 1 for the columns that are left out.
func (k *modulus) remainder(z, x, t []uint64) {
	n := k.n
	u, v := t[:n+3], t[n+3:2*n+4]
	clear(u)
	clear(v)
	// u is the upper n+1 limbs of x times mu, from column n-1 on; its upper n+1 limbs are the
	// quotient.
	for i, f := range x[n-1:] {
		from := max(n-1-i, 0)
		at := i + from - (n - 1)
		above := at + n + 1 - from
		u[above] = limbs.MulAdd(u[at:above], k.mu[from:], f)
	}
	// v is the quotient times m, in n+1 limbs.
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

// montgomery sets z = x y / r modulo m, as mul does for R.
func (k *modulus) montgomery(z, x, y, t []uint64) {
	k.mul(z, x, y, t)
	k.toNarrow(z, t)
}

// toNarrow sets z, divided by R, to what it is divided by r.
func (k *modulus) toNarrow(z, t []uint64) {
	if k.narrow != nil {
		k.mul(z, z, k.narrow, t)
	}
}

// exp sets z = x^e modulo m, e in little-endian bytes, four bits at a time. It ends
// early with ctx. t has 20n limbs.
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
			same := -(((digit ^ uint64(j)) - 1) >> 63) // ones where j is the digit
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

// reduce sets z to x modulo m, x of any length; t has 4n + 4 limbs.
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

// invert sets z to 1/x modulo m, or 0 where there is none. t has 6n + 12 limbs.
//
// It is Bernstein and Yang's division steps (2019), 62 at a time on the lowest
// limbs of f and g, with the products of the matrices applied to all limbs of f and
// g, which begin as m and x, and to d and e, with f = d x and g = e x modulo m. The
// number of steps is theirs for the width, so that f is the divisor, or minus it.
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
	// 1 or -1, or else there is no inverse.
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

// divisionSteps does 62 steps on the lowest 64 bits of f and g. It returns the new delta
// and the matrix of these steps, times 2^62.
func divisionSteps(delta int64, f, g uint64) (int64, [4]int64) {
	u, v, q, r := uint64(1), uint64(0), uint64(0), uint64(1)
	for range 62 {
		odd := -(g & 1)
		swap := odd & uint64(-delta>>63) // where delta > 0
		// g, or with an odd one g + f, or with a swap g - f.
		g += (f ^ swap - swap) & odd
		q += (u ^ swap - swap) & odd
		r += (v ^ swap - swap) & odd
		// The old g, which is the new one and the old f.
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

// addSigned adds a x to z, both signed and of one length.
func addSigned(z, x []uint64, a int64) {
	// For a negative a the complement of x is added |a| times, and |a|.
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

// shift62 sets z to x, which is signed, divided by 2^62.
func shift62(z, x []uint64) {
	for i := range len(x) - 1 {
		z[i] = x[i]>>62 | x[i+1]<<2
	}
	z[len(x)-1] = uint64(int64(x[len(x)-1]) >> 62)
}

// quotient62 sets z, from 0 to below m, to x / 2^62 modulo m, where x is signed and
// its size at most 2^62 m.
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
	z[k.n] += c // 0, or 1 for a value from 2^(64n) on
	limbs.Subtract(z, z, k.m, z[k.n]&1)
	clear(z[k.n:])
}
