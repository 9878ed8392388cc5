package backend_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

// checkNumbers calls Check with three spaces: 1 has 256 words, 2 has 2^29 words that no memory
// holds, and 3 has scalars of BN254.
func checkNumbers(steps ...backend.Step) error {
	return backend.Check(steps, memory(nil, map[backend.SpaceID]backend.Elements{
		1: {Element: backend.Word(), Count: 256}, 2: {Element: backend.Word(), Count: 1 << 29},
		3: {Element: backend.ScalarOf(backend.BN254), Count: 64},
	}))
}

func batch(offset, words, count int) backend.Batch {
	return backend.Batch{Space: 1, Offset: offset, Words: words, Count: count}
}

func long(offset, words, count int) backend.Batch {
	return backend.Batch{Space: 2, Offset: offset, Words: words, Count: count}
}

func TestRightComputes(t *testing.T) {
	a, b, m, dst := batch(0, 4, 8), batch(32, 4, 8), batch(64, 4, 1), batch(96, 4, 8)
	for _, s := range []backend.Compute{
		{Op: backend.NumAdd, Dst: dst, A: a, B: b},
		{Op: backend.NumAdd, Dst: a, A: a, B: b, Carry: batch(200, 1, 8)},
		{Op: backend.NumSub, Dst: dst, A: batch(0, 4, 1), B: dst},
		{Op: backend.NumAdd, Dst: long(0, 1<<27, 1), A: long(1<<27, 1<<27, 1), B: long(1<<28, 1<<27, 1)},
		{Op: backend.NumCompare, Dst: batch(200, 1, 8), A: a, B: b},
		{Op: backend.NumMul, Dst: batch(96, 8, 8), A: a, B: b},
		{Op: backend.NumMul, Dst: batch(96, 7, 8), A: a, B: batch(200, 3, 1)},
		{Op: backend.NumMul, Dst: long(0, 1<<12, 1), A: long(1<<12, 1<<11, 1), B: long(1<<13, 1<<11, 1)},
		{Op: backend.NumSqr, Dst: batch(96, 8, 8), A: a},
		{Op: backend.NumResize, Dst: batch(96, 1, 8), A: a},
		{Op: backend.NumMulMod, Dst: dst, A: a, B: b, M: m},
		{Op: backend.NumReduce, Dst: dst, A: batch(0, 8, 8), M: m},
		{Op: backend.NumExpMod, Dst: dst, A: a, B: batch(32, 1, 1), M: batch(64, 4, 8)},
		{Op: backend.NumInvMod, Dst: a, A: a, M: m},
		{Op: backend.NumGFMul, Dst: dst, A: a, B: b, Degree: 128},
		{Op: backend.NumGFSqr, Dst: dst, A: a, Degree: 97},
		{Op: backend.NumSum, Dst: batch(200, 5, 1), A: a},
		{Op: backend.NumDot, Dst: batch(200, 9, 1), A: a, B: b},
		{Op: backend.NumDotMod, Dst: batch(200, 4, 1), A: a, B: b, M: m},
		{Op: backend.NumPowerSums, Dst: batch(200, 4, 3), A: a, M: m},
		{Op: backend.NumAdd, Dst: batch(96, 4, 0), A: batch(0, 4, 0), B: batch(32, 4, 1)},
	} {
		if err := checkNumbers(s, backend.Read{Src: s.Dst.Range()}); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

func TestWrongComputes(t *testing.T) {
	a, b, m, dst := batch(0, 4, 8), batch(32, 4, 8), batch(64, 4, 1), batch(96, 4, 8)
	for _, c := range []struct {
		s    backend.Step
		says string
	}{
		{backend.Compute{Dst: dst, A: a, B: b}, "there is no operation 0"},
		{backend.Compute{Op: backend.NumPowerSums + 1, Dst: dst, A: a, B: b}, "there is no operation"},
		{backend.Compute{Op: backend.NumAdd, Dst: dst, A: a}, "B: 0 words"},
		{backend.Compute{Op: backend.NumAdd, Dst: dst, A: a, B: batch(32, 3, 8)}, "4 words in Dst, 4 in A, 3 in B"},
		{backend.Compute{Op: backend.NumAdd, Dst: dst, A: a, B: batch(32, 4, 2)}, "2 in B"},
		{backend.Compute{Op: backend.NumAdd, Dst: dst, A: a, B: b, M: m}, "M is given"},
		{backend.Compute{Op: backend.NumMul, Dst: batch(96, 8, 8), A: a, B: b, Carry: batch(200, 1, 8)}, "Carry is given"},
		{backend.Compute{Op: backend.NumAdd, Dst: dst, A: a, B: b, Carry: batch(200, 2, 8)}, "in Carry, 8 times 2 words"},
		{backend.Compute{Op: backend.NumAdd, Dst: dst, A: a, B: b, Carry: batch(200, 1, 1)}, "in Carry, 1 times 1 words"},
		{backend.Compute{Op: backend.NumAdd, Dst: dst, A: a, B: b, Carry: batch(31, 1, 8)}, "Carry and A"},
		{backend.Compute{Op: backend.NumAdd, Dst: batch(1, 4, 8), A: a, B: batch(64, 4, 8)}, "Dst and A"},
		{backend.Compute{Op: backend.NumAdd, Dst: dst, A: dst, B: batch(96, 4, 1)}, "Dst and B"},
		{backend.Compute{Op: backend.NumMulMod, Dst: batch(64, 4, 1), A: batch(0, 4, 1), B: batch(32, 4, 1), M: m}, "Dst and M"},
		{backend.Compute{Op: backend.NumSum, Dst: batch(0, 4, 1), A: batch(0, 4, 1)}, "Dst and A"},
		{backend.Compute{Op: backend.NumMul, Dst: batch(96, 7, 8), A: a, B: b}, "the width of A and of B"},
		{backend.Compute{Op: backend.NumMul, Dst: long(0, 1<<12, 1), A: long(1<<12, 1<<11+1, 1), B: long(1<<13, 1<<11-1, 1)}, "A: 2049 words"},
		{backend.Compute{Op: backend.NumReduce, Dst: long(0, 1, 1), A: long(1<<12, 1<<12+1, 1), M: long(1<<13, 1, 1)}, "A: 4097 words"},
		{backend.Compute{Op: backend.NumAdd, Dst: batch(0, 4, 65), A: a, B: b}, "range of 260"},
		{backend.Compute{Op: backend.NumAdd, Dst: batch(0, 4, math.MaxInt), A: a, B: b}, "numbers"},
		{backend.Compute{Op: backend.NumAdd, Dst: batch(0, 4, -1), A: a, B: b}, "-1 numbers"},
		{backend.Compute{Op: backend.NumAdd, Dst: backend.Batch{Space: 3, Words: 4, Count: 1}, A: a, B: b}, "are scalars of bn254"},
		{backend.Compute{Op: backend.NumGFMul, Dst: dst, A: a, B: b}, "the Degree is 0"},
		{backend.Compute{Op: backend.NumGFMul, Dst: dst, A: a, B: b, Degree: 96}, "as many words"},
		{backend.Compute{Op: backend.NumAdd, Dst: dst, A: a, B: b, Degree: 96}, "where no field is"},
		{backend.Compute{Op: backend.NumDotMod, Dst: batch(200, 4, 1), A: a, B: b, M: batch(64, 4, 8)}, "8 in M"},
		{backend.Compute{Op: backend.NumDot, Dst: batch(200, 8, 1), A: a, B: batch(32, 4, 1)}, "8 in A, 1 in B"},
		{backend.Compute{Op: backend.NumPowerSums, Dst: batch(200, 4, 0), A: a, M: m}, "0 numbers in Dst"},
		{backend.Invert{Dst: span(1, 0, 1), Src: span(1, 0, 1)}, "are words"},
		{backend.Transform{Dst: span(1, 0, 1), Src: span(1, 0, 1)}, "are words"},
		{backend.Powers{Dst: span(1, 0, 1), First: two, Ratio: two}, "are words"},
		{backend.Write{Dst: span(1, 0, 3), Input: backend.Input{Bytes: make([]byte, 13)}}, "13 bytes"},
	} {
		err := checkNumbers(c.s)
		if !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "step 0") {
			t.Errorf("%T%+v:\n%v, want %q", c.s, c.s, err, c.says)
		}
	}
	for _, mixed := range [][]backend.Step{
		{backend.Read{Src: span(1, 0, 1)}, backend.Read{Src: span(3, 0, 1)}},
		{backend.Read{Src: span(3, 0, 1)}, backend.Compute{Op: backend.NumSqr, Dst: batch(96, 8, 8), A: a}},
	} {
		if err := checkNumbers(mixed...); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%v: %v", mixed, err)
		}
	}
}
