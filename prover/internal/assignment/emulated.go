package assignment

import (
	"math/bits"

	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/prover/internal/versions"
)

// The hints of gnark's package std/math/emulated that are called for every product of
// emulated numbers. A number has limbs of 64 bits, the lowest first, and a limb may be
// larger than that for a while: below 2^limbBits here. What is larger, and limbs of another
// width, are left to gnark's function.

const (
	mostLimbs = 16  // of a number
	mostWords = 64  // of an intermediate result
	limbBits  = 126 // of a limb
	mostOut   = 96  // outputs
	sumWords  = 8   // of a sum of products of limbs, in two's complement
)

// emulation is a worker's room for emulated numbers.
type emulation[S limbs] struct {
	p         [mostLimbs]uint64
	a, b      number
	at        [mostLimbs]number
	full      [3][mostWords]uint64 // sums of positive and of negative terms, and a term
	other     [mostWords]uint64
	quo, rem  [mostWords]uint64
	u, v      [mostWords + 1]uint64 // of a division
	term, to  [mostWords]sumOfLimbs
	lhs       [mostOut]sumOfLimbs
	carries   int // of a polynomial
	out       [mostOut]S
	exponents [mostLimbs * mostLimbs]uint8
	square    S    // R^2 of Montgomery form, not in that form
	squared   bool // whether it is known
}

// room returns the worker's room.
func (w *worker[S, PS]) room() *emulation[S] {
	if w.emulation == nil {
		w.emulation = new(emulation[S])
	}
	return w.emulation
}

// number is an emulated number: its limbs, and as an integer.
type number struct {
	n     int
	limbs [mostLimbs][2]uint64
	bits  int // of the longest limb
	words [mostLimbs + 1]uint64
}

// value returns the number as an integer without leading zeros.
func (a *number) value() []uint64 { return trimmed(a.words[:a.n+1]) }

func trimmed(x []uint64) []uint64 {
	for len(x) > 0 && x[len(x)-1] == 0 {
		x = x[:len(x)-1]
	}
	return x
}

// sumOfLimbs is a sum of products of limbs in two's complement.
type sumOfLimbs [sumWords]uint64

// inputs reads a hint's inputs one after the other.
type inputs[S limbs, PS curves.Scalar[S]] struct {
	w    *worker[S, PS]
	data []uint32
	left int
	ok   bool // whether all of them were there, and as long as was asked for
	err  error
}

// next returns the next input, not in Montgomery form.
func (in *inputs[S, PS]) next() (words S, ok bool) {
	if in.left == 0 || !in.ok {
		in.ok = false
		return words, false
	}
	in.left--
	w := in.w
	n, err := w.sum(&w.limb, in.data)
	if err != nil {
		in.ok, in.err = false, err
		return words, false
	}
	in.data = in.data[n:]
	if i := w.bytes[byteSlot(w.limb[0])]; w.small[i] == w.limb {
		words[0] = uint64(i)
		return words, true
	}
	PS(&w.limb).Mul(&w.limb, &w.raw)
	return w.limb, true
}

// word reads an input of 64 bits.
func (in *inputs[S, PS]) word() uint64 {
	u, ok := in.next()
	if !ok {
		return 0
	}
	rest := uint64(0)
	for i := 1; i < len(u); i++ {
		rest |= u[i]
	}
	in.ok = in.ok && rest == 0
	return u[0]
}

// count reads an input of at most most.
func (in *inputs[S, PS]) count(most int) int {
	v := in.word()
	if v > uint64(most) {
		in.ok = false
		return 0
	}
	return int(v)
}

// number reads n limbs.
func (in *inputs[S, PS]) number(to *number, n int) {
	if n > mostLimbs {
		in.ok = false
		return
	}
	to.n, to.bits = n, 0
	high := uint64(0)
	for i := range n {
		u, ok := in.next()
		if !ok {
			return
		}
		rest := uint64(0)
		for k := 2; k < len(u); k++ {
			rest |= u[k]
		}
		if rest != 0 || u[1]>>(limbBits-64) != 0 {
			in.ok = false
			return
		}
		to.limbs[i] = [2]uint64{u[0], u[1]}
		if u[1] != 0 {
			to.bits = max(to.bits, 64+bits.Len64(u[1]))
		} else {
			to.bits = max(to.bits, bits.Len64(u[0]))
		}
		var c uint64
		to.words[i], c = bits.Add64(u[0], high, 0)
		high = u[1] + c
	}
	to.words[n] = high
}

// modulus reads the n limbs of a modulus, and returns it as an integer.
func (in *inputs[S, PS]) modulus(n int) []uint64 {
	p := in.w.emulation.p[:n]
	for i := range p {
		p[i] = in.word()
	}
	p = trimmed(p)
	in.ok = in.ok && len(p) > 0
	return p
}

// inputsOf begins to read a call's inputs.
func (w *worker[S, PS]) inputsOf(c *call) inputs[S, PS] {
	return inputs[S, PS]{w: w, data: c.data, left: c.n, ok: true}
}

// productLimbs returns how many limbs a product of numbers of so many has.
func productLimbs(a, b int) int { return max(a+b-1, 0) }

// emulatedProduct has quotient and remainder of a product by a modulus, and the carries
// between the limbs of a b and those of quotient times modulus plus remainder. Its inputs are
// the bits of a limb, the numbers of limbs of the modulus, of a, and of the quotient, and the
// limbs of the modulus, a, and b.
func (w *worker[S, PS]) emulatedProduct(c *call) (bool, error) {
	in := w.inputsOf(c)
	e := w.room()
	width, nP, nA, nQuo := in.count(64), in.count(mostLimbs), in.count(mostLimbs), in.count(2*mostLimbs)
	if has, _ := versions.Compared(); !in.ok || width != 64 || nQuo == 0 && has.Quotient {
		return false, in.err
	}
	p := in.modulus(nP)
	in.number(&e.a, nA)
	in.number(&e.b, in.left)
	carries := max(productLimbs(nA, e.b.n), productLimbs(nQuo, nP)) - 1
	if !in.ok || carries < 0 || int(c.to-c.from) != nQuo+nP+carries {
		return false, in.err
	}
	ab := e.full[0][:]
	clear(ab)
	multiplyWords(ab, e.a.value(), e.b.value())
	quo, rem, ok := e.divide(trimmed(ab), p, nQuo, nP)
	if !ok {
		return false, nil
	}
	out := e.out[:nQuo+nP+carries]
	w.putLimbs(out[:nQuo], quo)
	w.putLimbs(out[nQuo:nQuo+nP], rem)
	var sum sumOfLimbs
	for i := range carries {
		for k := max(0, i-e.b.n+1); k <= min(i, nA-1); k++ {
			sum.addLimbs(&e.a.limbs[k], &e.b.limbs[i-k])
		}
		sum.subProducts(quo, e.p[:nP], i)
		if i < nP {
			sum.subWord(rem[i])
		}
		sum.shift()
		if !w.signed(&out[nQuo+nP+i], &sum) {
			return false, nil
		}
	}
	return true, w.setAll(c.from, out)
}

// emulatedPolynomial has quotient and remainder of a polynomial of several numbers, and the
// carries as emulatedProduct has them. Its inputs are the bits of a limb, the numbers of limbs
// of the modulus, of terms, of variables, of limbs of the quotient and of the remainder, and
// of carries; for each term whether it is subtracted; for each term the exponents of the
// variables; the terms' coefficients; the modulus; and each variable after its number of limbs. Without limbs
// the remainder has to be zero. The last output is whether the quotient is negative. What of this
// a version of gnark does not have is as if all terms were added, and the remainder as long as
// the modulus.
func (w *worker[S, PS]) emulatedPolynomial(c *call) (bool, error) {
	has, _ := versions.Compared()
	in := w.inputsOf(c)
	e := w.room()
	width, nP, terms, variables := in.count(64), in.count(mostLimbs), in.count(mostLimbs), in.count(mostLimbs)
	nQuo, nRem := in.count(2*mostLimbs), nP
	if has.Remainder {
		nRem = in.count(mostLimbs)
	}
	carries := in.count(mostOut - 1 - 3*mostLimbs)
	outputs := nQuo + nRem + carries
	var minus [mostLimbs]bool
	if has.Signs {
		outputs++
		for i := range terms {
			minus[i] = in.word() != 0
		}
	}
	if !in.ok || width != 64 || int(c.to-c.from) != outputs {
		return false, in.err
	}
	exponents := e.exponents[:terms*variables]
	for i := range exponents {
		exponents[i] = uint8(in.count(8))
	}
	var coefficients [mostLimbs]uint64
	for i := range terms {
		coefficients[i] = in.word()
	}
	p := in.modulus(nP)
	for i := range variables {
		in.number(&e.at[i], in.count(mostLimbs))
		if e.at[i].n == 0 {
			in.ok = false
		}
	}
	if !in.ok || in.left > 0 {
		return false, in.err
	}
	clear(e.full[0][:])
	clear(e.full[1][:])
	e.carries = carries
	clear(e.lhs[:carries])
	for i := range terms {
		if !e.addTerm(coefficients[i], exponents[i*variables:(i+1)*variables], minus[i], has.Constants) {
			return false, nil
		}
	}
	plus, less := trimmed(e.full[0][:]), trimmed(e.full[1][:])
	negative := compareWords(plus, less) < 0
	if negative {
		plus, less = less, plus
	}
	subWords(plus, less)
	quo, rem, ok := e.divide(trimmed(plus), p, nQuo, max(nRem, nP))
	if !ok {
		return false, nil
	}
	if negative && len(trimmed(rem)) > 0 { // the remainder is not negative
		copy(e.other[:], e.p[:nP])
		clear(e.other[nP:])
		subWords(e.other[:len(rem)], rem)
		copy(rem, e.other[:len(rem)])
		if addOne(quo) {
			return false, nil
		}
	}
	if len(trimmed(rem)) > nRem {
		return false, nil
	}
	rem = rem[:nRem]
	negative = negative && len(trimmed(quo)) > 0
	out := e.out[:outputs]
	w.putLimbs(out[:nQuo], quo)
	w.putLimbs(out[nQuo:nQuo+nRem], rem)
	var sum sumOfLimbs
	for i := range carries {
		sum.add(&e.lhs[i])
		if i < nRem {
			sum.subWord(rem[i])
		}
		if negative {
			sum.addProducts(quo, e.p[:nP], i)
		} else {
			sum.subProducts(quo, e.p[:nP], i)
		}
		sum.shift()
		if !w.signed(&out[nQuo+nRem+i], &sum) {
			return false, nil
		}
	}
	if has.Signs {
		out[len(out)-1] = w.small[0]
		if negative {
			out[len(out)-1] = w.small[1]
		}
	}
	return true, w.setAll(c.from, out)
}

// addTerm adds a term of a polynomial to its value, and to its sums of limbs, unless it has no
// variables and constants do not count there; ok is false when it is too long.
func (e *emulation[S]) addTerm(coefficient uint64, exponents []uint8, minus, constants bool) (ok bool) {
	length, words, limbs := bits.Len64(coefficient), 1, 1
	for v, power := range exponents {
		for range power {
			length += e.at[v].bits + 4 // of at most mostLimbs products
			words += e.at[v].n + 1
			limbs = productLimbs(limbs, e.at[v].n)
		}
	}
	if length+5 >= 64*sumWords || words >= mostWords || limbs > mostWords {
		return false
	}
	value, other := e.full[2][:], e.other[:]
	value[0] = coefficient
	n := 1
	e.term[0] = sumOfLimbs{coefficient}
	limbs = 1
	for v, power := range exponents {
		by := &e.at[v]
		integer := by.value()
		for range power {
			clear(other[:n+len(integer)])
			multiplyWords(other, value[:n], integer)
			value, other, n = other, value, n+len(integer)
			next := productLimbs(limbs, by.n)
			clear(e.to[:next])
			for i := range limbs {
				for k := range by.n {
					e.to[i+k].addTimes(&e.term[i], &by.limbs[k])
				}
			}
			copy(e.term[:next], e.to[:next])
			limbs = next
		}
	}
	to := e.full[0][:]
	if minus {
		to = e.full[1][:]
	}
	addWords(to, value[:n])
	if words == 1 && !constants {
		return true
	}
	for i := range min(limbs, e.carries) {
		if minus {
			e.lhs[i].sub(&e.term[i])
		} else {
			e.lhs[i].add(&e.term[i])
		}
	}
	return true
}

// divide returns u / p in nQuo words and the remainder in nRem; ok is false when they need more.
func (e *emulation[S]) divide(u, p []uint64, nQuo, nRem int) (quo, rem []uint64, ok bool) {
	m := len(u) - len(p) // the quotient has m+1 words at most
	quo, rem = e.quo[:max(nQuo, m+1)], e.rem[:max(nRem, len(p))]
	clear(quo)
	clear(rem)
	if m < 0 {
		copy(rem, u)
	} else {
		divideWords(quo[:m+1], rem[:len(p)], e.u[:len(u)+1], e.v[:len(p)], u, p)
	}
	return quo[:nQuo], rem[:nRem], len(trimmed(quo)) <= nQuo && len(trimmed(rem)) <= nRem
}

// divideWords sets quo and rem to u / p and the remainder, by algorithm D of Knuth (The Art
// of Computer Programming 2, 4.3.1). The highest word of p is not zero; u has at least as many
// words. un has room for a word more than u, pn for p.
func divideWords(quo, rem, un, pn, u, p []uint64) {
	n := len(p)
	if n == 1 {
		r := uint64(0)
		for i := len(u) - 1; i >= 0; i-- {
			quo[i], r = bits.Div64(r, u[i], p[0])
		}
		rem[0] = r
		return
	}
	s := bits.LeadingZeros64(p[n-1])
	shiftLeft(pn, p, s)
	un[len(u)] = shiftLeft(un[:len(u)], u, s)
	high, next := pn[n-1], pn[n-2]
	for j := len(u) - n; j >= 0; j-- {
		q := ^uint64(0)
		if un[j+n] < high {
			var r uint64
			q, r = bits.Div64(un[j+n], un[j+n-1], high)
			for {
				h, l := bits.Mul64(q, next)
				if h < r || h == r && l <= un[j+n-2] {
					break
				}
				q--
				if r += high; r < high {
					break
				}
			}
		}
		var over, b uint64
		for i, v := range pn {
			h, l := bits.Mul64(q, v)
			l, c := bits.Add64(l, over, 0)
			over = h + c
			un[j+i], b = bits.Sub64(un[j+i], l, b)
		}
		un[j+n], b = bits.Sub64(un[j+n], over, b)
		for b != 0 { // q was too large
			q--
			var c uint64
			for i, v := range pn {
				un[j+i], c = bits.Add64(un[j+i], v, c)
			}
			un[j+n], c = bits.Add64(un[j+n], 0, c)
			b -= c
		}
		quo[j] = q
	}
	for i := range n {
		rem[i] = un[i] >> s
		if s > 0 {
			rem[i] |= un[i+1] << (64 - s)
		}
	}
}

// shiftLeft sets to to x times 2^s, s < 64, and returns what does not fit.
func shiftLeft(to, x []uint64, s int) (over uint64) {
	for i, v := range x {
		to[i] = v<<s | over
		over = v >> (64 - s)
	}
	return over
}

// multiplyWords adds x y to to, which has room for it.
func multiplyWords(to, x, y []uint64) {
	for i, v := range x {
		over := uint64(0)
		part := to[i : i+len(y)+1]
		for k, u := range y {
			h, l := bits.Mul64(v, u)
			var c uint64
			l, c = bits.Add64(l, over, 0)
			h += c
			part[k], c = bits.Add64(part[k], l, 0)
			over = h + c
		}
		for k := len(y); over != 0; k++ {
			to[i+k], over = bits.Add64(to[i+k], over, 0)
		}
	}
}

// addWords adds x to to, which has room for it.
func addWords(to, x []uint64) {
	var c uint64
	for i, v := range x {
		to[i], c = bits.Add64(to[i], v, c)
	}
	for i := len(x); c != 0; i++ {
		to[i], c = bits.Add64(to[i], 0, c)
	}
}

// subWords subtracts x, which is no larger and no longer.
func subWords(to, x []uint64) {
	var b uint64
	for i, v := range x {
		to[i], b = bits.Sub64(to[i], v, b)
	}
	for i := len(x); b != 0; i++ {
		to[i], b = bits.Sub64(to[i], 0, b)
	}
}

// addOne adds 1, and reports whether that does not fit.
func addOne(x []uint64) (over bool) {
	for i := range x {
		if x[i]++; x[i] != 0 {
			return false
		}
	}
	return true
}

// compareWords compares integers without leading zeros.
func compareWords(x, y []uint64) int {
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	for i := len(x) - 1; i >= 0; i-- {
		switch {
		case x[i] < y[i]:
			return -1
		case x[i] > y[i]:
			return 1
		}
	}
	return 0
}

func (s *sumOfLimbs) add(x *sumOfLimbs) {
	var c uint64
	for i := range s {
		s[i], c = bits.Add64(s[i], x[i], c)
	}
}

func (s *sumOfLimbs) sub(x *sumOfLimbs) {
	var b uint64
	for i := range s {
		s[i], b = bits.Sub64(s[i], x[i], b)
	}
}

// addAt adds h 2^64 + l times 2^(64 i).
func (s *sumOfLimbs) addAt(i int, h, l uint64) {
	var c uint64
	s[i], c = bits.Add64(s[i], l, 0)
	if i++; i < sumWords {
		s[i], c = bits.Add64(s[i], h, c)
	}
	for i++; c != 0 && i < sumWords; i++ {
		s[i], c = bits.Add64(s[i], 0, c)
	}
}

// addLimbs adds the product of two limbs.
func (s *sumOfLimbs) addLimbs(x, y *[2]uint64) {
	h, l := bits.Mul64(x[0], y[0])
	s.addAt(0, h, l)
	if y[1] != 0 {
		h, l = bits.Mul64(x[0], y[1])
		s.addAt(1, h, l)
	}
	if x[1] != 0 {
		h, l = bits.Mul64(x[1], y[0])
		s.addAt(1, h, l)
		h, l = bits.Mul64(x[1], y[1])
		s.addAt(2, h, l)
	}
}

// addTimes adds x y; x is not negative.
func (s *sumOfLimbs) addTimes(x *sumOfLimbs, y *[2]uint64) {
	for i, v := range x {
		if v == 0 {
			continue
		}
		h, l := bits.Mul64(v, y[0])
		s.addAt(i, h, l)
		if y[1] != 0 {
			h, l = bits.Mul64(v, y[1])
			s.addAt(i+1, h, l)
		}
	}
}

func (s *sumOfLimbs) subWord(x uint64) {
	var b uint64
	s[0], b = bits.Sub64(s[0], x, 0)
	for i := 1; b != 0 && i < sumWords; i++ {
		s[i], b = bits.Sub64(s[i], 0, b)
	}
}

// products returns the sum of x_k y_(i-k): limb i of a product of limbs of one word.
func products(x, y []uint64, i int) (t sumOfLimbs) {
	var c, high, mid, low uint64
	for k := max(0, i-len(y)+1); k <= min(i, len(x)-1); k++ {
		h, l := bits.Mul64(x[k], y[i-k])
		low, c = bits.Add64(low, l, 0)
		mid, c = bits.Add64(mid, h, c)
		high += c
	}
	return sumOfLimbs{low, mid, high}
}

func (s *sumOfLimbs) addProducts(x, y []uint64, i int) {
	t := products(x, y, i)
	s.add(&t)
}

func (s *sumOfLimbs) subProducts(x, y []uint64, i int) {
	t := products(x, y, i)
	s.sub(&t)
}

// shift divides by 2^64, rounded down.
func (s *sumOfLimbs) shift() {
	sign := uint64(int64(s[sumWords-1]) >> 63)
	copy(s[:], s[1:])
	s[sumWords-1] = sign
}

// putLimbs sets elements to words.
func (w *worker[S, PS]) putLimbs(to []S, words []uint64) {
	for i := range to {
		PS(&w.limb).SetUint64(words[i])
		to[i] = w.limb
	}
}

// signed sets an element to a sum; ok is false when that is not below the modulus, or not
// above its negative.
func (w *worker[S, PS]) signed(to *S, s *sumOfLimbs) (ok bool) {
	sign := uint64(int64(s[sumWords-1]) >> 63)
	var c = sign & 1
	var rest uint64
	for i, v := range s {
		v, c = bits.Add64(v^sign, 0, c)
		if i < len(w.magnitude) {
			w.magnitude[i] = v
		} else {
			rest |= v
		}
	}
	if rest != 0 || !w.below(&w.magnitude) {
		return false
	}
	for i := 1; i < len(w.magnitude); i++ {
		rest |= w.magnitude[i]
	}
	if rest == 0 {
		PS(&w.limb).SetUint64(w.magnitude[0])
	} else {
		w.enter(&w.limb, &w.magnitude)
	}
	if sign != 0 {
		PS(&w.limb).Neg(&w.limb)
	}
	*to = w.limb
	return true
}

// below reports whether words are below the modulus.
func (r *reducer[S]) below(x *S) bool {
	for i := len(*x) - 1; i >= 0; i-- {
		if (*x)[i] != r.q[i] {
			return (*x)[i] < r.q[i]
		}
	}
	return false
}

// enter sets an element to the integer of words below the modulus.
func (w *worker[S, PS]) enter(to, words *S) {
	e := w.room()
	if !e.squared {
		// R in Montgomery form, which stands for itself not in that form times R.
		PS(&e.square).SetUint64(1)
		for range 64 * len(*to) {
			PS(&e.square).Add(&e.square, &e.square)
		}
		e.squared = true
	}
	PS(to).Mul(words, &e.square)
}

// setAll gives wires from one on their values.
func (w *worker[S, PS]) setAll(from uint32, values []S) error {
	for i := range values {
		if err := w.set(from+uint32(i), &values[i]); err != nil {
			return err
		}
	}
	return nil
}
