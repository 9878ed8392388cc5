package circom

import (
	"context"

	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/circom/internal/file"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/merge"
)

// matrices are A and B by rows, with the few factors that their entries have.
type matrices[S comparable] struct {
	fr      *group.Field[S]
	domain  int
	rows    int // up to the last that is not empty
	step    int // row i is at place step i mod domain
	sides   [2]file.Matrix
	factors []S
}

// newMatrices makes matrices of a key's entries. Nearly all factors are 1 or -1, so that entries
// with these are marked: they need no product.
func newMatrices[S comparable](fr *group.Field[S], domain, step int, e *file.Entries) *matrices[S] {
	m := &matrices[S]{fr: fr, domain: domain, rows: e.Rows, step: step, sides: e.Matrices}
	m.factors = make([]S, len(e.Factors)/fr.Bytes)
	copy(layout.Bytes(m.factors), e.Factors)
	// The file has f R^2. A product by the bytes of the number 1 divides by R.
	one := make([]S, 1)
	layout.Bytes(one)[0] = 1
	for i := range m.factors {
		fr.Mul(&m.factors[i], &m.factors[i], &one[0])
	}
	m.mark()
	return m
}

// The marks of entries whose factor is 1 or -1, in the place of its index. There are fewer factors.
const (
	plus  = ^uint32(0)
	minus = plus - 1
)

// mark replaces the indices of the factors 1 and -1.
func (m *matrices[S]) mark() {
	one := m.fr.One()
	minusOne := m.fr.Minus(m.fr.Minus(one, one), one)
	marks := make([]uint32, len(m.factors))
	for i, f := range m.factors {
		switch f {
		case one:
			marks[i] = plus
		case minusOne:
			marks[i] = minus
		default:
			marks[i] = uint32(i)
		}
	}
	for _, side := range m.sides {
		merge.Parallel(len(side.Factor), func(lo, hi int) {
			for i, f := range side.Factor[lo:hi] {
				side.Factor[lo+i] = marks[f]
			}
		})
	}
}

// products sets a and b to A w and B w, until ctx ends. Both have the size of the domain. They are
// multiplied by what w is multiplied by, such as a power of R.
func (m *matrices[S]) products(ctx context.Context, a, b, w []S) error {
	const part = 1 << 11
	return merge.Until(ctx, m.domain, part, func(lo, hi int) {
		t := make([]S, 2)
		defer clear(t)
		for side, to := range [...][]S{a, b} {
			for row := lo; row < hi; row++ {
				m.row(&t[0], &t[1], &m.sides[side], row, w)
				to[row*m.step&(m.domain-1)] = t[0]
			}
		}
	})
}

// row sets sum to the product of a row and w. It overwrites t.
func (m *matrices[S]) row(sum, t *S, side *file.Matrix, row int, w []S) {
	var zero S
	*sum = zero
	for i := side.Start[row]; i < side.Start[row+1]; i++ {
		x := &w[side.Wire[i]]
		switch f := side.Factor[i]; f {
		case plus:
			m.fr.AddTo(sum, x)
		case minus:
			m.fr.Subtract(sum, sum, x)
		default:
			m.fr.Mul(t, x, &m.factors[f])
			m.fr.AddTo(sum, t)
		}
	}
}
