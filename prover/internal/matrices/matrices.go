// Package matrices has the matrices A and B of rank-1 constraints (A w)(B w) = C w, for Groth16's quotient: their
// products with the wires w are computed on a backend, or here. C w is the product of both, once w satisfies them.
package matrices

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/merge"
	"github.com/pippin-zk/pippin/prover/internal/resident"
	"github.com/pippin-zk/pippin/vector"
)

// Matrix is a sparse matrix by rows: row i has the entries Start[i] up to but not including Start[i+1].
type Matrix struct {
	Start []uint32
	Terms []uint32 // of each entry the number of its factor and its wire
}

// Rows returns how many rows a matrix has.
func (m *Matrix) Rows() int { return len(m.Start) - 1 }

// Entries returns how many entries a matrix has.
func (m *Matrix) Entries() int { return len(m.Terms) / 2 }

// row returns the terms of a row.
func (m *Matrix) row(i int) []uint32 { return m.Terms[2*m.Start[i] : 2*m.Start[i+1]] }

// Pair is A and B. Nearly all of their factors are 1 or -1, which need no product.
type Pair[S comparable] struct {
	fr      *group.Field[S]
	sides   [2]Matrix
	factors []S
	adder   func() func(values []S) (add func(sum *S, terms []uint32), wipe func())
}

// New returns the pair of two matrices over a field, with their factors, of which the first are gnark's constants.
func New[S comparable](fr *group.Field[S], c backend.Curve, by *assignment.Solver[S], sides [2]Matrix, factors []S) *Pair[S] {
	adder := sync.OnceValue(func() func([]S) (func(*S, []uint32), func()) { return by.Adder(c.ScalarField(), factors) })
	return &Pair[S]{fr, sides, factors, adder}
}

// Constants returns the factors that gnark's coefficients begin with, by their numbers.
func Constants[S comparable](fr *group.Field[S]) []S {
	one := fr.One()
	zero := fr.Minus(one, one)
	minusOne := fr.Minus(zero, one)
	const id1, id2 = constraint.CoeffIdOne, constraint.CoeffIdTwo
	const minus1, minus2 = constraint.CoeffIdMinusOne, constraint.CoeffIdMinusTwo
	all := make([]S, 1+max(constraint.CoeffIdZero, id1, id2, minus1, minus2))
	all[id1], all[id2] = one, fr.Minus(one, minusOne)
	all[minus1], all[minus2] = minusOne, fr.Minus(minusOne, one)
	return all
}

// Of returns the pair of a rank-1 system of gnark's, whose coefficients stay where they are, until ctx ends.
func Of[S comparable](ctx context.Context, fr *group.Field[S], c backend.Curve, by *assignment.Solver[S],
	sys *assignment.System[S]) (*Pair[S], error) {
	var sides [2]Matrix
	for i, n := range Sizes(sys.System) {
		sides[i] = Matrix{make([]uint32, 1, sys.NbConstraints+1), make([]uint32, 0, 2*n)}
	}
	wires := len(sys.Public) + len(sys.Secret) + sys.NbInternalVariables
	rows := sys.GetR1CIterator()
	for row := rows.Next(); row != nil; row = rows.Next() {
		if sides[0].Rows()%(1<<12) == 0 && ctx.Err() != nil {
			return nil, backend.Ended(ctx)
		}
		for i, terms := range [...]constraint.LinearExpression{row.L, row.R} {
			m := &sides[i]
			for _, t := range terms {
				if t.WireID() >= wires || t.CoeffID() >= len(sys.Coefficients) {
					return nil, fmt.Errorf("%w: constraint %d has wire %d of %d, or coefficient %d of %d", backend.ErrInvalidInput,
						m.Rows(), t.WireID(), wires, t.CoeffID(), len(sys.Coefficients))
				}
				m.Terms = append(m.Terms, uint32(t.CoeffID()), uint32(t.WireID()))
			}
			m.Start = append(m.Start, uint32(m.Entries()))
		}
	}
	if n := sides[0].Rows(); n != sys.NbConstraints {
		return nil, fmt.Errorf("%w: a system of %d constraints has %d", backend.ErrInvalidInput, sys.NbConstraints, n)
	}
	return New(fr, c, by, sides, sys.Coefficients), nil
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
	return Elements(f, [2]int{p.sides[0].Entries(), p.sides[1].Entries()}, len(p.factors))
}

// Load writes the pair and lists of indices to a new session beside another. Its programs run in the other session, so
// that Repeat sees their failures. Each has a matrix at most: they take shared memory meanwhile.
func (p *Pair[S]) Load(ctx context.Context, f *vector.Field[S], beside *vector.Session[S], lists ...[]uint32) (_ *vector.Session[S],
	x []vector.Indices[S], on [2]vector.Matrix[S], err error) {
	s, err := beside.Beside(ctx, resident.IndexElements(f, lists...)+p.Elements(f))
	if err != nil {
		return nil, nil, on, err
	}
	program := beside.Program()
	x = resident.WriteIndices(program, s, lists...)
	err = program.Run(ctx)
	numbers := p.numbers()
	for i := range p.sides {
		if err != nil {
			break
		}
		on[i] = s.NewMatrix(p.sides[i].Entries(), len(p.factors))
		program := beside.Program()
		program.WriteMatrix(on[i], p.entries(&p.sides[i], numbers))
		err = program.Run(ctx)
	}
	if err != nil {
		return nil, nil, on, errors.Join(err, s.Close())
	}
	return s, x, on, nil
}

// numbers returns the factors' numbers for backend.SparseProduct.
func (p *Pair[S]) numbers() []uint32 {
	constants := Constants(p.fr)
	numbers := make([]uint32, len(p.factors))
	for i, f := range p.factors {
		switch f {
		case constants[constraint.CoeffIdOne]:
			numbers[i] = backend.FactorOne
		case constants[constraint.CoeffIdMinusOne]:
			numbers[i] = backend.FactorMinusOne
		default:
			numbers[i] = backend.FactorValue + uint32(i)
		}
	}
	return numbers
}

// entries returns a matrix for a backend.
func (p *Pair[S]) entries(m *Matrix, numbers []uint32) vector.Entries[S] {
	n := m.Entries()
	e := vector.Entries[S]{Rows: make([]uint32, n), Columns: make([]uint32, n), Factors: make([]uint32, n), Values: p.factors}
	merge.Parallel(m.Rows(), func(lo, hi int) {
		for row := lo; row < hi; row++ {
			for i := m.Start[row]; i < m.Start[row+1]; i++ {
				e.Rows[i], e.Columns[i], e.Factors[i] = uint32(row), m.Terms[2*i+1], numbers[m.Terms[2*i]]
			}
		}
	})
	return e
}

// Products sets a, b and c to A w, B w and their products, until ctx ends. They have an element for each row, or more,
// which are zero then.
func (p *Pair[S]) Products(ctx context.Context, a, b, c, w []S) error {
	rows := p.sides[0].Rows()
	// Rows with hundreds of entries follow one another: so many parts for each processor share them.
	const least, shares = 64, 64
	part := max(least, len(a)/(shares*runtime.GOMAXPROCS(0)))
	by := p.adder()
	return merge.Until(ctx, len(a), part, func(lo, hi int) {
		add, wipe := by(w)
		defer wipe()
		for row := lo; row < min(hi, rows); row++ {
			add(&a[row], p.sides[0].row(row))
			add(&b[row], p.sides[1].row(row))
			p.fr.Mul(&c[row], &a[row], &b[row])
		}
		for _, v := range [][]S{a, b, c} {
			clear(v[max(lo, min(hi, rows)):hi])
		}
	})
}
