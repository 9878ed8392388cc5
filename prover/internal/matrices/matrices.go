// Package matrices has the matrices A and B of rank-1 constraints (A w)(B w) = C w, for Groth16's quotient: their
// products with the wires w are computed on a backend, or here. C w is the product of both, once w satisfies them.
package matrices

import (
	"context"
	"fmt"

	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/merge"
	"github.com/pippin-zk/pippin/vector"
)

// Matrix is a sparse matrix by rows: row i has the entries Start[i] up to but not including Start[i+1].
type Matrix struct {
	Start  []uint32
	Wire   []uint32
	Factor []uint32 // index into the factors
}

// Rows returns how many rows a matrix has.
func (m *Matrix) Rows() int { return len(m.Start) - 1 }

// Pair is A and B. Nearly all of their factors are 1 or -1, which need no product.
type Pair[S comparable] struct {
	fr      *group.Field[S]
	sides   [2]Matrix // whose factors are numbered as backend.SparseProduct does it
	factors []S
}

// New returns the pair of two matrices, whose factors it numbers anew, in place.
func New[S comparable](fr *group.Field[S], sides [2]Matrix, factors []S) *Pair[S] {
	one := fr.One()
	minusOne := fr.Minus(fr.Minus(one, one), one)
	numbers := make([]uint32, len(factors))
	for i, f := range factors {
		switch f {
		case one:
			numbers[i] = backend.FactorOne
		case minusOne:
			numbers[i] = backend.FactorMinusOne
		default:
			numbers[i] = backend.FactorValue + uint32(i)
		}
	}
	for _, side := range sides {
		merge.Parallel(len(side.Factor), func(lo, hi int) {
			for i, f := range side.Factor[lo:hi] {
				side.Factor[lo+i] = numbers[f]
			}
		})
	}
	return &Pair[S]{fr, sides, factors}
}

// Of returns the pair of a rank-1 system of gnark's, whose coefficients stay where they are.
func Of[S comparable](fr *group.Field[S], sys *constraint.System, coefficients []S) (*Pair[S], error) {
	sizes := Sizes(sys)
	var sides [2]Matrix
	for i, n := range sizes {
		sides[i] = Matrix{make([]uint32, 1, sys.NbConstraints+1), make([]uint32, 0, n), make([]uint32, 0, n)}
	}
	wires := len(sys.Public) + len(sys.Secret) + sys.NbInternalVariables
	rows := sys.GetR1CIterator()
	for row := rows.Next(); row != nil; row = rows.Next() {
		for i, terms := range [...]constraint.LinearExpression{row.L, row.R} {
			m := &sides[i]
			for _, t := range terms {
				if t.WireID() >= wires || t.CoeffID() >= len(coefficients) {
					return nil, fmt.Errorf("%w: constraint %d has wire %d of %d, or coefficient %d of %d", backend.ErrInvalidInput,
						m.Rows(), t.WireID(), wires, t.CoeffID(), len(coefficients))
				}
				m.Wire, m.Factor = append(m.Wire, uint32(t.WireID())), append(m.Factor, uint32(t.CoeffID()))
			}
			m.Start = append(m.Start, uint32(len(m.Wire)))
		}
	}
	if n := sides[0].Rows(); n != sys.NbConstraints {
		return nil, fmt.Errorf("%w: a system of %d constraints has %d", backend.ErrInvalidInput, sys.NbConstraints, n)
	}
	return New(fr, sides, coefficients), nil
}

// Sizes returns how many entries A and B of a rank-1 system have.
func Sizes(sys *constraint.System) (n [2]int) {
	rows := sys.GetR1CIterator()
	for row := rows.Next(); row != nil; row = rows.Next() {
		n[0] += len(row.L)
		n[1] += len(row.R)
	}
	return n
}

// Elements returns how many elements' memory matrices of some entries take on a backend, with so many factors.
func Elements[S comparable](f *vector.Field[S], entries [2]int, factors int) (n int) {
	for _, e := range entries {
		n += f.MatrixElements(e, factors)
	}
	return n
}

// Elements returns how many elements' memory the pair takes on a backend.
func (p *Pair[S]) Elements(f *vector.Field[S]) int {
	return Elements(f, [2]int{len(p.sides[0].Wire), len(p.sides[1].Wire)}, len(p.factors))
}

// Load writes the pair to a session's memory, by programs in the session beside. Each has one matrix: they take
// shared memory meanwhile.
func (p *Pair[S]) Load(ctx context.Context, s, beside *vector.Session[S]) (on [2]vector.Matrix[S], err error) {
	for i := range p.sides {
		on[i] = s.NewMatrix(len(p.sides[i].Wire), len(p.factors))
		program := beside.Program()
		program.WriteMatrix(on[i], p.entries(&p.sides[i]))
		if err := program.Run(ctx); err != nil {
			return on, err
		}
	}
	return on, nil
}

// entries returns a matrix for a backend.
func (p *Pair[S]) entries(m *Matrix) vector.Entries[S] {
	rows := make([]uint32, len(m.Wire))
	merge.Parallel(m.Rows(), func(lo, hi int) {
		for row := lo; row < hi; row++ {
			for i := m.Start[row]; i < m.Start[row+1]; i++ {
				rows[i] = uint32(row)
			}
		}
	})
	return vector.Entries[S]{Rows: rows, Columns: m.Wire, Factors: m.Factor, Values: p.factors}
}

// Products sets a, b and c to A w, B w and their products, until ctx ends. They have an element for each row, or more,
// which are zero then.
func (p *Pair[S]) Products(ctx context.Context, a, b, c, w []S) error {
	rows := p.sides[0].Rows()
	const part = 1 << 11
	return merge.Until(ctx, len(a), part, func(lo, hi int) {
		var zero S
		t := new(S)
		defer func() { *t = zero }()
		for row := lo; row < hi; row++ {
			if row >= rows {
				a[row], b[row], c[row] = zero, zero, zero
				continue
			}
			p.row(&a[row], t, &p.sides[0], row, w)
			p.row(&b[row], t, &p.sides[1], row, w)
			p.fr.Mul(&c[row], &a[row], &b[row])
		}
	})
}

// row sets sum to the product of a row and w. It overwrites t.
func (p *Pair[S]) row(sum, t *S, m *Matrix, row int, w []S) {
	var zero S
	*sum = zero
	for i := m.Start[row]; i < m.Start[row+1]; i++ {
		x := &w[m.Wire[i]]
		switch f := m.Factor[i]; f {
		case backend.FactorOne:
			p.fr.AddTo(sum, x)
		case backend.FactorMinusOne:
			p.fr.Subtract(sum, sum, x)
		default:
			p.fr.Mul(t, x, &p.factors[f-backend.FactorValue])
			p.fr.AddTo(sum, t)
		}
	}
}
