package plonk

import (
	"context"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/vector"
)

// domain has the n-th roots of unity, and the cosets on which a quotient is computed.
type domain[S comparable] struct {
	size
	field  *group.Field[S]
	root   S // generates the roots
	shift  S // of the coset that all cosets are
	cosets []coset[S]
	remainders[S]
}

// coset is shift times the n-th roots of unity. There, X^n - 1 has the value vanishing.
type coset[S any] struct{ shift, vanishing S }

// newDomain makes a domain. root generates the n-th roots of unity. shift is the first coset's, and next the
// factor from each coset's to the following one's.
func newDomain[S comparable](field *group.Field[S], s size, root, shift, next S) *domain[S] {
	d := &domain[S]{size: s, field: field, root: root, shift: shift}
	at := shift
	for range s.pieces {
		d.cosets = append(d.cosets, coset[S]{at, field.Minus(field.Power(at, s.n), field.One())})
		at = field.Product(at, next)
	}
	d.remainders = d.newRemainders()
	return d
}

// trace is a constraint system as columns of n values.
type trace[S any] struct {
	columns    [columns][]S
	fixed      []S
	commitment [][]S // of each: 1 in the rows that it commits to
}

// load computes a key's vectors from its trace.
func (d *domain[S]) load(ctx context.Context, s *vector.Session[S], k *keyVectors[S], t *trace[S]) error {
	p := s.Program()
	p.Write(k.fixed, t.fixed)
	p.Copy(k.polynomial(fixed), k.fixed)
	for i, v := range append(t.columns[:], t.commitment...) {
		p.Write(k.polynomial(i), v)
	}
	for i := range 3 {
		p.Copy(cut(k.sigma, i, k.n), k.polynomial(sigma1+i))
	}
	some := columns + k.commitments
	coefficients(p, k.coefficients, 1+some)
	p.Powers(k.roots, d.field.One(), d.root)
	for i, c := range d.cosets {
		values(p, k.values[i], k.coefficients.Slice(k.n, (1+some)*k.n), some, c.shift)
		// The first Lagrange polynomial is (X^n - 1) / (n (X - 1)).
		first := cut(k.first, i, k.n)
		p.Map(first, k.roots.Expr().Scale(c.shift).Sub(vector.Const(d.field.One())))
		p.Invert(first, first)
		p.Scale(first, first, d.field.Product(c.vanishing, d.field.Inverse(d.field.Number(k.n))))
	}
	return p.Run(ctx)
}

// coefficients turns the values of several polynomials on the domain, in order,
// into coefficients, reversed.
func coefficients[S comparable](p *vector.Program[S], v vector.Vector[S], batch int) {
	p.Transform(v, v, vector.Transform[S]{Inverse: true, To: backend.Reversed, Batch: batch})
}

// values sets dst to the values, in order, of several polynomials on a coset.
func values[S comparable](p *vector.Program[S], dst, coefficients vector.Vector[S], batch int, shift S) {
	p.Transform(dst, coefficients, vector.Transform[S]{From: backend.Reversed, Shift: shift, Batch: batch})
}
