package backendutil_test

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendutil"
	"github.com/pippin-zk/pippin/fixtures"
)

// check is CheckSteps where there are the spaces 1 and 2 of BN254, with 64
// elements, 3 of BW6-761, 4 of BN254 with 2^29 that nothing holds, and the bases
// 1 of BN254 and 2 of BW6-761, 16 each.
func check(steps ...backend.Step) error {
	of := func(known map[int]backendutil.Loaded) func(int) (backendutil.Loaded, bool) {
		return func(id int) (backendutil.Loaded, bool) { l, ok := known[id]; return l, ok }
	}
	bases := of(map[int]backendutil.Loaded{
		1: {Curve: backend.BN254, Group: backend.G1, Count: 16}, 2: {Curve: backend.BW6761, Group: backend.G2, Count: 16},
	})
	spaces := of(map[int]backendutil.Loaded{
		1: {Curve: backend.BN254, Count: 64}, 2: {Curve: backend.BN254, Count: 64}, 3: {Curve: backend.BW6761, Count: 64},
		4: {Curve: backend.BN254, Count: 1 << 29},
	})
	return backendutil.CheckSteps(steps,
		func(id backend.BasesID) (backendutil.Loaded, bool) { return bases(int(id)) },
		func(id backend.SpaceID) (backendutil.Loaded, bool) { return spaces(int(id)) })
}

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
	two = fixtures.Scalar(backend.BN254, big.NewInt(2))
	// order is r itself, the least that is no element.
	order = fixtures.Raw(fixtures.Order(backend.BN254), 32)

	load     = backend.MapCode{Op: backend.MapLoad}
	second   = backend.MapCode{Op: backend.MapLoad, Arg: 1}
	constant = backend.MapCode{Op: backend.MapConst}
	again    = backend.MapCode{Op: backend.MapCopy}
	add      = backend.MapCode{Op: backend.MapAdd}
	negate   = backend.MapCode{Op: backend.MapNeg, Arg: 99} // without a meaning
)

func TestRightSteps(t *testing.T) {
	a, b, half := span(1, 0, 32), span(1, 32, 32), span(2, 16, 16)
	for _, s := range []backend.Step{
		backend.Write{Dst: span(1, 62, 2), Bytes: make([]byte, 64)},
		backend.Write{Dst: span(1, 64, 0)},
		backend.WriteIndices{Dst: span(1, 1, 3), Indices: make([]uint32, 17)},
		backend.Read{Src: span(3, 0, 64)},
		backend.Gather{Dst: span(1, 0, 9), Src: b, Index: span(2, 0, 2)},
		backend.Gather{Dst: span(1, 0, 9), Src: b, Index: span(1, 60, 2)}, // of no use, harmless
		backend.Transform{Dst: a, Src: a},
		backend.Transform{Dst: a, Src: a, Batch: 32, Inverse: true, To: backend.Reversed, Shift: two},
		backend.Transform{Dst: a, Src: b, Batch: 4, From: backend.Reversed},
		backend.Transform{Dst: a, Src: half, Batch: 4},
		backend.Transform{Dst: a, Src: span(2, 0, 1), Shift: two},
		backend.Transform{Dst: span(4, 0, 1<<28), Src: span(4, 1<<28, 1<<28)},
		backend.Map{Count: 32, Dst: at(a, 1, 0), Args: []backend.Operand{at(a, 1, 0), at(a, 33, -32)}, Code: []backend.MapCode{load, second, add}},
		backend.Map{Count: 7, Dst: at(a, 5, 9), Args: []backend.Operand{reversed(at(b, math.MinInt, math.MaxInt)), at(half, 0, 3)}, Code: []backend.MapCode{load}},
		backend.Map{Count: 8, Dst: at(a, 4, 1), Constants: two, Code: []backend.MapCode{constant, again, add}},
		backend.Map{Dst: at(span(1, 0, 0), 1, 1), Args: []backend.Operand{at(span(2, 0, 0), 1, 0)}, Code: []backend.MapCode{load, negate}},
		backend.Powers{Dst: a, First: two, Ratio: make([]byte, 32)},
		backend.Invert{Dst: a, Src: a},
		backend.Products{Dst: a, Src: b, Exclusive: true},
		backend.Evaluate{Src: []backend.Range{a, span(2, 3, 0)}, Point: two},
		backend.Evaluate{Src: []backend.Range{a, half}, Order: backend.Reversed, Point: two},
		backend.Divide{Dst: span(1, 0, 31), Src: a, Point: two},
		backend.Divide{Dst: span(1, 0, 0), Src: span(1, 0, 1), Point: two},
		backend.Commit{Bases: 1, Offset: 8, Src: span(1, 9, 8)},
		backend.Commit{Bases: 2, Offset: 16, Src: span(3, 64, 0)},
	} {
		if err := check(s); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
	if err := check(); err != nil {
		t.Errorf("no steps: %v", err)
	}
}

func TestWrongSteps(t *testing.T) {
	a, b, other := span(1, 0, 32), span(1, 32, 32), span(3, 0, 32)
	over := span(1, 31, 32) // overlaps both
	right := backend.Map{Count: 32, Dst: at(b, 1, 0), Args: []backend.Operand{at(a, 1, 0)}, Constants: two, Code: []backend.MapCode{load}}
	with := func(change func(*backend.Map)) backend.Map {
		m := right
		m.Args = slices.Clone(m.Args)
		change(&m)
		return m
	}
	code := func(ops ...backend.MapCode) backend.Map {
		return with(func(m *backend.Map) { m.Code = ops })
	}
	for _, s := range []backend.Step{
		nil,
		&backend.Read{Src: a},
		backend.Read{},
		backend.Read{Src: span(9, 0, 1)},
		backend.Read{Src: span(1, -1, 1)},
		backend.Read{Src: span(1, 0, -1)},
		backend.Read{Src: span(1, 0, 65)},
		backend.Read{Src: span(1, 65, 0)},
		backend.Read{Src: span(1, math.MaxInt, math.MaxInt)},
		backend.Read{Src: span(1, math.MinInt, math.MinInt)},
		backend.Read{Src: span(1, 1, math.MaxInt)},
		backend.Write{Dst: a, Bytes: make([]byte, 31*32)},
		backend.Write{Dst: a, Bytes: make([]byte, 32*32+1)},
		backend.Write{Dst: span(9, 0, 0)},
		backend.WriteIndices{Dst: span(1, 0, 2), Indices: make([]uint32, 17)},
		backend.WriteIndices{Dst: span(9, 0, 2), Indices: make([]uint32, 16)},
		backend.Gather{},
		backend.Gather{Dst: a, Src: b, Index: span(2, 0, 3)},
		backend.Gather{Dst: a, Src: over, Index: span(2, 0, 4)},
		backend.Gather{Dst: a, Src: a, Index: span(2, 0, 4)},
		backend.Gather{Dst: a, Src: b, Index: span(1, 31, 4)},
		backend.Gather{Dst: a, Src: b, Index: span(3, 0, 4)},
		backend.Gather{Dst: span(1, 0, math.MaxInt), Src: b, Index: span(2, 0, 4)},
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
		backend.Transform{Dst: a, Src: b, Shift: make([]byte, 32)},
		backend.Transform{Dst: a, Src: b, Shift: two[:31]},
		backend.Transform{Dst: a, Src: b, Shift: order},
		backend.Transform{Dst: a, Src: other},
		backend.Transform{Dst: span(4, 0, 1<<29), Src: span(4, 0, 1<<29)}, // BN254 ends at 2^28
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
		with(func(m *backend.Map) { m.Constants = two[:31] }),
		with(func(m *backend.Map) { m.Constants = slices.Concat(two, order) }),
		with(func(m *backend.Map) { m.Constants = make([]byte, 32*(backend.MapConstants+1)) }),
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
		backend.Commit{Src: a},
		backend.Commit{Bases: 9, Src: a},
		backend.Commit{Bases: 1, Src: span(1, 0, 17)},
		backend.Commit{Bases: 1, Offset: -1, Src: span(1, 0, 1)},
		backend.Commit{Bases: 1, Offset: math.MaxInt, Src: span(1, 0, 1)},
		backend.Commit{Bases: 1, Offset: 9, Src: span(1, 0, 8)},
		backend.Commit{Bases: 2, Src: span(1, 0, 8)},
	} {
		err := check(backend.Read{Src: b}, s)
		if !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "step 1 (") {
			t.Errorf("%+v: %v", s, err)
		}
		if check(s) == nil {
			t.Errorf("%+v as the first step: no error", s)
		}
	}
	if err := check(right); err != nil {
		t.Error(err)
	}
}

// TestFields compares the orders in backendutil with gnark-crypto's.
func TestFields(t *testing.T) {
	for _, c := range backend.Curves() {
		r := fixtures.Order(c)
		powers := func(first *big.Int) error {
			return backendutil.CheckSteps([]backend.Step{backend.Powers{
				Dst: span(1, 0, 1), First: fixtures.Raw(first, c.ScalarBytes()), Ratio: make([]byte, c.ScalarBytes()),
			}}, nil, func(backend.SpaceID) (backendutil.Loaded, bool) { return backendutil.Loaded{Curve: c, Count: 1}, true })
		}
		if err := powers(new(big.Int).Sub(r, big.NewInt(1))); err != nil {
			t.Errorf("%v: r-1: %v", c, err)
		}
		if err := powers(r); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%v: r: %v", c, err)
		}
		adicity := new(big.Int).Sub(r, big.NewInt(1)).TrailingZeroBits()
		transform := func(n int) error {
			s := span(1, 0, n)
			return backendutil.CheckSteps([]backend.Step{backend.Transform{Dst: s, Src: s}}, nil,
				func(backend.SpaceID) (backendutil.Loaded, bool) { return backendutil.Loaded{Curve: c, Count: n}, true })
		}
		if err := transform(1 << adicity); err != nil {
			t.Error(err)
		}
		if err := transform(2 << adicity); err == nil {
			t.Errorf("%v: a transform of 2^%d", c, adicity+1)
		}
	}
}

func TestSpaceBytes(t *testing.T) {
	if n, err := backendutil.SpaceBytes(backend.BW6761, 3); n != 144 || err != nil {
		t.Error(n, err)
	}
	for _, c := range []struct {
		curve backend.Curve
		count int
		want  error
	}{
		{0, 1, backend.ErrInvalidInput},
		{backend.BN254, -1, backend.ErrInvalidInput},
		{backend.BN254, math.MaxInt, backend.ErrOutOfMemory},
	} {
		if _, err := backendutil.SpaceBytes(c.curve, c.count); !errors.Is(err, c.want) {
			t.Errorf("%d of %v: %v", c.count, c.curve, err)
		}
	}
}
