package plonk

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/proving"
)

// parts is a gnark proving key with its types as parameters. Slices are the key's
// own.
type parts[P, S any] struct {
	canonical, lagrange []P
	n, public           int
	root, shift         S
	columns             []P // commitments to S1 to S3, Ql, Qr, Qm, Qo, Qk, and those of commitments
	commitments         []uint64
}

// shape is what a proof needs to know of a constraint system.
type shape struct {
	public, constraints int
	info                constraint.PlonkCommitments
	variables           int
}

// shapeOf returns the shape of a sparse R1CS.
func shapeOf(ccs constraint.ConstraintSystem) (*shape, error) {
	if ccs == nil {
		return nil, fmt.Errorf("%w: no constraint system", backend.ErrInvalidInput)
	}
	c, ok := ccs.GetCommitments().(constraint.PlonkCommitments)
	if !ok {
		return nil, fmt.Errorf("%w: the constraint system is not a sparse R1CS: compile it with scs.NewBuilder", backend.ErrInvalidInput)
	}
	public := ccs.GetNbPublicVariables()
	return &shape{public, ccs.GetNbConstraints(), c, public + ccs.GetNbSecretVariables() + ccs.GetNbInternalVariables()}, nil
}

// committedRows returns the rows to whose values the i-th commitment is: those that its circuit says, and behind
// them one or two whose values hide theirs. No constraint reads those.
func (s *shape) committedRows(i int) []int {
	c := &s.info[i]
	rows := append(slices.Clone(c.Committed), c.CommitmentIndex)
	if last := s.constraints - 1; last != c.CommitmentIndex {
		rows = append(rows, last)
	}
	for k := range rows {
		rows[k] += s.public
	}
	return rows
}

// committed returns how many values all commitments are to at most, and zeros behind them.
func (s *shape) committed() (n int) {
	for _, c := range s.info {
		n += len(c.Committed) + 2 + 1
	}
	return n
}

// committedPlaces says for each of n rows which value of the i-th commitment stands there: of those of
// committedRows, or the one behind them.
func (s *shape) committedPlaces(i, n int) []uint32 {
	rows := s.committedRows(i)
	places := slices.Repeat([]uint32{uint32(len(rows))}, n)
	for k, row := range rows {
		places[row] = uint32(k)
	}
	return places
}

// used returns how many rows are not padding. The public values' rows come first.
func (s *shape) used() int { return s.public + s.constraints }

// rows returns how many rows there are with padding, a power of two.
func (s *shape) rows() int {
	n := 1
	for n < s.used() {
		n *= 2
	}
	return n
}

// check refuses a key that is not for the shape.
func (p *parts[P, S]) check(s *shape) error {
	n := s.rows()
	if err := proving.CheckCounts([]proving.Count{
		{What: "rows", Got: p.n, Want: n},
		{What: "public values", Got: p.public, Want: s.public},
		{What: "points in KzgLagrange", Got: len(p.lagrange), Want: n},
		{What: "commitments", Got: len(p.commitments), Want: len(s.info)},
		{What: "commitments to columns", Got: len(p.columns), Want: 8 + len(s.info)},
		{What: "points in Kzg", Got: len(p.canonical), Want: n + 3, OrMore: true},
	}...); err != nil {
		return err
	}
	for i, c := range s.info {
		if p.commitments[i] != uint64(c.CommitmentIndex) {
			return fmt.Errorf("%w: the key's commitment %d stands in another row: it is for another circuit", backend.ErrInvalidInput, i)
		}
		if slices.ContainsFunc(append(slices.Clone(c.Committed), c.CommitmentIndex),
			func(row int) bool { return row < 0 || row >= s.constraints }) {
			return fmt.Errorf("%w: commitment %d is of rows that the constraint system has not", backend.ErrInvalidInput, i)
		}
		seen := make([]bool, n)
		for _, row := range s.committedRows(i) {
			if seen[row] {
				return fmt.Errorf("%w: commitment %d is of a row twice", backend.ErrInvalidInput, i)
			}
			seen[row] = true
		}
	}
	return nil
}

// key is a proving key as proofs need it.
type key[P any, S comparable] struct {
	*curve[P, S]
	*domain[S]
	*shape
	columns     []P
	differences [3]P // between the powers n+i and i of the setup's secret
	bottom, top P    // its powers 0 and n+2
	padding     P    // the sum of the Lagrange points of rows that are not used
}

// newKey makes a key without the padding.
func newKey[P any, S comparable](c *curve[P, S], p *parts[P, S], s *shape) *key[P, S] {
	size := sizeOf(p.n, len(s.info))
	size.solved = s.variables + s.committed()
	k := &key[P, S]{
		curve:  c,
		domain: newDomain(c.fr, size, p.root, p.shift, p.shift),
		shape:  s, columns: p.columns,
		bottom: p.canonical[0], top: p.canonical[p.n+2],
	}
	for i := range k.differences {
		k.differences[i] = c.g1.Sum(group.Term[P]{Point: p.canonical[p.n+i]}, group.Term[P]{Point: p.canonical[i], K: big.NewInt(-1)})
	}
	return k
}

// plus returns p plus a secret multiple of q.
func (k *key[P, S]) plus(p, q P, factor *S) P {
	return k.sum([]group.Term[P]{{Point: p}, {Point: q, K: k.fr.Big(factor)}})
}

// hidden returns p plus the commitment to b (X^n - 1).
func (k *key[P, S]) hidden(p P, b []S) P {
	terms := []group.Term[P]{{Point: p}}
	for i := range b {
		terms = append(terms, group.Term[P]{Point: k.differences[i], K: k.fr.Big(&b[i])})
	}
	return k.sum(terms)
}

// sum adds up terms and wipes their factors.
func (k *key[P, S]) sum(terms []group.Term[P]) P {
	defer func() {
		for _, t := range terms {
			if t.K != nil {
				group.WipeInt(t.K)
			}
		}
	}()
	return k.g1.Sum(terms...)
}
