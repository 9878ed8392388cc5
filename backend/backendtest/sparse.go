package backendtest

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/randprog"
)

// matrix is a sparse matrix of a test: the tables of SparseProduct.
type matrix struct {
	height, width          int
	rows, columns, factors []uint32
}

// The matrices of the check have these sizes.
const sparseWidth, sparseValues = 70, 5

// matrices returns matrices with long, short and empty rows, by what they are.
func (s *subject) matrices() map[string]matrix {
	rng := rand.New(rand.NewPCG(s.seed, 24))
	of := func(height, entries int, row func(i int) int) matrix {
		m := matrix{height: height, width: sparseWidth}
		for i := range entries {
			m.rows = append(m.rows, uint32(row(i)))
			m.columns = append(m.columns, uint32(rng.IntN(sparseWidth)))
			m.factors = append(m.factors, uint32(rng.IntN(backend.FactorValue+sparseValues)))
		}
		slices.Sort(m.rows)
		return m
	}
	long := 20_000 // tiles of a card and parts of a processor
	if s.full {
		long = 100_000
	}
	all := map[string]matrix{
		"no row":                of(0, 0, nil),
		"no entry":              of(33, 0, nil),
		"one entry":             of(9, 1, func(int) int { return 8 }),
		"short rows":            of(s.some(), 3*s.some(), func(int) int { return rng.IntN(s.some()) }),
		"a row each":            of(1500, 1500, func(i int) int { return i }),
		"rows with gaps":        of(1500, 300, func(i int) int { return 5 * i }),
		"one long row":          of(1, long, func(int) int { return 0 }),
		"a long row":            of(50, long, func(i int) int { return max(0, min(49, i-long+45)) }),
		"a long row at the end": of(3000, 1000+long, func(i int) int { return min(2*i, 2001) }),
	}
	repeated := of(4, 200, func(i int) int { return i % 4 })
	for i := range repeated.columns {
		repeated.columns[i], repeated.factors[i] = 7, uint32(i%2) // 1 and -1 by turns
	}
	all["one column again and again"] = repeated
	return all
}

// program returns a program that computes a matrix's product with a vector. The factors in its table
// are 0, 1, -1, 2 and any other.
func (m *matrix) program(s *subject) *randprog.Program {
	n := backend.IndexElements(s.curve, len(m.rows))
	p := s.program(m.width+1, m.height+2, 3*n, sparseValues)
	copy(p.Spaces[3], s.numbers(big.NewInt(0), big.NewInt(1), big.NewInt(-1), big.NewInt(2)))
	tables := [3]backend.Range{span(3, 0, n), span(3, n, n), span(3, 2*n, n)}
	p.Steps = []backend.Step{
		backend.WriteIndices{Dst: tables[0], Indices: m.rows},
		backend.WriteIndices{Dst: tables[1], Indices: m.columns},
		backend.WriteIndices{Dst: tables[2], Indices: m.factors},
		backend.SparseProduct{Dst: span(2, 1, m.height), Src: span(1, 1, m.width), Entries: len(m.rows),
			Rows: tables[0], Columns: tables[1], Factors: tables[2], Values: span(4, 0, sparseValues)},
		backend.Read{Src: span(2, 1, m.height)},
	}
	return p
}

// sparseProducts compares products with the reference's, and has matrices refused that are none.
func sparseProducts(s *subject) error {
	all := s.matrices()
	for name, m := range all {
		if err := in(s.model(m.program(s)), name); err != nil {
			return err
		}
	}
	// Anywhere, and where a card or a processor begins another part.
	for _, wrong := range []struct {
		name string
		at   int
	}{{"a row each", 1497}, {"a row each", 1024}, {"a long row at the end", 1 << 13}} {
		m := all[wrong.name]
		if err := in(s.wrongEntries(&m, wrong.at), "%s, %d", wrong.name, wrong.at); err != nil {
			return err
		}
	}
	return s.vectorsAlive()
}

// wrongEntries has a matrix refused for each thing that can be wrong with an entry, of that index.
func (s *subject) wrongEntries(m *matrix, at int) error {
	for _, wrong := range []struct {
		what  string
		table func(*matrix) *[]uint32
		value uint32
	}{
		{"a row beyond the last", (*matrix).rowTable, uint32(m.height)},
		{"the highest row", (*matrix).rowTable, math.MaxUint32},
		{"a row below the one before", (*matrix).rowTable, m.rows[at-1] - 1},
		{"a column beyond the last", (*matrix).columnTable, uint32(m.width)},
		{"the highest column", (*matrix).columnTable, math.MaxUint32},
		{"a factor beyond the last", (*matrix).factorTable, backend.FactorValue + sparseValues},
		{"the highest factor", (*matrix).factorTable, math.MaxUint32},
	} {
		changed := *m
		table := wrong.table(&changed)
		*table = slices.Clone(*table)
		(*table)[at] = wrong.value
		p := changed.program(s)
		_, err := p.Run(s.ctx, s.b)
		if err := refused(err, backend.ErrInvalidInput); err != nil {
			return in(err, wrong.what)
		}
		for _, want := range []string{fmt.Sprintf("step %d (SparseProduct)", len(p.Spaces)+3), fmt.Sprintf("entry %d ", at)} {
			if !strings.Contains(err.Error(), want) {
				return fmt.Errorf("%s: %w: want %q in it", wrong.what, err, want)
			}
		}
	}
	return nil
}

func (m *matrix) rowTable() *[]uint32    { return &m.rows }
func (m *matrix) columnTable() *[]uint32 { return &m.columns }
func (m *matrix) factorTable() *[]uint32 { return &m.factors }
