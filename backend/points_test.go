package backend_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/randprog"
)

// ofPoints has three spaces: 1 of 16 points of BN254 G1, 2 of 16 scalars, and 3 of 16 points of G2.
// Its bases 1 are 8 points of G1.
var ofPoints = memory(map[backend.BasesID]backend.Elements{
	1: {Element: backend.PointOf(backend.BN254, backend.G1), Count: 8},
}, map[backend.SpaceID]backend.Elements{
	1: {Element: backend.PointOf(backend.BN254, backend.G1), Count: 16},
	2: {Element: backend.ScalarOf(backend.BN254), Count: 16},
	3: {Element: backend.PointOf(backend.BN254, backend.G2), Count: 16},
})

// rightPointSteps are steps that ofPoints allows, by the number of bytes of their answers.
var rightPointSteps = func() map[int][]backend.Step {
	a, b, scalars := span(1, 0, 8), span(1, 8, 8), span(2, 0, 8)
	in := func(n int) backend.Input { return backend.Input{Bytes: make([]byte, n)} }
	return map[int][]backend.Step{
		0: {
			backend.MultiplyPoints{Dst: a, Src: a, Scalars: scalars},
			backend.MultiplyPoints{Dst: a, Src: span(1, 8, 1), Scalars: span(2, 0, 2)},
			backend.MultiplyPoints{Dst: span(1, 0, 2), Src: b, Scalars: scalars, Terms: 4},
			backend.MultiplyPoints{Dst: a, Src: span(1, 8, 2), Scalars: span(2, 0, 16), Terms: 2},
			backend.MultiplyPoints{Dst: span(1, 0, 2), Src: b, Terms: 4},
			backend.MultiplyPoints{Dst: span(1, 0, 0), Src: span(1, 0, 0)},
			backend.AddPoints{Dst: a},
			backend.AddPoints{Dst: a, Plus: []backend.Range{a, b, span(1, 8, 1)}, Minus: []backend.Range{a, span(1, 9, 2)}},
			backend.Transform{Dst: a, Src: a, Shift: two},
			backend.Transform{Dst: a, Src: span(1, 8, 3)},
			backend.Write{Dst: a, Input: in(8 * 64)},
			backend.Write{Dst: a, Input: in(8 * 32), Encoding: backend.Compressed},
			backend.Write{Dst: span(3, 0, 2), Input: in(2 * 128), Encoding: backend.Uncompressed},
			backend.Job{Bases: 1, Count: 8, Src: scalars, Dst: span(1, 3, 1)},
		},
		8 * 64: {backend.Read{Src: a}, backend.Read{Src: a, Encoding: backend.Uncompressed}},
		8 * 32: {backend.Read{Src: a, Encoding: backend.Compressed}},
		16:     {backend.CheckPoints{Src: span(1, 0, 16), Subgroup: true}},
		64:     {backend.Job{Bases: 1, Count: 8, Src: scalars}},
	}
}()

func TestRightPointSteps(t *testing.T) {
	var all []backend.Step
	for size, steps := range rightPointSteps {
		for _, s := range steps {
			if err := backend.Check([]backend.Step{s}, ofPoints); err != nil {
				t.Errorf("%T%+v: %v", s, s, err)
			}
			if n := backend.AnswerBytes(s, ofPoints); n != size {
				t.Errorf("%T%+v: answers %d bytes, want %d", s, s, n, size)
			}
			renamed := backend.Renamed(s, func(id backend.SpaceID) backend.SpaceID { return id + 10 }, nil)
			for i, a := range backend.Accesses(renamed) {
				if a.Bases == 0 {
					a.Space -= 10
				}
				if a != backend.Accesses(s)[i] {
					t.Errorf("%T%+v: renamed, access %d is %+v", s, s, i, a)
				}
			}
		}
		all = append(all, steps...)
	}
	if err := backend.Check(all, ofPoints); err != nil { // scalars and both groups in one program
		t.Error(err)
	}
}

func TestWrongPointSteps(t *testing.T) {
	for _, s := range randprog.WrongPoints(backend.PointOf(backend.BN254, backend.G1)) {
		err := backend.Check([]backend.Step{backend.Read{Src: span(1, 0, 1)}, s}, ofPoints)
		if !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "step 1 (") {
			t.Errorf("%T%+v: %v", s, s, err)
		}
	}
}

// TestJobThatWrites: a job that writes its point is no batch for Backend.MSM.
func TestJobThatWrites(t *testing.T) {
	if _, ok := backend.Jobs([]backend.Step{backend.Job{Bases: 1, Count: 1,
		Input: backend.Input{Bytes: make([]byte, 32)}, Dst: span(1, 0, 1)}}); ok {
		t.Error("a job that writes to a space is part of a batch")
	}
}

func TestCheckedPoints(t *testing.T) {
	for _, c := range []struct{ bad, first, want int }{{0, 7, -1}, {1, 0, 0}, {3, 1 << 27, 1 << 27}} {
		if bad, first, err := backend.CheckedPoints(backend.CheckedAnswer(c.bad, c.first)); bad != c.bad || first != c.want || err != nil {
			t.Errorf("%+v: %d, %d, %v", c, bad, first, err)
		}
	}
	if _, _, err := backend.CheckedPoints(make([]byte, 8)); !errors.Is(err, backend.ErrInternal) {
		t.Error(err)
	}
}
