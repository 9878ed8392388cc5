package randprog

import (
	"math"
	"math/big"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/fixtures"
)

func span(space backend.SpaceID, offset, count int) backend.Range {
	return backend.Range{Space: space, Offset: offset, Count: count}
}

func at(r backend.Range, stride, rotate int) backend.Operand {
	return backend.Operand{Range: r, Stride: stride, Rotate: rotate}
}

func reversed(o backend.Operand) backend.Operand {
	o.Order = backend.Reversed
	return o
}

var (
	load = backend.MapCode{Op: backend.MapLoad}
	add  = backend.MapCode{Op: backend.MapAdd}
)

// unknown is an id that no backend gets to.
const unknown = 1 << 40

// Wrong returns steps each of which is invalid input where there are these:
//
//	spaces 1, 2  64 scalars of the curve
//	space 3      64 scalars of another one
//	bases 1, 2   16 points of the curve, and of the other one
func Wrong(c backend.Curve) []backend.Step {
	size, index := c.ScalarBytes(), backend.IndexElements(c, 32)
	two, order := fixtures.Scalar(c, big.NewInt(2)), fixtures.Raw(fixtures.Order(c), size) // r is no element
	a, b, other := span(1, 0, 32), span(1, 32, 32), span(3, 0, 32)
	over := span(1, 31, 32) // overlaps both
	right := backend.Map{Count: 32, Dst: at(b, 1, 0), Args: []backend.Operand{at(a, 1, 0)}, Constants: two, Code: []backend.MapCode{load}}
	with := func(change func(*backend.Map)) backend.Map {
		m := right
		m.Args = slices.Clone(m.Args)
		change(&m)
		return m
	}
	sparse := func(change func(*backend.SparseProduct), dst, src backend.Range) backend.SparseProduct {
		table := span(2, 0, index)
		s := backend.SparseProduct{Dst: dst, Src: src, Entries: 32, Rows: table, Columns: table, Factors: table, Values: span(2, 0, 64)}
		change(&s)
		return s
	}
	code := func(ops ...backend.MapCode) backend.Map {
		return with(func(m *backend.Map) { m.Code = ops })
	}
	return []backend.Step{
		nil,
		&backend.Read{Src: a},
		backend.Read{},
		backend.Read{Src: span(unknown, 0, 1)},
		backend.Read{Src: span(1, -1, 1)},
		backend.Read{Src: span(1, 0, -1)},
		backend.Read{Src: span(1, 0, 65)},
		backend.Read{Src: span(1, 65, 0)},
		backend.Read{Src: span(1, math.MaxInt, math.MaxInt)},
		backend.Read{Src: span(1, math.MinInt, math.MinInt)},
		backend.Read{Src: span(1, 1, math.MaxInt)},
		backend.Write{Dst: a, Input: backend.Input{Bytes: make([]byte, 31*size)}},
		backend.Write{Dst: a, Input: backend.Input{Bytes: make([]byte, 32*size+1)}},
		backend.Write{Dst: span(unknown, 0, 0)},
		backend.WriteIndices{Dst: span(1, 0, index-1), Indices: make([]uint32, 32)},
		backend.WriteIndices{Dst: span(1, 0, index+1), Indices: make([]uint32, 32)},
		backend.WriteIndices{Dst: span(unknown, 0, index), Indices: make([]uint32, 32)},
		backend.Gather{},
		backend.Gather{Dst: a, Src: b, Index: span(2, 0, index-1)},
		backend.Gather{Dst: a, Src: over, Index: span(2, 0, index)},
		backend.Gather{Dst: a, Src: a, Index: span(2, 0, index)},
		backend.Gather{Dst: a, Src: b, Index: span(1, 31, index)},
		backend.Gather{Dst: a, Src: b, Index: span(3, 0, index)},
		backend.Gather{Dst: span(1, 0, math.MaxInt), Src: b, Index: span(2, 0, index)},
		backend.SparseProduct{},
		sparse(func(*backend.SparseProduct) {}, span(1, 0, 32), over),
		sparse(func(s *backend.SparseProduct) { s.Entries = -1 }, a, b),
		sparse(func(s *backend.SparseProduct) { s.Entries = 33 + size }, a, b),
		sparse(func(s *backend.SparseProduct) { s.Entries = math.MaxInt }, a, b),
		sparse(func(s *backend.SparseProduct) { s.Entries = 1 << 62 }, a, b),
		sparse(func(s *backend.SparseProduct) { s.Rows.Count++ }, a, b),
		sparse(func(s *backend.SparseProduct) { s.Columns.Count-- }, a, b),
		sparse(func(s *backend.SparseProduct) { s.Factors.Offset = 65 }, a, b),
		sparse(func(s *backend.SparseProduct) { s.Rows = span(1, 31, index) }, a, b),
		sparse(func(s *backend.SparseProduct) { s.Columns = span(1, 31, index) }, a, b),
		sparse(func(s *backend.SparseProduct) { s.Factors = span(unknown, 0, index) }, a, b),
		sparse(func(s *backend.SparseProduct) { s.Values = span(1, 31, 2) }, a, b),
		sparse(func(s *backend.SparseProduct) { s.Values = span(1, 64, 1) }, a, b),
		sparse(func(s *backend.SparseProduct) { s.Values.Space = 0 }, a, b),
		sparse(func(*backend.SparseProduct) {}, a, other),
		backend.Transform{},
		backend.Transform{Dst: a, Src: over},
		backend.Transform{Dst: a, Src: b, Batch: -1},
		backend.Transform{Dst: a, Src: b, Batch: math.MinInt},
		backend.Transform{Dst: a, Src: b, Batch: math.MaxInt},
		backend.Transform{Dst: a, Src: b, Batch: 3},
		backend.Transform{Dst: a, Src: b, Batch: 64},
		backend.Transform{Dst: span(1, 0, 24), Src: span(1, 24, 24)},
		backend.Transform{Dst: span(1, 0, 24), Src: span(1, 24, 24), Batch: 2},
		backend.Transform{Dst: span(1, 0, 0), Src: span(1, 0, 0)},
		backend.Transform{Dst: a, Src: b, From: backend.Reversed, To: backend.Reversed},
		backend.Transform{Dst: a, Src: b, From: 2},
		backend.Transform{Dst: a, Src: b, To: -1},
		backend.Transform{Dst: span(1, 0, 16), Src: b},
		backend.Transform{Dst: a, Src: span(1, 32, 16), Inverse: true},
		backend.Transform{Dst: a, Src: span(1, 32, 16), From: backend.Reversed},
		backend.Transform{Dst: a, Src: span(1, 32, 0)},
		backend.Transform{Dst: a, Src: span(1, 32, 17), Batch: 2},
		backend.Transform{Dst: a, Src: span(1, 0, 16)},
		backend.Transform{Dst: a, Src: b, Shift: make([]byte, size)},
		backend.Transform{Dst: a, Src: b, Shift: two[1:]},
		backend.Transform{Dst: a, Src: b, Shift: order},
		backend.Transform{Dst: a, Src: other},
		with(func(m *backend.Map) { m.Count = -1 }),
		with(func(m *backend.Map) { m.Count = 33 }),
		with(func(m *backend.Map) { m.Count = math.MaxInt }),
		with(func(m *backend.Map) { m.Dst.Stride = 0 }),
		with(func(m *backend.Map) { m.Dst.Stride = 6 }),
		with(func(m *backend.Map) { m.Dst.Stride = math.MinInt }),
		with(func(m *backend.Map) { m.Dst.Range = over }),
		with(func(m *backend.Map) { m.Dst.Range = other }),
		with(func(m *backend.Map) { m.Dst.Order = 2 }),
		with(func(m *backend.Map) { m.Dst.Offset = math.MaxInt }),
		with(func(m *backend.Map) { m.Args[0] = at(b, 1, 1) }),
		with(func(m *backend.Map) { m.Args[0] = reversed(at(b, 1, 0)) }),
		with(func(m *backend.Map) { m.Args[0] = at(span(1, 0, 0), 1, 0) }),
		with(func(m *backend.Map) { m.Args[0] = reversed(at(span(1, 0, 24), 1, 0)) }),
		with(func(m *backend.Map) { m.Args[0].Space = 9 }),
		with(func(m *backend.Map) { m.Args = make([]backend.Operand, backend.MapArgs+1) }),
		with(func(m *backend.Map) { m.Constants = two[1:] }),
		with(func(m *backend.Map) { m.Constants = slices.Concat(two, order) }),
		with(func(m *backend.Map) { m.Constants = make([]byte, size*(backend.MapConstants+1)) }),
		code(),
		code(add),
		code(load, add),
		code(load, load),
		code(backend.MapCode{Op: -1}),
		code(backend.MapCode{Op: backend.MapNeg + 1}),
		code(backend.MapCode{Op: backend.MapSquare}, load),
		code(backend.MapCode{Op: backend.MapLoad, Arg: 1}),
		code(backend.MapCode{Op: backend.MapLoad, Arg: math.MinInt}),
		code(backend.MapCode{Op: backend.MapConst, Arg: 1}),
		code(load, backend.MapCode{Op: backend.MapCopy, Arg: 1}, add),
		code(backend.MapCode{Op: backend.MapCopy}),
		code(load, load, load, load, load, load, load, load, load, add, add, add, add, add, add, add, add),
		code(slices.Concat([]backend.MapCode{load}, slices.Repeat([]backend.MapCode{load, add}, backend.MapCodes/2))...),
		backend.Powers{},
		backend.Powers{Dst: a, First: two},
		backend.Powers{Dst: a, First: order, Ratio: two},
		backend.Powers{Dst: a, First: two, Ratio: two[1:]},
		backend.Invert{Dst: a, Src: over},
		backend.Invert{Dst: a, Src: span(1, 32, 31)},
		backend.Products{Dst: a, Src: over},
		backend.Products{Dst: a, Src: span(1, 0, 31)},
		backend.Evaluate{Point: two},
		backend.Evaluate{Src: []backend.Range{a, other}, Point: two},
		backend.Evaluate{Src: []backend.Range{a}, Point: order},
		backend.Evaluate{Src: []backend.Range{a}, Order: 3, Point: two},
		backend.Evaluate{Src: []backend.Range{a, span(1, 0, 0)}, Order: backend.Reversed, Point: two},
		backend.Evaluate{Src: []backend.Range{a, span(1, 0, 31)}, Order: backend.Reversed, Point: two},
		backend.Divide{Dst: a, Src: b, Point: two},
		backend.Divide{Dst: span(1, 0, 0), Src: span(1, 0, 0), Point: two},
		backend.Divide{Dst: span(1, 1, 31), Src: a, Point: two},
		backend.Divide{Dst: span(1, 0, 31), Src: a},
		backend.Job{Count: a.Count, Src: a},
		backend.Job{Bases: unknown, Count: a.Count, Src: a},
		backend.Job{Bases: 1, Count: 17, Src: span(1, 0, 17)},
		backend.Job{Bases: 1, Offset: -1, Count: 1, Src: span(1, 0, 1)},
		backend.Job{Bases: 1, Offset: math.MaxInt, Count: 1, Src: span(1, 0, 1)},
		backend.Job{Bases: 1, Offset: 9, Count: 8, Src: span(1, 0, 8)},
		backend.Job{Bases: 2, Count: 8, Src: span(1, 0, 8)},
	}
}
