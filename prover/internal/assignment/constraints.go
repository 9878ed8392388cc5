package assignment

import (
	"sync"

	"github.com/consensys/gnark/constraint"
	"github.com/pippin-zk/pippin/internal/curves"
)

// worker is one goroutine's part of a run.
type worker[S limbs, PS curves.Scalar[S]] struct {
	*run[S, PS]
	scratch[S]

	call      call // the hint's that is being computed
	sides     [3]S // of the rank-1 constraint in hand, without the term of a wire without a value
	divisions []division
	open      [][3]S // the sides of rank-1 constraints that divisions are of
	factors   factors[S]
	prefix    []S
	zeros     []int
	dividends []S // of a part of a list

	big       integers[S]
	emulation *emulation[S]

	_ [64]byte
}

// scratch is what a worker's methods need for a moment: what they pass to an element's
// methods would otherwise be put on the heap. A field belongs to the methods named beside it.
// None of these calls another one, so that no call spoils what its caller has there.
type scratch[S limbs] struct {
	scaled S // times
	addend S // addTo
	sofar  S // addAll

	partial    S // giant
	left       S // close
	difference S // products
	factor     S // give
	chain      S // divide
	divisor    S // divide
	inverse    S // divide
	result     S // sparseAdd, sparseMul, sparseBool, sparse1
	unscaled   S // sparseMul
	cross      S // rowSum
	rest       S // rowQuotient

	argument S // integers, inverseOrZero
	input    S // word
	plain    S // small64
	output   S // setWord
	whole    S // nBits, decompose
	pieces   S // nBits, decompose
	entry    S // lookup

	point   S // quotients
	pole    S // quotients
	running S // invertEach
	value   S // invertEach

	limb      S // next, putLimbs, signed
	magnitude S // signed

	shown S // line
}

// wipe overwrites what was kept.
func (w *worker[S, PS]) wipe() {
	w.scratch = scratch[S]{}
	w.sides, w.factors = [3]S{}, factors[S]{}
	clear(w.open[:cap(w.open)])
	clear(w.prefix[:cap(w.prefix)])
	clear(w.dividends)
	w.big.wipe()
	if w.emulation != nil {
		*w.emulation = emulation[S]{}
	}
}

// division is a wire that stands for a quotient.
type division struct {
	of   dividend
	side uint8 // of the wire
	open int   // of a rank-1 constraint: where its sides are
	// data is the constraint, coefficient and wire the term in question.
	coefficient, wire uint32
	data              []uint32
}

// dividend is what is divided.
type dividend uint8

const (
	ofProduct dividend = iota // c of a b = c, with a wire of a or b unknown
	ofRow                     // a row's other terms, in a sparse system
	ofOne                     // 1, for a hint; data is what it is divided by
)

// r1c solves a rank-1 constraint. data is its length, the numbers of terms of its
// three sides, and their terms. At most one wire has no value; with what it must be
// the constraint holds, and without one it is looked at.
func (w *worker[S, PS]) r1c(data []uint32) error {
	if data[0] > giant && len(w.workers) > 1 {
		w.put(func() error { return w.giant(data) })
		return nil
	}
	where, at := -1, 4
	var coefficient, wire uint32
	for side := range 3 {
		end := at + 2*int(data[1+side])
		open, err := w.addUp(&w.sides[side], data[at:end])
		if err != nil {
			return err
		}
		if open >= 0 {
			if where >= 0 {
				return errEarly
			}
			where, coefficient, wire = side, data[at+open], data[at+open+1]
		}
		at = end
	}
	return w.close(where, coefficient, wire)
}

// giant is the length, in words, from which a constraint is work for all processors: the
// sums over lookups have a term for each.
const giant = 1 << 14

// giant solves a long constraint after its level, its sums by all processors.
func (w *worker[S, PS]) giant(data []uint32) error {
	var mu sync.Mutex
	sides := new([3]S) // the first worker's may be used by what is solved beside
	defer clear(sides[:])
	where, at := -1, 4
	var coefficient, wire uint32
	for side := range sides {
		terms := data[at : at+2*int(data[1+side])]
		at += len(terms)
		err := w.ranges(len(terms)/2, batch, func(w *worker[S, PS], lo, hi int) error {
			part := terms[2*lo : 2*hi]
			open, err := w.addUp(&w.partial, part)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if open >= 0 {
				if where >= 0 {
					return errEarly
				}
				where, coefficient, wire = side, part[open], part[open+1]
			}
			PS(&sides[side]).Add(&sides[side], &w.partial)
			return nil
		})
		if err != nil {
			return err
		}
	}
	first := w.workers[0]
	first.sides = *sides
	if err := first.close(where, coefficient, wire); err != nil {
		return err
	}
	return first.end()
}

// close ends a rank-1 constraint whose sides are added up, but for the wire without a value,
// if there is one: its side is where, else -1.
func (w *worker[S, PS]) close(where int, coefficient, wire uint32) error {
	a, b, c := &w.sides[0], &w.sides[1], &w.sides[2]
	switch where {
	case 0, 1:
		if PS(&w.sides[1-where]).IsZero() {
			// Any value would do, or none.
			if PS(&w.left).Mul(a, b); !PS(c).Equal(&w.left) {
				return ErrUnsatisfied
			}
			var zero S
			w.left = zero
			return w.set(wire, &w.left)
		}
		w.divisions = append(w.divisions, division{ofProduct, uint8(where), len(w.open), coefficient, wire, nil})
		w.open = append(w.open, w.sides)
		return nil
	}
	if *b != w.small[1] {
		return w.putOff(product{where == 2, coefficient, wire})
	}
	// A linear constraint.
	if where < 0 {
		if *c != *a {
			return ErrUnsatisfied
		}
		return nil
	}
	PS(&w.left).Sub(a, c)
	return w.give(coefficient, wire, &w.left)
}

// give sets a wire such that its term is v, which is overwritten.
func (w *worker[S, PS]) give(coefficient, wire uint32, v *S) error {
	switch coefficient {
	case constraint.CoeffIdOne:
	case constraint.CoeffIdMinusOne:
		PS(v).Neg(v)
	case constraint.CoeffIdZero:
		return errEarly
	default:
		// gnark's frontends give unknown wires the coefficient 1 or -1.
		PS(&w.factor).Inverse(&w.coefficients[coefficient])
		PS(v).Mul(v, &w.factor)
	}
	return w.set(wire, v)
}

// denominator returns what a division divides by, never zero.
func (w *worker[S, PS]) denominator(d *division, to *S) {
	switch {
	case d.of == ofRow:
		w.rowDenominator(d, to)
	case d.of == ofOne:
		_, _ = w.sum(to, d.data) // which could be read before
	default:
		*to = w.open[d.open][1-d.side]
	}
}

// divide ends the divisions of a share, with one inversion (Montgomery's trick).
func (w *worker[S, PS]) divide() error {
	n := len(w.divisions)
	if cap(w.prefix) < n {
		clear(w.prefix[:cap(w.prefix)])
		w.prefix = make([]S, n, 2*n)
	}
	w.prefix = w.prefix[:n]
	w.chain = w.small[1]
	for i := range w.divisions {
		w.prefix[i] = w.chain
		w.denominator(&w.divisions[i], &w.divisor)
		PS(&w.chain).Mul(&w.chain, &w.divisor)
	}
	PS(&w.chain).Inverse(&w.chain)
	for i := n - 1; i >= 0; i-- {
		d := &w.divisions[i]
		w.denominator(d, &w.divisor)
		PS(&w.inverse).Mul(&w.chain, &w.prefix[i]) // 1 / denominator
		PS(&w.chain).Mul(&w.chain, &w.divisor)
		if err := w.quotient(d, &w.inverse); err != nil {
			return err
		}
	}
	w.divisions, w.open = w.divisions[:0], w.open[:0]
	return nil
}

// quotient sets a division's wire, with the inverse of its denominator.
func (w *worker[S, PS]) quotient(d *division, inverse *S) error {
	switch d.of {
	case ofRow:
		return w.rowQuotient(d, inverse)
	case ofOne:
		return w.set(d.wire, inverse)
	}
	sides := &w.open[d.open]
	PS(inverse).Mul(&sides[2], inverse)
	PS(inverse).Sub(inverse, &sides[d.side])
	return w.give(d.coefficient, d.wire, inverse)
}

// sparseAdd computes qL xa + qR xb + qC = xc; data is xa, xb, xc, qL, qR, qC.
func (w *worker[S, PS]) sparseAdd(data []uint32) error {
	data = data[:6:6]
	a := &w.values[data[0]]
	if data[3] == constraint.CoeffIdOne && !unknown(a) {
		w.result = *a
	} else {
		var zero S
		w.result = zero
		if err := w.term(&w.result, data[3], data[0]); err != nil {
			return err
		}
	}
	if data[4] != constraint.CoeffIdZero {
		if err := w.term(&w.result, data[4], data[1]); err != nil {
			return err
		}
	}
	if data[5] != constraint.CoeffIdZero {
		PS(&w.result).Add(&w.result, &w.coefficients[data[5]])
	}
	return w.set(data[2], &w.result)
}

// sparseMul computes qM xa xb = xc; data is xa, xb, xc, qM.
func (w *worker[S, PS]) sparseMul(data []uint32) error {
	a, b := &w.values[data[0]], &w.values[data[1]]
	if unknown(a) || unknown(b) {
		return errEarly
	}
	PS(&w.result).Mul(a, b)
	if data[3] != constraint.CoeffIdOne {
		w.unscaled = w.result
		var zero S
		w.result = zero
		w.times(&w.result, data[3], &w.unscaled)
	}
	return w.set(data[2], &w.result)
}

// sparseBool looks whether qL xa + qM xa xa = 0; data is xa, qL, qM.
func (w *worker[S, PS]) sparseBool(data []uint32) error {
	a := &w.values[data[0]]
	if unknown(a) {
		return errEarly
	}
	var zero S
	w.result = zero
	w.times(&w.result, data[2], a)
	PS(&w.result).Mul(&w.result, a)
	w.times(&w.result, data[1], a)
	if !PS(&w.result).IsZero() {
		return ErrUnsatisfied
	}
	return nil
}

// The places of a sparse constraint's data:
// qL xa + qR xb + qO xc + qM xa xb + qC = 0.
const (
	placeA = iota
	placeB
	placeC
	placeL
	placeR
	placeO
	placeM
	placeConstant
	placeCommitment
)

// sparse1 solves a sparse constraint for the wire without a value, or looks at it. The row
// of a commitment sets no wire.
func (w *worker[S, PS]) sparse1(data []uint32) error {
	if constraint.CommitmentConstraint(data[placeCommitment]) != constraint.NOT {
		if unknown(&w.values[data[placeA]]) {
			return errEarly
		}
		return nil
	}
	side := -1
	for i := range 3 {
		if unknown(&w.values[data[placeA+i]]) {
			side = i
			break
		}
	}
	if side < 0 {
		if err := w.rowSum(data, -1, &w.result); err != nil {
			return err
		}
		if !PS(&w.result).IsZero() {
			return ErrUnsatisfied
		}
		return nil
	}
	d := division{of: ofRow, side: uint8(side), wire: data[placeA+side], data: data}
	if side < 2 && data[placeM] != constraint.CoeffIdZero && unknown(&w.values[data[placeB-side]]) {
		return errEarly
	}
	if side == 2 {
		// Nearly always the coefficient is -1.
		switch data[placeO] {
		case constraint.CoeffIdMinusOne, constraint.CoeffIdOne:
			if err := w.rowSum(data, side, &w.result); err != nil {
				return err
			}
			if data[placeO] == constraint.CoeffIdOne {
				PS(&w.result).Neg(&w.result)
			}
			return w.set(data[placeC], &w.result)
		}
	}
	w.rowDenominator(&d, &w.result)
	if PS(&w.result).IsZero() {
		return ErrUnsatisfied
	}
	w.divisions = append(w.divisions, d)
	return nil
}

// rowSum returns qL xa + qR xb + qO xc + qM xa xb + qC without the terms of one side.
func (w *worker[S, PS]) rowSum(data []uint32, without int, to *S) error {
	var zero S
	*to = zero
	for i := range 3 {
		if i == without {
			continue
		}
		if err := w.term(to, data[placeL+i], data[placeA+i]); err != nil {
			return err
		}
	}
	if data[placeM] != constraint.CoeffIdZero && without != 0 && without != 1 {
		a, b := &w.values[data[placeA]], &w.values[data[placeB]]
		if unknown(a) || unknown(b) {
			return errEarly
		}
		PS(&w.cross).Mul(a, b)
		w.times(to, data[placeM], &w.cross)
	}
	PS(to).Add(to, &w.coefficients[data[placeConstant]])
	return nil
}

// rowDenominator returns the factor of a row's unknown wire: qL + qM xb, qR + qM xa or qO.
func (w *worker[S, PS]) rowDenominator(d *division, to *S) {
	*to = w.coefficients[d.data[placeL+int(d.side)]]
	if d.side == 2 || d.data[placeM] == constraint.CoeffIdZero {
		return
	}
	w.times(to, d.data[placeM], &w.values[d.data[placeB-int(d.side)]])
}

// rowQuotient sets the wire of a row.
func (w *worker[S, PS]) rowQuotient(d *division, inverse *S) error {
	if err := w.rowSum(d.data, int(d.side), &w.rest); err != nil {
		return err
	}
	PS(&w.rest).Mul(&w.rest, inverse)
	PS(&w.rest).Neg(&w.rest)
	return w.set(d.wire, &w.rest)
}
