package assignment

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/consensys/gnark/constraint"
)

// TestDrawnSchedule holds the drawing at the head of schedule.go against the planner.
func TestDrawnSchedule(t *testing.T) {
	const a, b, c, d, e, f, g, h, i, j = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
	sys := new(constraint.System)
	sys.Secret, sys.NbInternalVariables = []string{"a", "b"}, 8
	sys.Levels = make([][]uint32, 192)
	add := func(level int, x, y, z uint32) {
		sys.Levels[level] = append(sys.Levels[level], uint32(len(sys.Instructions)))
		sys.Instructions = append(sys.Instructions, constraint.PackedInstruction{StartCallData: uint64(len(sys.CallData))})
		sys.CallData = append(sys.CallData, x, y, z)
	}
	add(0, a, b, c)
	add(0, b, b, d)
	add(1, c, c, e)
	add(1, d, d, f)
	add(2, c, e, b)
	add(2, e, e, g)
	add(100, g, g, h)
	add(160, h, h, i)
	add(160, f, f, j)
	add(161, i, j, a)

	p := planner{problem: problem{sys: sys, kinds: []kind{kindSparseMul}, inputs: 2, end: 192}}
	made := p.schedule()
	var got strings.Builder
	checks, awaited := 0, 0
	for n, s := range made.steps {
		fmt.Fprintf(&got, "%d: levels", n)
		for _, l := range s.levels {
			fmt.Fprintf(&got, " %d", l.list)
		}
		fmt.Fprintf(&got, ", released %d, awaited %d, checks %d\n", s.waiting, s.needs-awaited, made.checks[checks:s.checks])
		checks, awaited = s.checks, s.needs
	}
	const want = `0: levels [0] [2] [5], released [0 1], awaited 0, checks [4]
1: levels, released [], awaited 0, checks []
2: levels, released [], awaited 0, checks []
3: levels [6], released [], awaited 0, checks []
4: levels, released [], awaited 1, checks []
5: levels [7 8], released [], awaited 1, checks [9]
`
	if got.String() != want {
		t.Errorf("the schedule is\n%swant\n%s", &got, want)
	}
	if !slices.EqualFunc(made.waiting, [][]uint32{{1}, {3}}, slices.Equal) {
		t.Errorf("what waits is %d, want [[1] [3]]", made.waiting)
	}
	if len(made.parts) != 2 || made.parts[1].Reads != 1 || !slices.Equal(made.parts[0].Then, []int32{1}) {
		t.Errorf("the parts are %+v, want that the second begins when the first has ended", made.parts)
	}
}
