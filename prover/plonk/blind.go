package plonk

import "github.com/pippin-zk/pippin/prover/internal/group"

// blinding has the random polynomials b that hide L, R, O and Z. Each of these becomes
// itself plus b (X^n - 1), which changes no value on the domain. All of it is secret, and
// wipe clears every copy.
type blinding[S comparable] struct {
	b [len(blindCounts)][]S // one coefficient more than a proof shows values

	// rows are added, one after the other, to the coefficients 0, 1 and so on of the
	// polynomials. After row i the values on coset i are those of the blinded
	// polynomials; after the row behind the cosets' the coefficients are the first n of
	// the blinded ones. Each row takes back the one before. The last row is not added:
	// it has the coefficients of the blinded polynomials from n on.
	rows []S

	// shards are two random numbers that hide the quotient's parts, and less are their
	// negatives. Both are empty without statistical zero-knowledge.
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
	// On a coset X^n is a constant, and so b (X^n - 1) is b times a constant. In the
	// smallest domain b has more than n coefficients: there X^n is replaced as well.
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
