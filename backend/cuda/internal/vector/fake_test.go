//go:build cuda && cgo && linux && (amd64 || arm64)

package vector

import (
	"bytes"
	"errors"
	"math/big"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/backend/cuda/internal/msm"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/cuda/driver/fakecuda"
)

// secrets returns a program whose elements, constants and answers are secret.
func (k *card) secrets(x, y backend.Range) []backend.Step {
	all := func(r backend.Range) backend.Operand { return backend.Operand{Range: r, Stride: 1} }
	table := part(y, 0, backend.IndexElements(k.curve, 2000))
	return []backend.Step{
		backend.Write{Dst: x, Input: backend.Input{Bytes: k.bytes(k.some(x.Count)...)}},
		backend.Map{Count: x.Count, Dst: all(x), Args: []backend.Operand{all(x)}, Constants: k.bytes(k.any(), k.any()), Code: []backend.MapCode{
			{Op: backend.MapLoad}, {Op: backend.MapConst}, {Op: backend.MapConst, Arg: 1}, {Op: backend.MapAdd}, {Op: backend.MapMul},
		}},
		backend.WriteIndices{Dst: table, Indices: make([]uint32, 2000)}, // more than a tile, whose sums lie in scratch
		backend.SparseProduct{Dst: part(y, 1000, 10), Src: x, Entries: 2000, Rows: table, Columns: table, Factors: table},
		backend.Products{Dst: y, Src: x},
		backend.Read{Src: y},
		backend.Evaluate{Src: []backend.Range{x, y}, Point: k.bytes(k.any())},
	}
}

// workIsWiped reports whether the work memory is zero.
func (k *card) workIsWiped() bool {
	turn, err := k.dev.Turn(k.Context())
	k.must(err)
	work, err := turn.Work(turn.Held(), 0)
	k.must(err)
	left := make([]byte, work.Size())
	k.must(turn.Compute.Read(left, work))
	k.must(turn.End())
	return len(left) > 0 && bytes.Equal(left, make([]byte, len(left)))
}

// TestSecretsAreWiped: what a program leaves in pinned memory is overwritten before the next has
// its turn. What it leaves in work memory is overwritten once the card is idle, however the program
// ended. Spaces are overwritten before they are given back.
func TestSecretsAreWiped(t *testing.T) {
	const invalidValue = "1"
	cudatest.OnFake(t)
	unwiped := func() int64 { return fakecuda.Counter("unwiped_memory") + fakecuda.Counter("unwiped") }
	before := unwiped()
	k := open(t, backend.BN254, device.Options{})
	x, y := k.space(3000), k.space(3000)
	for what, rules := range map[string]string{
		"an answer":                  "",
		"a kernel that is refused":   "cuLaunchKernel@4=" + invalidValue,
		"a download that is refused": "cuMemcpyDtoHAsync@1=" + invalidValue,
	} {
		cudatest.Fail(t, rules)
		_, err := k.try(t.Context(), k.secrets(x, y)...)
		if (err == nil) != (rules == "") {
			t.Fatalf("%s: %v", what, err)
		}
		fakecuda.Reset()
		cudatest.Eventually(t, what+": nothing is left on an idle card", func() bool {
			turn, err := k.dev.Turn(t.Context())
			k.must(err)
			results, err := turn.Results(1)
			k.must(err)
			if left := results.Bytes(); !bytes.Equal(left, make([]byte, len(left))) {
				t.Errorf("%s: something is left in pinned memory", what)
			}
			k.must(turn.End())
			return k.workIsWiped()
		})
	}
	k.must(k.spaces[x.Space].Free())
	delete(k.spaces, x.Space)
	if n := unwiped() - before; n != 0 {
		t.Errorf("%d pieces of memory were given back as they were", n)
	}
}

// TestPointSecretsAreWiped: the digits and tables of products, which reveal the scalars, do not
// stay in work memory.
func TestPointSecretsAreWiped(t *testing.T) {
	cudatest.OnFake(t)
	k := open(t, backend.BN254, device.Options{})
	const n = 300 // enough for a fixed base to have a table
	scalars := k.space(n)
	s, err := k.NewSpace(t.Context(), backend.Elements{Element: backend.PointOf(backend.BN254, backend.G1), Count: n + 1})
	k.must(err)
	k.spaces[scalars.Space+1] = s
	base := backend.Range{Space: scalars.Space + 1, Count: 1}
	points := backend.Range{Space: base.Space, Offset: 1, Count: n}
	fixture, err := fixtures.NewPoints(backend.BN254, backend.G1, *seed)
	k.must(err)
	one, err := fixture.Bytes(1)
	k.must(err)
	answers := k.run(
		backend.Write{Dst: base, Input: backend.Input{Bytes: one}},
		backend.Write{Dst: scalars, Input: backend.Input{Bytes: k.bytes(k.some(n)...)}},
		backend.MultiplyPoints{Dst: points, Src: base, Scalars: scalars},
		backend.MultiplyPoints{Dst: points, Src: points, Scalars: scalars},
		backend.CheckPoints{Src: points, Subgroup: true},
		backend.Read{Src: part(points, n-1, 1), Encoding: backend.Compressed},
	)
	if bad, _, err := backend.CheckedPoints(answers[4]); err != nil || bad != 0 {
		t.Errorf("%d points are not valid, %v", bad, err)
	}
	cudatest.Eventually(t, "nothing is left on an idle card", k.workIsWiped)
}

// TestLostDevice: a program on a lost card says so, and so does the next one. Spaces can still be
// freed.
func TestLostDevice(t *testing.T) {
	const launchFailed = "719"
	cudatest.OnFake(t)
	k := open(t, backend.BN254, device.Options{})
	x, y := k.space(3000), k.space(3000)
	cudatest.Fail(t, "cuLaunchKernel@3="+launchFailed)
	for range 2 {
		if _, err := k.try(t.Context(), k.secrets(x, y)...); !errors.Is(err, backend.ErrGone) {
			t.Errorf("a program on a lost card: %v", err)
		}
	}
	if _, err := k.NewSpace(t.Context(),
		backend.Elements{Element: backend.ScalarOf(backend.BN254), Count: 10}); !errors.Is(err, backend.ErrGone) {
		t.Errorf("a space on a lost card: %v", err)
	}
}

// TestNoMemory: work memory that is refused fails one program and nothing else.
func TestNoMemory(t *testing.T) {
	const outOfMemory = "2"
	cudatest.OnFake(t)
	k := open(t, backend.BN254, device.Options{})
	x, y := k.space(3000), k.space(3000)
	cudatest.Fail(t, "cuMemAlloc@1+="+outOfMemory)
	if _, err := k.try(t.Context(), k.secrets(x, y)...); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("no work memory: %v", err)
	}
	if _, err := k.NewSpace(t.Context(),
		backend.Elements{Element: backend.ScalarOf(backend.BN254), Count: 1 << 20}); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("no memory for a space: %v", err)
	}
	fakecuda.Reset()
	if _, err := k.try(t.Context(), k.secrets(x, y)...); err != nil {
		t.Errorf("after the memory ran out: %v", err)
	}
}

// TestOneWait: a program of many steps with short answers waits for the card once, and copies its
// answers in one piece.
func TestOneWait(t *testing.T) {
	cudatest.OnFake(t)
	k := open(t, backend.BN254, device.Options{})
	x, y := k.space(2000), k.space(2000)
	one := k.bytes(big.NewInt(1))
	var steps []backend.Step
	for range 50 {
		steps = append(steps, backend.Powers{Dst: x, First: one, Ratio: k.bytes(k.any())}, backend.Products{Dst: y, Src: x},
			backend.Divide{Dst: part(y, 0, 1999), Src: y, Point: one}, backend.Evaluate{Src: []backend.Range{x, y}, Point: one}, backend.Read{
				Src: part(y, 0, 3),
			})
	}
	k.run(steps...) // takes the memory
	fakecuda.Reset()
	k.run(steps...)
	waits := fakecuda.Calls("cuStreamSynchronize") + fakecuda.Calls("cuEventSynchronize")
	if copies := fakecuda.Calls("cuMemcpyDtoHAsync"); waits != 1 || copies != 1 {
		t.Errorf("%d waits and %d copies from the card", waits, copies)
	}
}

// TestSameBasesAreOneMSM: the results of MSMs that follow one another over the same bases come back in one
// piece. Those of others come alone: over other bases, after another step, or where a point goes to a space.
// Scalars that are copied to lie one behind the other are overwritten.
func TestSameBasesAreOneMSM(t *testing.T) {
	cudatest.OnFake(t)
	const n = 40
	k := open(t, backend.BN254, device.Options{})
	p, err := fixtures.NewPoints(k.curve, backend.G1, *seed)
	k.must(err)
	points, err := p.Bytes(n)
	k.must(err)
	for id := backend.BasesID(1); id <= 2; id++ {
		k.bases[id], err = k.msm.Load(t.Context(), &backend.Bases{Curve: k.curve, Group: backend.G1, Count: n, Bytes: points}, 0)
		k.must(err)
	}
	x := k.space(3 * n)
	v := k.some(3 * n)
	space, err := k.NewSpace(t.Context(), backend.Elements{Element: backend.PointOf(k.curve, backend.G1), Count: 3})
	k.must(err)
	to := x.Space + 1
	k.spaces[to] = space
	k.run(backend.Write{Dst: x, Input: backend.Input{Bytes: k.bytes(v...)}})
	job := func(id backend.BasesID, i int) backend.Job {
		return backend.Job{Bases: id, Count: n, Src: part(x, i*n, n)}
	}
	writes := func(i int) backend.Job {
		j := job(1, i)
		j.Dst = backend.Range{Space: to, Offset: i, Count: 1}
		return j
	}
	less := job(1, 1)
	less.Count, less.Src.Count = n-1, n-1
	between := backend.Invert{Dst: part(x, 0, 1), Src: part(x, 0, 1)}
	for name, of := range map[string]struct {
		steps  []backend.Step
		copies int64 // of results
	}{
		"the same":           {[]backend.Step{job(1, 0), job(1, 1), job(1, 2)}, 1},
		"other bases":        {[]backend.Step{job(1, 0), job(2, 1), job(2, 2)}, 2},
		"fewer":              {[]backend.Step{job(1, 0), less, job(1, 2)}, 3},
		"a step between":     {[]backend.Step{job(1, 0), between, job(1, 1), job(1, 2)}, 2},
		"points in a space":  {[]backend.Step{writes(0), writes(1), job(1, 2)}, 3},
		"then into a space":  {[]backend.Step{job(1, 0), job(1, 1), writes(2)}, 2},
		"scalars of no card": {[]backend.Step{job(1, 0), backend.Job{Bases: 1, Count: n}, job(1, 2)}, 2},
	} {
		fakecuda.Reset()
		_, err := k.Run(t.Context(), of.steps, Used{
			Space: func(id backend.SpaceID) *Space { return k.spaces[id] },
			Bases: func(id backend.BasesID) *msm.Bases { return k.bases[id] },
		})
		k.must(err)
		if n := fakecuda.Calls("cuMemcpyDtoHAsync"); n != of.copies {
			t.Errorf("%s: results come in %d pieces, want %d", name, n, of.copies)
		}
	}
	k.run(job(1, 2), job(1, 0), job(1, 1))
	cudatest.Eventually(t, "nothing is left on an idle card", k.workIsWiped)
}
