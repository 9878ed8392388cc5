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
	"github.com/pippin-zk/pippin/internal/cases"
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
	for _, s := range slices.Concat(cases.Wrong(backend.BN254), []backend.Step{
		backend.Transform{Dst: span(4, 0, 1<<29), Src: span(4, 0, 1<<29)}, // BN254 ends at 2^28
	}) {
		err := check(backend.Read{Src: span(1, 0, 1)}, s)
		if !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "step 1 (") {
			t.Errorf("%+v: %v", s, err)
		}
		if check(s) == nil {
			t.Errorf("%+v as the first step: no error", s)
		}
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
		{99, 1, backend.ErrInvalidInput},
		{backend.BN254, -1, backend.ErrInvalidInput},
		{backend.BN254, math.MaxInt, backend.ErrOutOfMemory},
	} {
		if _, err := backendutil.SpaceBytes(c.curve, c.count); !errors.Is(err, c.want) {
			t.Errorf("%d of %v: %v", c.count, c.curve, err)
		}
	}
}
