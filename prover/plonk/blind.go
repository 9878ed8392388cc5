package plonk

import "github.com/pippin-zk/pippin/prover/internal/group"

// blinding is the random polynomials b that hide L, R, O and Z: each becomes
// itself plus b (X^n - 1), which changes no value on the domain. All of it is
// secret, and no copy is made that wipe does not know.
type blinding[S comparable] struct {
	b [len(blindCounts)][]S // one coefficient more than a proof shows values

	// rows is what is added to the coefficients 0, 1 and so on of the polynomials:
	// for each coset what makes their values there those of the blinded ones, then
	// what makes them the first n coefficients of the blinded ones. Each row undoes
	// the one before. The last row is the coefficients that follow the first n.
	rows []S

	// shards hide the quotient's parts, less is minus them; empty, or two.
	shards, less []S
}

// draw draws what a proof needs at random.
func (f *blinding[S]) draw(d *domain[S], statistical bool) error {
	all := make([]S, blindElements)
	for i, n := range blindCounts {
		f.b[i], all = all[:n:n], all[n:]
		if err := d.field.Random(f.b[i]); err != nil {
			return err
		}
	}
	f.spread(d)
	if statistical {
		return f.shard(d.field)
	}
	return nil
}

// shard draws what hides the quotient's parts.
func (f *blinding[S]) shard(fr *group.Field[S]) error {
	f.shards, f.less = make([]S, 2), make([]S, 2)
	if err := fr.Random(f.shards); err != nil {
		return err
	}
	fr.AddScaledInto(f.less, f.shards, minusOne(fr))
	return nil
}

// wipe clears everything.
func (f *blinding[S]) wipe() {
	for _, v := range append(f.b[:], f.rows, f.shards, f.less) {
		clear(v)
	}
}

// spread computes the rows.
func (f *blinding[S]) spread(d *domain[S]) {
	fr := d.field
	f.rows = make([]S, (d.pieces+2)*blindElements)
	row := func(i int) []S { return f.rows[i*blindElements : (i+1)*blindElements] }
	// On a coset X^n is a constant, so that b (X^n - 1) is b times another, where
	// coefficients from n on, which the smallest domain has, go around.
	around := func(to, b []S, k, power S) {
		for i := range b {
			if i > 0 && i%d.n == 0 {
				k = fr.Product(k, power)
			}
			fr.AddScaledInto(to[i%d.n:i%d.n+1], b[i:i+1], k)
		}
	}
	at := 0
	for _, b := range f.b {
		for i, c := range d.cosets {
			around(row(i)[at:], b, c.vanishing, fr.Sum(c.vanishing, fr.One()))
		}
		low, high := row(d.pieces)[at:], row(d.pieces + 1)[at:]
		fr.AddScaledInto(low, b[:min(len(b), d.n)], minusOne(fr))
		fr.AddScaledInto(high, b, fr.One())
		if len(b) > d.n {
			fr.AddScaledInto(high, b[d.n:], minusOne(fr))
		}
		at += len(b)
	}
	for i := d.pieces; i > 0; i-- {
		fr.AddScaledInto(row(i), row(i-1), minusOne(fr))
	}
}

// high returns the coefficients from n on of a blinded polynomial.
func (f *blinding[S]) high(polynomial int) []S {
	at := len(f.rows) - blindElements
	for _, c := range blindCounts[:polynomial] {
		at += c
	}
	return f.rows[at : at+blindCounts[polynomial]]
}

// minusOne returns -1.
func minusOne[S any](fr *group.Field[S]) S {
	var zero S
	return fr.Minus(zero, fr.One())
}
