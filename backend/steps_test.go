package backend_test

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/randprog"
)

// memory finds ids in maps.
func memory(bases map[backend.BasesID]backend.Elements, spaces map[backend.SpaceID]backend.Elements) backend.Memory {
	return backend.Memory{
		Bases: func(id backend.BasesID) (backend.Elements, bool) { e, ok := bases[id]; return e, ok },
		Space: func(id backend.SpaceID) (backend.Elements, bool) { e, ok := spaces[id]; return e, ok },
	}
}

// known has the spaces 1 and 2 of BN254 with 64 elements, 3 of BW6-761 with 64, and 4 of BN254 with
// 2^29 that no memory holds. It has the bases 1 of BN254 and 2 of BW6-761, 16 each.
var known = memory(map[backend.BasesID]backend.Elements{
	1: {Element: backend.PointOf(backend.BN254, backend.G1), Count: 16},
	2: {Element: backend.PointOf(backend.BW6761, backend.G2), Count: 16},
}, map[backend.SpaceID]backend.Elements{
	1: {Element: backend.ScalarOf(backend.BN254), Count: 64}, 2: {Element: backend.ScalarOf(backend.BN254), Count: 64},
	3: {Element: backend.ScalarOf(backend.BW6761), Count: 64}, 4: {Element: backend.ScalarOf(backend.BN254), Count: 1 << 29},
})

func check(steps ...backend.Step) error { return backend.Check(steps, known) }

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
	negate   = backend.MapCode{Op: backend.MapNeg, Arg: 99} // the argument means nothing
)

// rightSteps are steps that known allows.
var rightSteps = func() []backend.Step {
	a, b, half := span(1, 0, 32), span(1, 32, 32), span(2, 16, 16)
	return []backend.Step{
		backend.Write{Dst: span(1, 62, 2), Input: backend.Input{Bytes: make([]byte, 64)}},
		backend.Write{Dst: span(1, 64, 0)},
		backend.WriteIndices{Dst: span(1, 1, 3), Indices: make([]uint32, 17)},
		backend.Read{Src: span(3, 0, 64)},
		backend.Gather{Dst: span(1, 0, 9), Src: b, Index: span(2, 0, 2)},
		backend.Gather{Dst: span(1, 0, 9), Src: b, Index: span(1, 60, 2)}, // useless but harmless
		backend.SparseProduct{Dst: a, Src: b, Entries: 9, Rows: span(2, 0, 2), Columns: span(2, 2, 2), Factors: span(2, 4, 2), Values: half},
		backend.SparseProduct{Dst: a, Src: b, Entries: 9, Rows: span(2, 0, 2), Columns: span(2, 0, 2), Factors: span(2, 0, 2)},
		backend.SparseProduct{Dst: span(1, 0, 0), Src: span(1, 0, 0), Rows: span(1, 0, 0), Columns: span(1, 0, 0), Factors: span(1, 0, 0)},
		backend.Transform{Dst: a, Src: a},
		backend.Transform{Dst: a, Src: a, Batch: 32, Inverse: true, To: backend.Reversed, Shift: two},
		backend.Transform{Dst: a, Src: b, Batch: 4, From: backend.Reversed},
		backend.Transform{Dst: a, Src: half, Batch: 4},
		backend.Transform{Dst: a, Src: span(2, 0, 1), Shift: two},
		backend.Transform{Dst: span(4, 0, 1<<28), Src: span(4, 1<<28, 1<<28)},
		backend.Map{Count: 32, Dst: at(a, 1, 0), Args: []backend.Operand{at(a, 1, 0), at(a, 33, -32)},
			Code: []backend.MapCode{load, second, add}},
		backend.Map{Count: 7, Dst: at(a, 5, 9), Args: []backend.Operand{reversed(at(b, math.MinInt, math.MaxInt)), at(half, 0, 3)},
			Code: []backend.MapCode{load}},
		backend.Map{Count: 8, Dst: at(a, 4, 1), Constants: two, Code: []backend.MapCode{constant, again, add}},
		backend.Map{Dst: at(span(1, 0, 0), 1, 1), Args: []backend.Operand{at(span(2, 0, 0), 1, 0)}, Code: []backend.MapCode{load, negate}},
		backend.Powers{Dst: a, First: two, Ratio: make([]byte, 32)},
		backend.Invert{Dst: a, Src: a},
		backend.Products{Dst: a, Src: b, Exclusive: true},
		backend.Evaluate{Src: []backend.Range{a, span(2, 3, 0)}, Point: two},
		backend.Evaluate{Src: []backend.Range{a, half}, Order: backend.Reversed, Point: two},
		backend.Divide{Dst: span(1, 0, 31), Src: a, Point: two},
		backend.Divide{Dst: span(1, 0, 0), Src: span(1, 0, 1), Point: two},
		backend.Job{Bases: 1, Offset: 8, Count: 8, Src: span(1, 9, 8)},
		backend.Job{Bases: 2, Offset: 16, Src: span(3, 64, 0)},
	}
}()

func TestRightSteps(t *testing.T) {
	for _, s := range rightSteps {
		if err := check(s); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
	if err := check(); err != nil {
		t.Errorf("no steps: %v", err)
	}
}

func TestWrongSteps(t *testing.T) {
	for _, s := range slices.Concat(randprog.Wrong(backend.BN254), []backend.Step{
		backend.Transform{Dst: span(4, 0, 1<<29), Src: span(4, 0, 1<<29)}, // for BN254 the longest has 2^28 elements
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

// TestFields: sizes of elements and lengths of transforms are bounded as each field has it.
func TestFields(t *testing.T) {
	for _, c := range backend.Curves() {
		r := fixtures.Order(c)
		with := func(count int, s backend.Step) error {
			return backend.Check([]backend.Step{s},
				memory(nil, map[backend.SpaceID]backend.Elements{1: {Element: backend.ScalarOf(c), Count: count}}))
		}
		powers := func(first *big.Int) error {
			return with(1, backend.Powers{Dst: span(1, 0, 1), First: fixtures.Raw(first, c.ScalarBytes()), Ratio: make([]byte, c.ScalarBytes())})
		}
		if err := powers(new(big.Int).Sub(r, big.NewInt(1))); err != nil {
			t.Errorf("%v: r-1: %v", c, err)
		}
		if err := powers(r); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%v: r: %v", c, err)
		}
		adicity := new(big.Int).Sub(r, big.NewInt(1)).TrailingZeroBits()
		transform := func(n int) error { return with(n, backend.Transform{Dst: span(1, 0, n), Src: span(1, 0, n)}) }
		if err := transform(1 << adicity); err != nil {
			t.Error(err)
		}
		if err := transform(2 << adicity); err == nil {
			t.Errorf("%v: a transform of 2^%d", c, adicity+1)
		}
	}
}

func TestElements(t *testing.T) {
	for _, c := range []struct {
		e     backend.Element
		bytes int
		text  string
	}{
		{backend.ScalarOf(backend.BW6761), 48, "scalars of bw6-761"},
		{backend.Word(), 4, "words"},
		{backend.PointOf(backend.BLS12381, backend.G2), 192, "points of bls12-381 g2"},
	} {
		if !c.e.Valid() || c.e.Bytes() != c.bytes || c.e.String() != c.text {
			t.Errorf("%v: valid %v, %d bytes", c.e, c.e.Valid(), c.e.Bytes())
		}
		if n, err := (backend.Elements{Element: c.e, Count: 3}).Size(); n != int64(3*c.bytes) || err != nil {
			t.Errorf("3 %v: %d bytes, %v", c.e, n, err)
		}
	}
	for _, c := range []struct {
		of   backend.Elements
		want error
	}{
		{backend.Elements{Count: 1}, backend.ErrInvalidInput},
		{backend.Elements{Element: backend.Element{Kind: 99}, Count: 1}, backend.ErrInvalidInput},
		{backend.Elements{Element: backend.ScalarOf(99), Count: 1}, backend.ErrInvalidInput},
		{backend.Elements{Element: backend.Element{Kind: backend.Scalars}, Count: 1}, backend.ErrInvalidInput},
		{backend.Elements{Element: backend.PointOf(backend.BN254, 0), Count: 1}, backend.ErrInvalidInput},
		{backend.Elements{Element: backend.Element{Kind: backend.Scalars, Curve: backend.BN254, Group: backend.G1}, Count: 1},
			backend.ErrInvalidInput},
		{backend.Elements{Element: backend.Element{Kind: backend.Words, Curve: backend.BN254}, Count: 1}, backend.ErrInvalidInput},
		{backend.Elements{Element: backend.ScalarOf(backend.BN254), Count: -1}, backend.ErrInvalidInput},
		{backend.Elements{Element: backend.ScalarOf(backend.BN254), Count: math.MaxInt}, backend.ErrOutOfMemory},
	} {
		if _, err := c.of.Size(); !errors.Is(err, c.want) {
			t.Errorf("%d %v: %v, want %v", c.of.Count, c.of.Element, err, c.want)
		}
	}
}

// TestJobs: jobs are steps, whose scalars are given, shared or in a space. Those of several curves
// make one program.
func TestJobs(t *testing.T) {
	k := backend.Input{Bytes: make([]byte, 8*32)}
	job := func(count int, in backend.Input, sameAs int, src backend.Range) backend.Job {
		return backend.Job{Bases: 1, Offset: 8, Count: count, Input: in, SameAs: sameAs, Src: src}
	}
	none := backend.Range{}
	other := backend.Job{Bases: 2, Count: 1, Input: backend.Input{Bytes: make([]byte, 48)}}
	right := []backend.Step{job(8, k, 0, none), job(8, backend.Input{Check: true}, 1, none), other,
		job(8, backend.Input{}, 0, span(1, 0, 8)), job(0, backend.Input{}, 0, none)}
	if err := check(right...); err != nil {
		t.Error(err)
	}
	for i, s := range []backend.Job{
		job(7, k, 0, none), job(9, k, 0, none), job(8, k, 1, none), job(7, backend.Input{}, 1, none), job(8, backend.Input{}, 2, none),
		job(8, backend.Input{}, 3, none), job(8, backend.Input{}, 5, none), job(8, backend.Input{}, 6, none),
		job(8, backend.Input{}, 7, none), job(8, backend.Input{}, -1, none),
		job(8, k, 0, span(1, 0, 8)), job(8, backend.Input{}, 1, span(1, 0, 8)), job(8, backend.Input{}, 0, span(1, 0, 7)),
		job(8, backend.Input{}, 0, span(3, 0, 8)), job(8, backend.Input{}, 0, span(0, 0, 8)), {Bases: 2, SameAs: 1, Count: 8},
	} {
		if err := check(append(slices.Clone(right), s)...); !errors.Is(err, backend.ErrInvalidInput) ||
			!strings.Contains(err.Error(), "step 5 (Job)") {
			t.Errorf("job %d: %v", i, err)
		}
	}
	if jobs, ok := backend.Jobs(backend.Steps([]backend.Job{other, other})); !ok || len(jobs) != 2 {
		t.Error("jobs are no batch")
	}
	if _, ok := backend.Jobs(right); ok {
		t.Error("a job over a space is part of a batch")
	}
}

// TestRenamed: the returned step has the other ids everywhere, and the original is unchanged.
func TestRenamed(t *testing.T) {
	for _, s := range rightSteps {
		before := backend.Accesses(s)
		renamed := backend.Renamed(s, func(id backend.SpaceID) backend.SpaceID { return id + 10 },
			func(id backend.BasesID) backend.BasesID { return id + 20 })
		for i, a := range backend.Accesses(renamed) {
			if a.Bases != 0 {
				a.Bases -= 20
			} else {
				a.Space -= 10
			}
			if a != before[i] {
				t.Errorf("%+v: access %d is %+v, was %+v", s, i, a, before[i])
			}
		}
		if !slices.Equal(backend.Accesses(s), before) {
			t.Errorf("%+v was changed itself", s)
		}
	}
}
