package circom

import (
	"context"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/circom/internal/file"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/merge"
	"github.com/pippin-zk/pippin/vector"
)

// matrices are A and B by rows, with the few factors that their entries have. Their rows are in the
// order of gnark-crypto's domain. An entry's factor is numbered as backend.SparseProduct does it.
type matrices[S comparable] struct {
	fr      *group.Field[S]
	domain  int
	rows    int // of the file, up to the last that is not empty
	sides   [2]file.Matrix
	factors []S
}

// newMatrices makes matrices of a key's entries. Row i of the file is at place step i mod domain.
// Nearly all factors are 1 or -1, which need no product.
func newMatrices[S comparable](fr *group.Field[S], domain, step int, e *file.Entries) *matrices[S] {
	m := &matrices[S]{fr: fr, domain: domain, rows: e.Rows}
	for side := range m.sides {
		m.sides[side] = rowsInOrder(&e.Matrices[side], step)
	}
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

// mark numbers the entries' factors as backend.SparseProduct does.
func (m *matrices[S]) mark() {
	one := m.fr.One()
	minusOne := m.fr.Minus(m.fr.Minus(one, one), one)
	numbers := make([]uint32, len(m.factors))
	for i, f := range m.factors {
		switch f {
		case one:
			numbers[i] = backend.FactorOne
		case minusOne:
			numbers[i] = backend.FactorMinusOne
		default:
			numbers[i] = backend.FactorValue + uint32(i)
		}
	}
	for _, side := range m.sides {
		merge.Parallel(len(side.Factor), func(lo, hi int) {
			for i, f := range side.Factor[lo:hi] {
				side.Factor[lo+i] = numbers[f]
			}
		})
	}
}

// rowsInOrder returns a matrix of n rows, a power of two. Its row step i mod n is row i of x.
func rowsInOrder(x *file.Matrix, step int) file.Matrix {
	if step == 1 {
		return *x
	}
	n := len(x.Start) - 1
	y := file.Matrix{Start: make([]uint32, n+1), Wire: make([]uint32, len(x.Wire)), Factor: make([]uint32, len(x.Factor))}
	for row := range n {
		y.Start[row*step&(n-1)+1] = x.Start[row+1] - x.Start[row]
	}
	for place := range n {
		y.Start[place+1] += y.Start[place]
	}
	merge.Parallel(n, func(lo, hi int) {
		for row := lo; row < hi; row++ {
			to := y.Start[row*step&(n-1)]
			copy(y.Wire[to:], x.Wire[x.Start[row]:x.Start[row+1]])
			copy(y.Factor[to:], x.Factor[x.Start[row]:x.Start[row+1]])
		}
	})
	return y
}

// size returns how many entries a matrix has, and the factors.
func (m *matrices[S]) size(side int) (entries, factors int) {
	return len(m.sides[side].Wire), len(m.factors)
}

// entries returns a matrix for a backend.
func (m *matrices[S]) entries(side int) vector.Entries[S] {
	x := &m.sides[side]
	rows := make([]uint32, len(x.Wire))
	merge.Parallel(m.domain, func(lo, hi int) {
		for row := lo; row < hi; row++ {
			for i := x.Start[row]; i < x.Start[row+1]; i++ {
				rows[i] = uint32(row)
			}
		}
	})
	return vector.Entries[S]{Rows: rows, Columns: x.Wire, Factors: x.Factor, Values: m.factors}
}

// products sets a and b to A w and B w, until ctx ends. Both have the size of the domain.
func (m *matrices[S]) products(ctx context.Context, a, b, w []S) error {
	const part = 1 << 11
	return merge.Until(ctx, m.domain, part, func(lo, hi int) {
		var zero S
		t := new(S)
		defer func() { *t = zero }()
		for side, to := range [...][]S{a, b} {
			for row := lo; row < hi; row++ {
				m.row(&to[row], t, &m.sides[side], row, w)
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
		case backend.FactorOne:
			m.fr.AddTo(sum, x)
		case backend.FactorMinusOne:
			m.fr.Subtract(sum, sum, x)
		default:
			m.fr.Mul(t, x, &m.factors[f-backend.FactorValue])
			m.fr.AddTo(sum, t)
		}
	}
}
