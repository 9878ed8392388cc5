package assignment

import (
	"math/big"
	"math/bits"

	"github.com/consensys/gnark/constraint"
	"github.com/pippin-zk/pippin/internal/curves"
)

// A linear expression of a circuit has tens of terms and more, with coefficients that are
// mostly small integers. Its value is added up as an integer of one word more than an
// element, in which the sum of the coefficients stays below 2^maxWeight, and reduced once:
// a term is a multiplication by one word in place of a product of two elements.

// wide is such a sum: it is below 2^maxWeight times the modulus.
type wide [7]uint64

const (
	maxWeight = 30
	maxScale  = 1 << 28 // coefficients from here on are elements
	fewTerms  = 3       // expressions up to so many terms are added up as elements
)

// reducer reduces a wide sum a modulo q, which has b bits, by Barrett's method. With
// t = a / 2^(b-34), rounded down and below 2^64, and m = 2^(b+60) / q, rounded down,
// a / q - t m / 2^94 is at least zero and less than 2^-33 + 2^-30. So the quotient is
// t m / 2^94, rounded down, or one more, and the rest below 2 q, which fits an element.
type reducer[S limbs] struct {
	q     S
	m     uint64
	shift uint // of t, in an element's highest word
}

func newReducer[S limbs](q *big.Int) (r reducer[S]) {
	r.q = wordsOf[S](q)
	n := q.BitLen()
	m := new(big.Int).Lsh(big.NewInt(1), uint(n)+60)
	r.m = m.Div(m, q).Uint64()
	r.shift = uint(n-34) % 64
	return r
}

// wordsOf returns the words of an integer that fits an element.
func wordsOf[S limbs](v *big.Int) (s S) {
	rest := new(big.Int).Set(v)
	for i := range len(s) {
		s[i] = new(big.Int).And(rest, new(big.Int).SetUint64(^uint64(0))).Uint64()
		rest.Rsh(rest, 64)
	}
	return s
}

// add adds an element to a sum.
func add[S limbs](a *wide, x *S) {
	var c uint64
	n := len(*x)
	a[0], c = bits.Add64(a[0], (*x)[0], 0)
	a[1], c = bits.Add64(a[1], (*x)[1], c)
	a[2], c = bits.Add64(a[2], (*x)[2], c)
	a[3], c = bits.Add64(a[3], (*x)[3], c)
	if n == 6 {
		a[4], c = bits.Add64(a[4], (*x)[n-2], c)
		a[5], c = bits.Add64(a[5], (*x)[n-1], c)
		a[6] += c
		return
	}
	a[4] += c
}

// addTimes adds k x to a sum.
func addTimes[S limbs](a *wide, x *S, k uint64) {
	n := len(*x)
	h0, l0 := bits.Mul64((*x)[0], k)
	h1, l1 := bits.Mul64((*x)[1], k)
	h2, l2 := bits.Mul64((*x)[2], k)
	h3, l3 := bits.Mul64((*x)[3], k)
	var c uint64
	l1, c = bits.Add64(l1, h0, 0)
	l2, c = bits.Add64(l2, h1, c)
	l3, c = bits.Add64(l3, h2, c)
	if n == 6 {
		h4, l4 := bits.Mul64((*x)[n-2], k)
		h5, l5 := bits.Mul64((*x)[n-1], k)
		l4, c = bits.Add64(l4, h3, c)
		l5, c = bits.Add64(l5, h4, c)
		h5 += c
		a[0], c = bits.Add64(a[0], l0, 0)
		a[1], c = bits.Add64(a[1], l1, c)
		a[2], c = bits.Add64(a[2], l2, c)
		a[3], c = bits.Add64(a[3], l3, c)
		a[4], c = bits.Add64(a[4], l4, c)
		a[5], c = bits.Add64(a[5], l5, c)
		a[6] += h5 + c
		return
	}
	h3 += c
	a[0], c = bits.Add64(a[0], l0, 0)
	a[1], c = bits.Add64(a[1], l1, c)
	a[2], c = bits.Add64(a[2], l2, c)
	a[3], c = bits.Add64(a[3], l3, c)
	a[4] += h3 + c
}

// minus sets y to q - x.
func (r *reducer[S]) minus(y, x *S) {
	var b uint64
	q, n := &r.q, len(*x)
	(*y)[0], b = bits.Sub64((*q)[0], (*x)[0], 0)
	(*y)[1], b = bits.Sub64((*q)[1], (*x)[1], b)
	(*y)[2], b = bits.Sub64((*q)[2], (*x)[2], b)
	(*y)[3], b = bits.Sub64((*q)[3], (*x)[3], b)
	if n == 6 {
		(*y)[n-2], b = bits.Sub64((*q)[n-2], (*x)[n-2], b)
		(*y)[n-1], _ = bits.Sub64((*q)[n-1], (*x)[n-1], b)
	}
}

// reduce sets to to the element that a sum is.
func (r *reducer[S]) reduce(to *S, a *wide) {
	n, q := len(*to), &r.q
	t := a[n-1]>>r.shift | a[n]<<(64-r.shift)
	k, _ := bits.Mul64(t, r.m)
	k >>= maxWeight
	var c, b, over, h, l uint64
	for i := range n {
		h, l = bits.Mul64(k, (*q)[i])
		l, c = bits.Add64(l, over, 0)
		over = h + c
		(*to)[i], b = bits.Sub64(a[i], l, b)
	}
	var d S
	b = 0
	for i := range n {
		d[i], b = bits.Sub64((*to)[i], (*q)[i], b)
	}
	if b == 0 {
		*to = d
	}
}

// scalesOf returns the coefficients that are small integers, negative ones too, and 0 for
// the others.
func scalesOf[S limbs, PS curves.Scalar[S]](r *reducer[S], coefficients []S) []int32 {
	scales := make([]int32, len(coefficients))
	raw := make([]S, 3)
	raw[0][0] = 1
	small := func(x *S) (v uint64, ok bool) {
		PS(&raw[1]).Mul(x, &raw[0])
		rest := uint64(0)
		for i := 1; i < len(raw[1]); i++ {
			rest |= raw[1][i]
		}
		return raw[1][0], rest == 0 && raw[1][0] < maxScale
	}
	for i := range coefficients {
		c := &coefficients[i]
		if v, ok := small(c); ok {
			scales[i] = int32(v)
		} else if PS(&raw[2]).Neg(c); true {
			if v, ok := small(&raw[2]); ok {
				scales[i] = -int32(v)
			}
		}
	}
	return scales
}

// adder returns what is Solver.Adder.
func adder[S limbs, PS curves.Scalar[S]](q *big.Int, coefficients []S) func(values []S) (add func(sum *S, terms []uint32), wipe func()) {
	by := newReducer[S](q)
	scales := scalesOf[S, PS](&by, coefficients)
	return func(values []S) (func(*S, []uint32), func()) {
		w := &worker[S, PS]{run: &run[S, PS]{reducer: by, coefficients: coefficients, scales: scales, values: values}}
		return func(sum *S, terms []uint32) { _, _ = w.addUp(sum, terms) }, w.wipe // all wires have values
	}
}

// addUp sets sum to the sum of terms, a coefficient and a wire each. open is the place of
// the term whose wire has no value, and which is left out, or -1; more than one are an
// error.
//
// The system is a rank-1 one, whose constants are terms of the wire one.
func (w *worker[S, PS]) addUp(sum *S, terms []uint32) (open int, err error) {
	if len(terms) <= 2*fewTerms {
		return w.addFew(sum, terms)
	}
	var a wide
	if open, err = w.addTo(&a, terms); err == nil {
		w.reduce(sum, &a)
	}
	return open, err
}

func (w *worker[S, PS]) addFew(sum *S, terms []uint32) (open int, err error) {
	open = -1
	first := true
	for i := 0; i+1 < len(terms); i += 2 {
		v := &w.values[terms[i+1]]
		if unknown(v) {
			if open >= 0 {
				return open, errEarly
			}
			open = i
			continue
		}
		by := terms[i]
		if terms[i+1] == one {
			v, by = &w.coefficients[by], constraint.CoeffIdOne
		}
		if !first {
			w.times(sum, by, v)
		} else if by == constraint.CoeffIdOne {
			*sum = *v
		} else {
			var zero S
			*sum = zero
			w.times(sum, by, v)
		}
		first = false
	}
	if first {
		var zero S
		*sum = zero
	}
	return open, nil
}

// addTo adds terms to a sum of at most two elements.
func (w *worker[S, PS]) addTo(a *wide, terms []uint32) (open int, err error) {
	open = -1
	weight := int64(2)
	values, scales := w.values, w.scales
	for i := 0; i+1 < len(terms); i += 2 {
		v := &values[terms[i+1]]
		if unknown(v) {
			if open >= 0 {
				return open, errEarly
			}
			open = i
			continue
		}
		if weight >= 1<<maxWeight-maxScale {
			w.reduce(&w.addend, a)
			*a = wide{}
			add(a, &w.addend)
			weight = 1
		}
		switch k := scales[terms[i]]; {
		case k == 1:
			add(a, v)
			weight++
		case k > 0:
			addTimes(a, v, uint64(k))
			weight += int64(k)
		case k == -1:
			w.minus(&w.addend, v)
			add(a, &w.addend)
			weight++
		case k < 0:
			w.minus(&w.addend, v)
			addTimes(a, &w.addend, uint64(-k))
			weight -= int64(k)
		case !w.sparse && terms[i+1] == one:
			add(a, &w.coefficients[terms[i]])
			weight++
		default:
			PS(&w.addend).Mul(&w.coefficients[terms[i]], v)
			add(a, &w.addend)
			weight++
		}
	}
	return open, nil
}

// addAll sets to to the sum of terms that all have values, constants among them.
func (w *worker[S, PS]) addAll(to *S, terms []uint32) error {
	var a wide
	rest := terms
	for len(rest) > 0 {
		n := 0
		for n < len(rest) && rest[n+1] != constant {
			n += 2
		}
		open, err := w.addTo(&a, rest[:n])
		if err != nil {
			return err
		}
		if open >= 0 && rest[open] != constraint.CoeffIdZero {
			return errEarly
		}
		w.reduce(&w.sofar, &a)
		a = wide{}
		add(&a, &w.sofar)
		if rest = rest[n:]; len(rest) > 0 {
			add(&a, &w.coefficients[rest[0]])
			rest = rest[2:]
		}
	}
	w.reduce(to, &a)
	return nil
}
