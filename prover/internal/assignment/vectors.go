package assignment

import (
	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/pippin-zk/pippin/internal/curves"
)

// multiplierOf returns what sets to to the products of a and b, of the same length: by
// gnark-crypto's vectors where these are faster than one product after the other.
func multiplierOf[S limbs, PS curves.Scalar[S]]() func(to, a, b []S) {
	var known any
	switch any(*new(S)).(type) {
	case fr254.Element:
		known = func(to, a, b []fr254.Element) { (*fr254.Vector)(&to).Mul(a, b) }
	case fr377.Element:
		known = func(to, a, b []fr377.Element) { (*fr377.Vector)(&to).Mul(a, b) }
	case fr381.Element:
		known = func(to, a, b []fr381.Element) { (*fr381.Vector)(&to).Mul(a, b) }
	}
	if f, ok := known.(func(to, a, b []S)); ok {
		return f
	}
	return func(to, a, b []S) {
		for i := range to {
			PS(&to[i]).Mul(&a[i], &b[i])
		}
	}
}

// together is how many products of a share are computed at a time.
const together = 64

// factors are products that are put off to the end of a share, since nothing in it needs
// them.
type factors[S limbs] struct {
	n       int
	a, b, c [together]S // c is a b
	rest    [together]S // the constraints' third sides, without the terms of wires without a value
	of      [together]product
}

// product is the constraint of a product: its third side has a wire without a value, or is looked at.
type product struct {
	open              bool
	coefficient, wire uint32
}

// putOff puts off the product of a constraint's sides.
func (w *worker[S, PS]) putOff(p product) error {
	f := &w.factors
	if f.n == together {
		if err := w.products(); err != nil {
			return err
		}
	}
	f.a[f.n], f.b[f.n], f.rest[f.n], f.of[f.n] = w.sides[0], w.sides[1], w.sides[2], p
	f.n++
	return nil
}

// products computes what was put off.
func (w *worker[S, PS]) products() error {
	f := &w.factors
	n := f.n
	f.n = 0
	if n == 1 { // most levels of a chain have one instruction
		PS(&f.c[0]).Mul(&f.a[0], &f.b[0])
	} else {
		w.multiplyAll(f.c[:n], f.a[:n], f.b[:n])
	}
	for i := range f.of[:n] {
		p := &f.of[i]
		if !p.open {
			if f.rest[i] != f.c[i] {
				return ErrUnsatisfied
			}
			continue
		}
		PS(&w.difference).Sub(&f.c[i], &f.rest[i])
		if err := w.give(p.coefficient, p.wire, &w.difference); err != nil {
			return err
		}
	}
	return nil
}

// widthOf returns how many chains of products invertEach has for n values.
func widthOf(n int) int {
	switch {
	case n >= 8*together:
		return together
	case n >= 64:
		return 8
	}
	return 1
}

// invertEach leaves the inverses of values in the beginning of prefix, with one inversion
// (Montgomery's trick). No value is zero. There are rows of width values, and prefix has one
// row more: products are those of rows, value by value.
func (w *worker[S, PS]) invertEach(values, prefix []S, width int) {
	row := func(v []S, i int) []S { return v[i*width : (i+1)*width : (i+1)*width] }
	for i := range row(prefix, 0) {
		prefix[i] = w.small[1]
	}
	rows := len(values) / width
	for i := range rows {
		w.multiplyAll(row(prefix, i+1), row(prefix, i), row(values, i))
	}
	// The last row is the products of all rows: each is replaced by its inverse.
	all, before := row(prefix, rows), w.factors.c[:width]
	w.running = w.small[1]
	for i := range all {
		before[i] = w.running
		PS(&w.running).Mul(&w.running, &all[i])
	}
	PS(&w.running).Inverse(&w.running)
	for i := width - 1; i >= 0; i-- {
		w.value = all[i]
		PS(&all[i]).Mul(&w.running, &before[i])
		PS(&w.running).Mul(&w.running, &w.value)
	}
	for i := rows - 1; i >= 0; i-- {
		w.multiplyAll(row(prefix, i), row(prefix, i), all)
		w.multiplyAll(all, all, row(values, i))
	}
}
