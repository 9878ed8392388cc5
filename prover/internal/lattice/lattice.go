// Package lattice writes scalars as fractions of small numbers, with the very
// answers of gnark-crypto's package algebra/lattice in less than a hundredth of
// its time.
//
// An answer is a row of a lattice's basis on its way through the reduction of
// Lenstra, Lenstra and Lovász (1982), for rows that depend on one another as in
// Cohen, A Course in Computational Algebraic Number Theory, 2.6.8. Which row it
// is depends on every decision on the way. gnark-crypto takes them with
// rationals. Here nearly all come from floating-point numbers with bounds on
// their errors, and the rest from integers (de Weger 1987, Cohen 2.6.7): they
// are never other decisions.
package lattice

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/pippin-zk/pippin/prover/internal/group"
)

// RationalReconstructExt finds x, y, z, t of about r^(1/4), z and t not both 0, with
// k(z + lambda*t) = x + lambda*y modulo r: what the method of gnark-crypto's
// Reconstructor finds. For a random k and r of 256 bits it takes about 0.1 ms.
//
// The functions of this package take any integers and leave them alone; only for
// r < 1 they are not ok. They wipe what they wrote about k, except what math/big
// leaves in its own temporary storage, and are safe for concurrent use. They
// take a time that depends on k.
func RationalReconstructExt(k, r, lambda *big.Int) (v [4]*big.Int, ok bool) {
	if r.Sign() <= 0 {
		return v, false
	}
	b := ext(k, r, lambda)
	b.answer(v[:])
	return v, true
}

// MultiRationalReconstruct finds x1, x2, z of about r^(2/3), z not 0, with
// ki*z = xi modulo r.
func MultiRationalReconstruct(k1, k2, r *big.Int) (v [3]*big.Int, ok bool) {
	if r.Sign() <= 0 {
		return v, false
	}
	b := multi(k1, k2, r)
	b.answer(v[:])
	return v, true
}

// MultiRationalReconstructExt finds x1, y1, x2, y2, z, t of about r^(1/3), z and t
// not both 0, with ki(z + lambda*t) = xi + lambda*yi modulo r. It takes about
// four times as long as RationalReconstructExt.
func MultiRationalReconstructExt(k1, k2, r, lambda *big.Int) (v [6]*big.Int, ok bool) {
	if r.Sign() <= 0 {
		return v, false
	}
	b := multiExt(k1, k2, r, lambda)
	b.answer(v[:])
	return v, true
}

func ext(k, r, lambda *big.Int) *basis {
	b := newBasis(7, 4, 2, r, new(big.Int).Sqrt(new(big.Int).Sqrt(r)))
	b.setNeg(4, 0, lambda)
	b.set(4, 1, one)
	b.set(5, 0, k)
	b.set(5, 2, one)
	b.setNeg(6, 2, lambda)
	b.set(6, 3, one)
	return b
}

func multi(k1, k2, r *big.Int) *basis {
	b := newBasis(4, 3, 2, r, cbrt(new(big.Int).Mul(r, r)))
	b.set(3, 0, k1)
	b.set(3, 1, k2)
	b.set(3, 2, one)
	return b
}

func multiExt(k1, k2, r, lambda *big.Int) *basis {
	b := newBasis(10, 6, 4, r, cbrt(r))
	b.setNeg(6, 0, lambda)
	b.set(6, 1, one)
	b.setNeg(7, 2, lambda)
	b.set(7, 3, one)
	b.set(8, 0, k1)
	b.set(8, 2, k2)
	b.set(8, 4, one)
	b.setNeg(9, 4, lambda)
	b.set(9, 5, one)
	return b
}

var (
	one        = big.NewInt(1)
	three      = big.NewInt(3)
	ninetyNine = big.NewInt(99)
	hundred    = big.NewInt(100)
)

// cbrt returns the integer part of the cube root of n > 0, by Newton's method from above.
func cbrt(n *big.Int) *big.Int {
	x, y := new(big.Int).Lsh(one, uint(n.BitLen()+2)/3), new(big.Int)
	for {
		y.Mul(x, x)
		y.Quo(n, y)
		y.Add(y, x).Add(y, x)
		y.Quo(y, three)
		if y.Cmp(x) >= 0 {
			return x
		}
		x, y = y, x
	}
}

const (
	maxRows = 10
	maxCols = 6
)

// basis is rows b_0, b_1, ... that span a lattice of full rank; in the beginning
// the first are r times the unit vectors. b*_j is the part of b_j that is
// orthogonal to all rows before it, and mu(k, j) is <b_k, b*_j> / |b*_j|^2. A row
// is dependent when it is a combination of the rows before it: its b* is 0.
type basis struct {
	rows, cols int
	den        int // the first of the columns of which one must not be 0
	r          *big.Int
	words      int // of an entry
	high, low  []big.Word
	q          []big.Word // a quotient
	slab       []big.Word // what all words are in
	lines      [maxRows]line
	row        [maxRows]*line
	dependent  [maxRows]bool

	// What floating-point numbers know: b*_j for the rows before k, and v, the part
	// of b_k that is orthogonal to all rows before k-1, within verr.
	level [maxRows]level
	v     [maxCols]float64
	verr  float64
	exact integers
	only  bool // integers: r has more bits than maxFloat

	// What it took: swaps of rows, multiples of a row taken from another one, and
	// questions that were left to the integers.
	swaps, taken, left int
}

// line is a row. Its entries are in two's complement, least significant word
// first. No entry is as large as 2^16 r:
//
//   - |b*_j| <= r at all times. It is so in the beginning, and a swap leaves the
//     largest of them as it is or makes it smaller.
//   - When the row has been size-reduced, |b_k|^2 <= (1 + 6/4) r^2, also after it
//     was moved; in the beginning it is at most 3 r^2.
//   - Taking q b_j changes it to at most 5.2 |b_k|: |q| < |mu| + 1/2 < 2 |mu|,
//     |mu| |b*_j| <= |b_k|, and |b_j| < 2.1 |b*_j| as the rows before k are
//     reduced. This happens at most six times, for the rows that are not
//     dependent; 5.2^6 sqrt(3) < 2^16.
type line struct {
	w    []big.Word
	f    [maxCols]float64
	norm float64
}

func newBasis(rows, cols, den int, r, bound *big.Int) *basis {
	b := &basis{rows: rows, cols: cols, den: den, r: r, only: r.BitLen() > maxFloat}
	b.words = (r.BitLen()+16)/bits.UintSize + 1 // a sign, and 16 bits more than r has
	n := b.words * cols
	b.slab = make([]big.Word, rows*n+3*b.words)
	rest := b.slab
	cut := func(n int) (w []big.Word) {
		w, rest = rest[:n:n], rest[n:]
		return w
	}
	for i := range rows {
		b.row[i] = &b.lines[i]
		b.row[i].w = cut(n)
		b.dependent[i] = i >= cols
		if i < cols {
			copy(b.at(i, i), r.Bits())
		}
	}
	b.q, b.high, b.low = cut(b.words), cut(b.words), cut(b.words)
	copy(b.high, bound.Bits())
	copy(b.low, b.high)
	negate(b.low)
	return b
}

func (b *basis) at(i, l int) []big.Word {
	return b.row[i].w[l*b.words : (l+1)*b.words]
}

// set sets an entry to x modulo r.
func (b *basis) set(i, l int, x *big.Int) {
	m := new(big.Int).Mod(x, b.r)
	copy(b.at(i, l), m.Bits())
	group.WipeInt(m)
}

func (b *basis) setNeg(i, l int, x *big.Int) {
	b.set(i, l, x)
	negate(b.at(i, l))
}

// get sets z to an entry, in z's own memory if that suffices.
func (b *basis) get(z *big.Int, i, l int) {
	w := z.Bits()
	if cap(w) < b.words {
		w = make([]big.Word, b.words)
	}
	w = w[:b.words]
	copy(w, b.at(i, l))
	negative := isNegative(w)
	if negative {
		negate(w)
	}
	z.SetBits(w)
	if negative {
		z.Neg(z)
	}
}

// answer reduces the basis, sets v to the row found, and wipes the basis.
func (b *basis) answer(v []*big.Int) {
	for i := range b.rows {
		b.convert(b.row[i])
	}
	i := b.reduce()
	if i < 0 {
		i = b.smallest()
	}
	for l := range v {
		v[l] = new(big.Int)
		b.get(v[l], i, l)
	}
	b.wipe()
}

func (b *basis) wipe() {
	clear(b.slab)
	b.lines = [maxRows]line{}
	b.level = [maxRows]level{}
	b.v, b.verr = [maxCols]float64{}, 0
	clear(b.exact.slab)
	b.exact = integers{}
}

// reduce reduces the basis until it finds a small row, and returns that row's number; -1
// when it finds none.
//
// Before each round of the loop all rows before k are reduced, with those that
// are 0 in front; no others of them are dependent. A row is looked at in the
// beginning and when it has changed, so that swaps find no small ones.
func (b *basis) reduce() int {
	for i := range b.rows {
		if b.isSmall(i) {
			return i
		}
	}
	b.project(0)
	b.climb(0)
	for k := 1; k < b.rows; {
		// Taking b_j changes mu(k, i) for i <= j only: once is enough.
		for j := k - 1; j >= 0; j-- {
			if !b.dependent[j] && b.shorten(k, j) && b.isSmall(k) {
				return k
			}
		}
		b.project(k)
		if b.dependent[k-1] || !b.dependent[k] && b.isOrdered(k) {
			b.climb(k)
			k++
			continue
		}
		// A dependent row takes the place of the row below it, which is the
		// dependent one from now on; unless its b* stays 0 there.
		if b.dependent[k] && b.isOrthogonal(k) {
			b.dependent[k-1], b.dependent[k] = true, false
		}
		b.row[k-1], b.row[k] = b.row[k], b.row[k-1]
		b.swaps++
		b.exact.known = min(b.exact.known, k-1)
		if k > 1 {
			k--
		} else {
			b.project(0)
			b.climb(0)
		}
	}
	return -1
}

// isSmall tells whether a row is a fraction with all entries in the bound, which
// is at least 1.
func (b *basis) isSmall(i int) bool {
	for l := range b.cols {
		w := b.at(i, l)
		if isNegative(w) && less(w, b.low) || !isNegative(w) && less(b.high, w) {
			return false
		}
	}
	return b.isFraction(i)
}

// isFraction tells whether the denominator of a row is not 0.
func (b *basis) isFraction(i int) bool {
	return !isZero(b.row[i].w[b.den*b.words:])
}

// smallest returns the first of the fractions whose largest entry is smallest. There
// is a fraction: the rows span all dimensions.
func (b *basis) smallest() int {
	best := -1
	var entry, norm, least big.Int
	for i := range b.rows {
		if !b.isFraction(i) {
			continue
		}
		column := 0
		b.get(&norm, i, 0)
		for l := 1; l < b.cols; l++ {
			if b.get(&entry, i, l); entry.CmpAbs(&norm) > 0 {
				column = l
				b.get(&norm, i, l)
			}
		}
		if best < 0 || norm.CmpAbs(&least) < 0 {
			best = i
			b.get(&least, i, column)
		}
	}
	group.WipeInt(&entry)
	group.WipeInt(&norm)
	group.WipeInt(&least)
	return best
}

// shorten takes q b_j from b_k with q = floor(mu + 1/2), if |mu(k, j)| > 1/2, and
// tells whether it did.
func (b *basis) shorten(k, j int) bool {
	m, err := b.mu(k, j)
	if math.Abs(m) < 0.5-err {
		return false
	}
	// Rounding is monotonic: of two results that each were rounded once, the one
	// that is less is so without rounding, too.
	if err < 0.25 && math.Abs(m) < 1<<30 {
		q := math.Floor(m)
		switch d := m - q; {
		case d < 0.5-err:
			b.takeInt(k, j, int(q))
			return true
		case d > 0.5+err:
			b.takeInt(k, j, int(q)+1)
			return true
		}
	}
	b.left++
	q := b.quotient(k, j)
	if q == nil {
		return false
	}
	clear(b.q)
	copy(b.q, q.Bits())
	if q.Sign() < 0 {
		negate(b.q)
	}
	b.take(k, j)
	return true
}

// isOrdered tells whether |b*_k|^2 >= (99/100 - mu(k, k-1)^2) |b*_(k-1)|^2, for
// rows that are not dependent, after project(k).
func (b *basis) isOrdered(k int) bool {
	ordered, ok := b.compare(k)
	if !ok {
		b.left++
		ordered = b.isOrderedExactly(k)
	}
	return ordered
}

// isOrthogonal tells whether mu(k, k-1) is 0, for a row that is dependent on one
// that is not, after project(k).
func (b *basis) isOrthogonal(k int) bool {
	if b.differs() {
		return false
	}
	if isZero(b.row[k].w) {
		return true
	}
	b.left++
	return b.isOrthogonalExactly(k)
}

// takeInt takes q times row j from row k.
func (b *basis) takeInt(k, j, q int) {
	x, y, n := b.row[k].w, b.row[j].w, b.words
	for l := 0; l < len(x); l += n {
		if q >= 0 {
			subMul(x[l:l+n], y[l:l+n], uint(q))
		} else {
			addMul(x[l:l+n], y[l:l+n], uint(-q))
		}
	}
	b.taken++
	b.convert(b.row[k])
}

// take does with b.q, in two's complement: modulo the words' range signs do not
// matter.
func (b *basis) take(k, j int) {
	for l := range b.cols {
		x, y := b.at(k, l), b.at(j, l)
		for t, q := range b.q {
			subMul(x[t:], y[:len(y)-t], uint(q))
		}
	}
	b.taken++
	b.convert(b.row[k])
}

// Words, least significant first, in two's complement.

func isNegative(w []big.Word) bool {
	return int(w[len(w)-1]) < 0
}

func isZero(w []big.Word) bool {
	for _, w := range w {
		if w != 0 {
			return false
		}
	}
	return true
}

func negate(w []big.Word) {
	carry := uint(1)
	for i := range w {
		var t uint
		t, carry = bits.Add(^uint(w[i]), 0, carry)
		w[i] = big.Word(t)
	}
}

// less compares numbers of one sign and length.
func less(x, y []big.Word) bool {
	for i := len(x) - 1; i >= 0; i-- {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return false
}

// subMul takes q*y from x, modulo the range of x; y has the length of x.
func subMul(x, y []big.Word, q uint) {
	var carry uint
	for i := range x {
		hi, lo := bits.Mul(uint(y[i]), q)
		lo, c := bits.Add(lo, carry, 0)
		d, e := bits.Sub(uint(x[i]), lo, 0)
		x[i] = big.Word(d)
		carry = hi + c + e
	}
}

// addMul adds q*y to x, modulo the range of x; y has the length of x.
func addMul(x, y []big.Word, q uint) {
	var carry uint
	for i := range x {
		hi, lo := bits.Mul(uint(y[i]), q)
		lo, c := bits.Add(lo, carry, 0)
		d, e := bits.Add(uint(x[i]), lo, 0)
		x[i] = big.Word(d)
		carry = hi + c + e
	}
}

// level is what floating-point numbers know of b*_j.
//
// With everything that is computed comes a bound on its error, in the Euclidean
// norm, after Higham, Accuracy and Stability of Numerical Algorithms, 3.1: with
// u = 2^-53, a computed sum of six products is within 6.01 u |x| |y| of <x, y>.
// The bounds are computed with errors of some u themselves and leave out products
// of small numbers. A factor of 1.01 makes up for both, as it does for products
// below the range of floats, since |b_k| is 0 or at least 1 and |b*_j|^2 > 1/5.
// Fused multiplications and additions only err less. A bound that is infinite or
// not a number decides nothing.
type level struct {
	c    [maxCols]float64
	err  float64 // |c - b*_j| is at most this
	sq   float64 // |c|^2, rounded
	norm float64 // at least |c| and |b*_j|
	rel  float64 // the relative error of sq, and of a quotient by it, is at most this
}

const (
	u        = 0x1p-53
	maxFloat = 480 // bits of r: sums of six squares of entries are below 2^1000
)

// power has the words' weights.
var power = func() (p [maxFloat/bits.UintSize + 2]float64) {
	for i := range p {
		p[i] = math.Ldexp(1, i*bits.UintSize)
	}
	return p
}()

// convert sets f, with relative errors of at most 5 u, and norm, which is at
// least |f| and |b_k|.
func (b *basis) convert(r *line) {
	if b.only {
		return
	}
	sum := 0.0
	for l := range b.cols {
		w := r.w[l*b.words : (l+1)*b.words]
		var sign big.Word // all ones when negative
		if isNegative(w) {
			sign = ^sign
		}
		i := len(w) - 1
		for i > 0 && w[i] == sign {
			i--
		}
		x := 0.0
		for end := max(0, i-2); i >= end; i-- { // more than 64 bits
			x += float64(w[i]^sign) * power[i]
		}
		if sign != 0 {
			x = -1 - x
		}
		r.f[l] = x
		sum += x * x
	}
	r.norm = math.Sqrt(sum) * (1 + 32*u)
}

// mu returns mu(k, j) and a bound on its error, as far as floats tell.
func (b *basis) mu(k, j int) (m, err float64) {
	if b.only {
		return 0, math.Inf(1)
	}
	r, v := b.row[k], &b.level[j]
	dot := 0.0
	for l := range b.cols {
		dot += r.f[l] * v.c[l]
	}
	m = dot / v.sq
	return m, 1.01 * (r.norm*(12*u*v.norm+v.err)/v.sq + math.Abs(m)*v.rel)
}

// project sets v for row k.
func (b *basis) project(k int) {
	b.v = b.row[k].f
	b.verr = 5 * u * b.row[k].norm
	for j := range k - 1 {
		b.drop(k, j)
	}
}

// drop takes mu(k, j) b*_j from v.
func (b *basis) drop(k, j int) {
	if b.dependent[j] {
		return
	}
	m, err := b.mu(k, j)
	v := &b.level[j]
	for l := range b.cols {
		b.v[l] -= m * v.c[l]
	}
	m = math.Abs(m)
	b.verr = 1.01 * (b.verr + err*v.norm + m*v.err + u*(b.row[k].norm+m*v.norm))
}

// climb sets level k, after project(k).
func (b *basis) climb(k int) {
	if b.dependent[k] {
		return
	}
	if k > 0 {
		b.drop(k, k-1)
	}
	v := &b.level[k]
	v.c, v.err = b.v, b.verr
	v.sq = square(&v.c)
	v.norm = math.Sqrt(v.sq)*(1+32*u) + v.err
	v.rel = 1.01 * (16*u + v.err*(2*v.norm+v.err)/v.sq)
	if !(v.rel < 0x1p-10) {
		v.rel = math.Inf(1) // 1.01 would not do
	}
}

func square(v *[maxCols]float64) (sq float64) {
	for _, x := range v {
		sq += x * x
	}
	return sq
}

// compare does what isOrdered does, as far as floats tell: v is b*_k + mu(k, k-1) b*_(k-1).
func (b *basis) compare(k int) (ordered, ok bool) {
	v, sq := &b.level[k-1], square(&b.v)
	err := 1.01 * (8*u*sq + b.verr*(2*math.Sqrt(sq)+b.verr))
	switch {
	case b.only:
		return false, false
	case sq-err > 0.99*v.sq*(1+1.01*v.rel+8*u):
		return true, true
	case sq+err < 0.99*v.sq*(1-1.01*v.rel-8*u):
		return false, true
	}
	return false, false
}

// differs tells that v is not 0, as far as floats tell.
func (b *basis) differs() bool {
	return !b.only && math.Sqrt(square(&b.v)) > 1.01*b.verr
}

// integers is what integers know. For the known rows that are not dependent d_j is
// the product of |b*_i|^2 for all i up to j, and n_j is d_i b*_j, where i is the
// row before j that is not dependent, and d_i is 1 if there is none. They are
// integers: d_j is the determinant of a Gram matrix, at most r^(2 cols), and
// Cramer's rule gives b*_j the denominator d_i.
type integers struct {
	known   int // that many rows from the first on
	n       [maxRows][maxCols]big.Int
	d       [maxRows]big.Int
	b, v    [maxCols]big.Int // b_k, and a multiple of an orthogonal part
	lambda  big.Int
	s, t, m big.Int
	slab    []big.Word // what all are in
}

// reserve gives all integers the memory that they will need, so that none leaves
// its words elsewhere.
func (b *basis) reserve() {
	x := &b.exact
	const more = 6 // for 2^16, sums, factors of 2 and 100, rounding, and math/big's carry
	half := 2*b.cols*b.r.BitLen()/bits.UintSize + more
	x.slab = make([]big.Word, (b.rows*(b.cols+1)+2*b.cols+4*2)*half)
	rest := x.slab
	cut := func(z *big.Int, n int) {
		z.SetBits(rest[:0:n])
		rest = rest[n:]
	}
	for j := range b.rows {
		for l := range b.cols {
			cut(&x.n[j][l], half)
		}
		cut(&x.d[j], half)
	}
	for l := range b.cols {
		cut(&x.b[l], half)
		cut(&x.v[l], half)
	}
	for _, z := range []*big.Int{&x.lambda, &x.s, &x.t, &x.m} {
		cut(z, 2*half)
	}
}

// know has the integers know the first rows.
func (b *basis) know(rows int) {
	x := &b.exact
	if x.slab == nil {
		b.reserve()
	}
	for ; x.known < rows; x.known++ {
		j := x.known
		if b.dependent[j] {
			continue
		}
		before := b.projectExactly(j, j)
		for l := range b.cols {
			x.n[j][l].Set(&x.v[l])
		}
		x.dot(&x.lambda, &x.v, &x.v)
		x.d[j].QuoRem(&x.lambda, before, &x.m)
	}
}

// dotExactly sets lambda to <b_k, n_j> = d_j mu(k, j), and b to b_k.
func (b *basis) dotExactly(k, j int) {
	x := &b.exact
	for l := range b.cols {
		b.get(&x.b[l], k, l)
	}
	x.dot(&x.lambda, &x.b, &x.n[j])
}

// projectExactly sets v to the part of b_k that is orthogonal to the first rows,
// which are known, times the last d among them, which it returns.
func (b *basis) projectExactly(k, rows int) (d *big.Int) {
	x := &b.exact
	for l := range b.cols {
		b.get(&x.v[l], k, l)
	}
	d = one
	for j := range rows {
		if b.dependent[j] {
			continue
		}
		// With the part v/d before, the next is (d_j v - lambda n_j) / (d d_j).
		b.dotExactly(k, j)
		for l := range b.cols {
			x.s.Mul(&x.v[l], &x.d[j])
			x.t.Mul(&x.lambda, &x.n[j][l])
			x.s.Sub(&x.s, &x.t)
			x.v[l].QuoRem(&x.s, d, &x.m)
		}
		d = &x.d[j]
	}
	return d
}

// dot sets z, which is not s, to <v, w>.
func (x *integers) dot(z *big.Int, v, w *[maxCols]big.Int) {
	z.SetInt64(0)
	for l := range v {
		x.s.Mul(&v[l], &w[l])
		z.Add(z, &x.s)
	}
}

// quotient returns floor(mu(k, j) + 1/2), or nil if |mu| is at most 1/2.
func (b *basis) quotient(k, j int) *big.Int {
	x := &b.exact
	b.know(j + 1)
	b.dotExactly(k, j)
	x.lambda.Lsh(&x.lambda, 1)
	if x.lambda.CmpAbs(&x.d[j]) <= 0 {
		return nil
	}
	x.lambda.Add(&x.lambda, &x.d[j])
	x.t.Lsh(&x.d[j], 1)
	x.s.DivMod(&x.lambda, &x.t, &x.m)
	return &x.s
}

// isOrderedExactly decides isOrdered. With v of rank k-1 and d of the row before it,
// |b*_k + mu b*_(k-1)|^2 is |v|^2 / d^2, and |b*_(k-1)|^2 is d_(k-1) / d.
func (b *basis) isOrderedExactly(k int) bool {
	x := &b.exact
	b.know(k)
	d := b.projectExactly(k, k-1)
	x.dot(&x.lambda, &x.v, &x.v)
	x.s.Mul(&x.lambda, hundred)
	x.t.Mul(&x.d[k-1], d)
	x.lambda.Mul(&x.t, ninetyNine)
	return x.s.Cmp(&x.lambda) >= 0
}

// isOrthogonalExactly decides isOrthogonal.
func (b *basis) isOrthogonalExactly(k int) bool {
	b.know(k)
	b.dotExactly(k, k-1)
	return b.exact.lambda.Sign() == 0
}
