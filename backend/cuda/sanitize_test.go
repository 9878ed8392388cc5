//go:build cuda

package cuda

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/fixtures"
	programs "github.com/pippin-zk/pippin/internal/randprog"
)

// TestEveryPhase launches every kernel of a group on little input: checked bases, one batch of
// skewed, ordinary and few scalars, more than one tile of the sort and an incomplete one, points
// that cancel and points at infinity. scripts/card runs it under tools that make kernels slow.
func TestEveryPhase(t *testing.T) {
	onGPU(t)
	b := open(t, Options{})
	defer b.Close()
	cudatest.EachGroup(t, *groups, func(t *testing.T, c backend.Curve, g backend.Group) {
		var jobs []backend.Job
		var want [][]byte
		for _, in := range []struct {
			set  fixtures.Set
			dist fixtures.Distribution
			n    int
		}{{fixtures.Random, fixtures.Witness, 8195}, {fixtures.Alternating, fixtures.Uniform, 1000}, {fixtures.Infinities, fixtures.PlonkL, 33}} {
			p, err := fixtures.New(fixtures.Key{Curve: c, Group: g, Set: in.set, Seed: *seed})
			if err != nil {
				t.Fatal(err)
			}
			points, err := p.Bytes(in.n + 1)
			if err != nil {
				t.Fatal(err)
			}
			id, err := b.LoadBases(t.Context(), backend.Bases{Curve: c, Group: g, Count: in.n + 1, Bytes: points, Hints: backend.Hints{Check: true}})
			if err != nil {
				t.Fatal(err)
			}
			scalars, err := fixtures.Scalars(c, in.dist, *seed, in.n)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := p.Expected(1, scalars)
			if err != nil {
				t.Fatal(err)
			}
			jobs, want = append(jobs, backend.Job{Bases: id, Offset: 1, Count: in.n, Input: backend.Input{Bytes: scalars}}), append(want, answer)
		}
		got, err := b.MSM(t.Context(), jobs)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("job %d, seed %d: wrong", i, *seed)
			}
		}
		for _, j := range jobs {
			if err := b.FreeBases(t.Context(), j.Bases); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestEveryStep launches every kernel for vectors on little input, in one program: two levels of
// scans and an incomplete tile, indices, transforms of all orders on a coset. It compares the
// answers with the backend cpu. scripts/card runs it too.
func TestEveryStep(t *testing.T) {
	names := *onCurves
	if cudatest.Slow() && !*full {
		names = backend.BN254.String() // on the fake driver -full runs all
	}
	b := open(t, Options{})
	defer b.Close()
	other := cpu.New(cpu.Options{})
	defer other.Close()
	host, _ := backend.As[backend.Programs](other)
	for c := range strings.SplitSeq(names, ",") {
		t.Run(c, func(t *testing.T) {
			curve, err := backend.ParseCurve(c)
			if err != nil {
				t.Fatal(err)
			}
			got, want := everyStep(t, b, curve), everyStep(t, host, curve)
			for i := range want {
				if !bytes.Equal(got[i], want[i]) {
					t.Errorf("step %d, seed %d: wrong", i, *seed)
				}
			}
		})
	}
}

// everyStep runs a program with steps of all kinds and returns its answers.
func everyStep(t *testing.T, v backend.Programs, c backend.Curve) [][]byte {
	t.Helper()
	const n = 1 << 12
	some, err := fixtures.Scalars(c, fixtures.Uniform, *seed, n)
	if err != nil {
		t.Fatal(err)
	}
	elements := func(i, n int) []byte { return some[i*c.ScalarBytes() : (i+n)*c.ScalarBytes()] }
	indices := make([]uint32, 3000)
	for i := range indices {
		indices[i] = uint32(i * 7919 % 3001)
	}
	sorted, signs := slices.Sorted(slices.Values(indices)), make([]uint32, len(indices))
	for i := range signs {
		signs[i] = uint32(i % 5) // of the three values, or 1 or -1
	}
	table := backend.IndexElements(c, len(indices))
	id, err := v.NewSpace(t.Context(), backend.ScalarOf(c), 4*n+table)
	if err != nil {
		t.Fatal(err)
	}
	defer v.FreeSpace(t.Context(), id)
	at := func(offset, n int) backend.Range { return backend.Range{Space: id, Offset: offset, Count: n} }
	x, y, z, w := at(0, n), at(n, n), at(2*n, n), at(3*n, n)
	all := func(r backend.Range) backend.Operand { return backend.Operand{Range: r, Stride: 1} }
	turned := backend.Operand{Range: y, Stride: 3, Rotate: 5, Order: backend.Reversed}
	steps := []backend.Step{
		backend.Write{Dst: x, Input: backend.Input{Bytes: elements(0, n), Check: true}},
		backend.Powers{Dst: y, First: elements(1, 1), Ratio: elements(2, 1)},
		backend.Map{Count: n, Dst: all(z), Args: []backend.Operand{all(x), turned, all(w)}, Constants: elements(3, 2), Code: []backend.MapCode{
			{Op: backend.MapLoad}, {Op: backend.MapLoad, Arg: 1}, {Op: backend.MapMul}, {Op: backend.MapConst, Arg: 1}, {Op: backend.MapConst},
			{Op: backend.MapCopy, Arg: 2}, {Op: backend.MapSquare}, {Op: backend.MapSub}, {Op: backend.MapMul},
			{Op: backend.MapAdd}, {Op: backend.MapNeg},
			{Op: backend.MapDouble}, {Op: backend.MapLoad, Arg: 2}, {Op: backend.MapSub},
		}},
		backend.Read{Src: z},
		backend.Invert{Dst: w, Src: z},
		backend.Products{Dst: at(n, 3000), Src: at(2*n, 3000)},
		backend.Products{Dst: at(0, 2500), Src: at(0, 2500), Exclusive: true},
		backend.Divide{Dst: at(2*n, 3000), Src: at(2*n, 3001), Point: elements(5, 1)},
		backend.Evaluate{Src: []backend.Range{x, y, at(0, 1)}, Point: elements(6, 1)},
		backend.Evaluate{Src: []backend.Range{w, z, at(0, 64)}, Point: elements(7, 1), Order: backend.Reversed},
		backend.Read{Src: at(0, 4*n)},
		backend.WriteIndices{Dst: at(4*n, table), Indices: indices},
		backend.Gather{Dst: at(0, 3000), Src: at(n, 3001), Index: at(4*n, table)},
		backend.WriteIndices{Dst: at(n, table), Indices: sorted},
		backend.WriteIndices{Dst: at(n+table, table), Indices: signs},
		backend.SparseProduct{Dst: at(0, 3001), Src: at(2*n, 3001), Entries: 3000, Rows: at(n, table), Columns: at(4*n, table),
			Factors: at(n+table, table), Values: at(3*n, 3)},
		backend.Transform{Dst: w, Src: x, To: backend.Reversed, Shift: elements(8, 1)},
		backend.Transform{Dst: x, Src: w, Inverse: true, From: backend.Reversed},
		backend.Transform{Dst: y, Src: at(3*n, n/2), Shift: elements(9, 1)},
		backend.Transform{Dst: z, Src: z, Inverse: true, Batch: 8},
		backend.Read{Src: at(0, 4*n)},
	}
	answers, err := v.Run(t.Context(), steps)
	if err != nil {
		t.Fatal(err)
	}
	return answers
}

// TestEveryOperation computes every operation on numbers, at the widths of every kernel and between
// them, and compares the answers with the backend cpu. scripts/card runs it too.
func TestEveryOperation(t *testing.T) {
	b := open(t, Options{})
	defer b.Close()
	other := cpu.New(cpu.Options{})
	defer other.Close()
	widths := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 32, 48, 64, 96, 128}
	if cudatest.Slow() && !*full {
		widths = []int{1, 2, 3, 5, 8, 16} // on the fake driver -full runs all
	}
	random := rand.New(rand.NewPCG(*seed, 3))
	for _, op := range backend.NumberOps() {
		for _, words := range widths {
			step := programs.Read(programs.Bytes(random, 1<<12)).Numbers()
			step.Step(op, words, 3)
			if err := step.Differ(t.Context(), b, other); err != nil {
				t.Errorf("%v of %d words, seed %d: %v", op, words, *seed, err)
			}
		}
	}
	// Several tiles of words.
	for _, op := range []backend.NumberOp{backend.NumAdd, backend.NumSub, backend.NumCompare, backend.NumResize, backend.NumSum} {
		step := programs.Read(programs.Bytes(random, 1<<12)).Numbers()
		step.Step(op, 2000, 9)
		step.Step(op, 9000, 2)
		if err := step.Differ(t.Context(), b, other); err != nil {
			t.Errorf("%v of several tiles, seed %d: %v", op, *seed, err)
		}
	}
}
