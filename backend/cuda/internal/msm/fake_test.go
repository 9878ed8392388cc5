//go:build cuda && cgo && linux && (amd64 || arm64)

package msm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/cuda/driver/fakecuda"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

func TestMain(m *testing.M) {
	cudatest.WithKernels()
	os.Exit(m.Run())
}

// small is one MSM with all that is needed to compute it.
type small struct {
	bases   backend.Bases
	scalars []byte
	answer  []byte
}

func newSmall(t *testing.T, n int) small {
	t.Helper()
	c, g := backend.BN254, backend.G1
	p, err := fixtures.NewPoints(c, g, *seed)
	if err != nil {
		t.Fatal(err)
	}
	points, err := p.Bytes(n)
	if err != nil {
		t.Fatal(err)
	}
	scalars, err := fixtures.Scalars(c, fixtures.PlonkL, *seed, n)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := p.Expected(0, scalars)
	if err != nil {
		t.Fatal(err)
	}
	return small{backend.Bases{Curve: c, Group: g, Count: n, Bytes: points}, scalars, answer}
}

// compute loads, computes and frees.
func (s small) compute(t *testing.T, c *Computer) (err error) {
	t.Helper()
	bases, err := c.Load(t.Context(), &s.bases, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bases.Free()) }()
	got, err := c.Compute(t.Context(), one(bases, s.scalars))
	if err == nil && !bytes.Equal(got[0], s.answer) {
		err = errors.New("wrong answer")
	}
	return err
}

// h200 returns the tuning for an H200, which has a table.
func h200() msmplan.Tuning {
	t, err := msmplan.TuningFor("NVIDIA H200", "9.0", 132, nil)
	if err != nil {
		panic(err) // the program has the table
	}
	return t
}

// inputOf returns the input of a plan for an MSM of n points.
func inputOf(c backend.Curve, g backend.Group, n int, memory int64) msmplan.Input {
	return msmplan.Input{Curve: c, Group: g, Count: n, Memory: memory, Params: h200().Params(c, g, n)}
}

// leastMemory returns the least memory with which a plan is possible.
func leastMemory(in msmplan.Input) int64 {
	return int64(sort.Search(1<<30, func(memory int) bool {
		in.Memory = int64(memory)
		_, err := msmplan.New(in)
		return err == nil
	}))
}

// TestStreams gives memory for only a part of the points: they are cut into chunks, and the bases
// stay on the host.
func TestStreams(t *testing.T) {
	cudatest.OnFake(t)
	s := newSmall(t, 128)
	chunks := func(t *msmplan.Params) { t.Chunk = 32 }
	in := inputOf(backend.BN254, backend.G1, s.bases.Count, 0)
	chunks(&in.Params)
	// Enough for two chunks of the bases, but not for all of them.
	_, c := open(t, device.Options{Memory: leastMemory(in) + s.bases.Size()*3/4})
	c.tune = chunks
	bases, err := c.Load(t.Context(), &s.bases, 0)
	if err != nil {
		t.Fatal(err)
	}
	if bases.host == nil {
		t.Error("the bases are on the device")
	}
	// Two jobs, the second with the scalars of the first.
	jobs := one(bases, s.scalars)
	jobs = append(jobs, Job{Job: &backend.Job{Count: s.bases.Count, SameAs: 1}, Source: jobs[0].Source, Bases: bases})
	got, err := c.Compute(t.Context(), jobs)
	if err != nil || !bytes.Equal(got[0], s.answer) || !bytes.Equal(got[1], s.answer) {
		t.Errorf("wrong, or %v", err)
	}
	for _, p := range plansOf[c] {
		if !p.Stream || len(p.Chunks) < 2 {
			t.Errorf("a plan with stream %v and chunks %v", p.Stream, p.Chunks)
		}
	}
}

// TestSideBySide computes a batch of MSMs over the same bases as a few. The jobs are over two
// ranges of the bases, more of each than one batch may have. Two share scalars and stay alone. All
// this is done with and without multiples. A bad scalar is found in the job that has it.
func TestSideBySide(t *testing.T) {
	cudatest.OnFake(t)
	const n = 64
	p, err := fixtures.NewPoints(backend.BN254, backend.G1, *seed)
	if err != nil {
		t.Fatal(err)
	}
	points, err := p.Bytes(n)
	if err != nil {
		t.Fatal(err)
	}
	_, c := open(t, device.Options{})
	c.tune = func(t *msmplan.Params) { t.Together = 4 * n }
	for _, multiples := range []int{1, 4} {
		bases, err := c.Load(t.Context(), &backend.Bases{Curve: backend.BN254, Group: backend.G1, Count: n, Bytes: points}, multiples)
		if err != nil {
			t.Fatal(err)
		}
		var jobs []Job
		var want [][]byte
		add := func(offset int, scalars []byte, source *backend.Job) {
			j := &backend.Job{Offset: offset, Count: len(scalars) / bases.Curve.ScalarBytes(), Input: backend.Input{Bytes: scalars, Check: true}}
			if source == nil {
				source = j
			}
			answer, err := p.Expected(offset, scalars)
			if err != nil {
				t.Fatal(err)
			}
			jobs, want = append(jobs, Job{Job: j, Source: source, Bases: bases, Number: len(jobs)}), append(want, answer)
		}
		random := func(i, n int) []byte {
			s, err := fixtures.Scalars(backend.BN254, fixtures.Uniform, *seed+uint64(i), n)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		for i := range 6 {
			add(0, random(i, n), nil)
			add(n/4, random(100+i, n/2), nil)
		}
		add(0, random(7, n), nil)
		add(0, jobs[12].Bytes, jobs[12].Source)
		got, err := c.Compute(t.Context(), jobs)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("with %d multiples: job %d is wrong", multiples, i)
			}
		}
		sizes := make(map[int]bool)
		for _, in := range plansOf[c] {
			sizes[in.Together] = true
		}
		if !sizes[4] || !sizes[6] || !sizes[2] || !sizes[1] {
			t.Errorf("plans for %v MSMs: want 4 and the 2 that are left, 6 of the shorter ones, and 1", sizes)
		}

		bad := bytes.Repeat([]byte{0xff}, bases.Curve.ScalarBytes())
		copy(jobs[4].Bytes[5*len(bad):], bad)
		if _, err := c.Compute(t.Context(), jobs); !errors.Is(err, backend.ErrInvalidInput) ||
			!strings.Contains(err.Error(), "job 4: ") || !strings.Contains(err.Error(), "scalar 5 ") {
			t.Errorf("with scalar 5 of job 4 too large: %v", err)
		}
		if err := bases.Free(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOnCard: MSMs in another's turn, one plan after the other in the same memory, whose scalars are on the
// card already: two alone, three side by side whose scalars follow one another, and three whose scalars do not.
// The bases are on the card, and then on the host, from where they come in chunks. Then there is no memory for
// three side by side, and they are computed one after the other. With little memory three are computed in chunks.
func TestOnCard(t *testing.T) {
	cudatest.OnFake(t)
	s := newSmall(t, 128)
	chunks := func(t *msmplan.Params) { t.Chunk, t.Together = 32, 3*128 }
	in := inputOf(backend.BN254, backend.G1, s.bases.Count, 0)
	chunks(&in.Params)
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprintf("stream %v", stream), func(t *testing.T) {
			o := device.Options{}
			if stream {
				o.Memory = leastMemory(in) + s.bases.Size()*7/8 + 2*int64(len(s.scalars))
			}
			d, c := open(t, o)
			c.tune = chunks
			turn, err := d.Turn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			scalars, err := turn.Keep(3*int64(len(s.scalars)), func(int64) error { return nil })
			if err := errors.Join(err, turn.End()); err != nil {
				t.Fatal(err)
			}
			bases, err := c.Load(t.Context(), &s.bases, 0)
			if err != nil {
				t.Fatal(err)
			}
			if (bases.host != nil) != stream {
				t.Errorf("bases on the host: %v", bases.host != nil)
			}
			if turn, err = d.Turn(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := errors.Join(turn.End(), bases.Free(), scalars.Free()); err != nil {
					t.Error(err)
				}
			})
			// The second of three MSMs is of zeros.
			size, none := int64(len(s.scalars)), make([]byte, len(s.answer))
			part := func(k int64) driver.Span { return scalars.Span().Slice(k*size, size) }
			given := slices.Concat(s.scalars, make([]byte, size), s.scalars)
			if err := turn.Compute.Write(scalars.Span(), given); err != nil {
				t.Fatal(err)
			}
			var rounds []*OnCard
			var places []device.Region
			var want [][]byte
			work, results := int64(0), device.Layout{}
			available := turn.Available()
			plan := func(together int, answers [][]byte, spans ...driver.Span) {
				some, err := c.OnCard(bases, 0, spans, available)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range some {
					if stream {
						together = 1
					}
					if r.Count() != together {
						t.Errorf("%d MSMs side by side, want %d", r.Count(), together)
					}
					rounds, places = append(rounds, r), append(places, results.Take(r.Results()))
					work = max(work, r.Work())
				}
				want = append(want, answers...)
			}
			plan(1, [][]byte{s.answer}, part(0))
			plan(1, [][]byte{s.answer}, part(2))
			plan(3, [][]byte{s.answer, none, s.answer}, part(0), part(1), part(2))
			plan(3, [][]byte{none, s.answer, s.answer}, part(1), part(0), part(2))
			plan(1, [][]byte{s.answer}, part(0))
			if !stream { // in the least memory for three: in chunks
				three := []driver.Span{part(0), part(1), part(2)}
				available = int64(sort.Search(int(available), func(memory int) bool {
					some, err := c.OnCard(bases, 0, three, int64(memory))
					return err == nil && len(some) == 1
				}))
				plan(3, [][]byte{s.answer, none, s.answer}, three...)
				if n := len(rounds[len(rounds)-1].batches[0].plan.Chunks); n < 2 {
					t.Errorf("%d chunks", n)
				}
			}
			memory, err := turn.Work(work, work)
			if err != nil {
				t.Fatal(err)
			}
			pinned, err := turn.Results(results.Size)
			if err != nil {
				t.Fatal(err)
			}
			at := func(i int) driver.HostSpan { return pinned.Span().Slice(places[i].Off, places[i].Size) }
			for i, r := range rounds {
				// The last ends beside whatever would follow.
				if err := r.Queue(t.Context(), turn, memory.Slice(0, r.Work()), at(i), i == len(rounds)-1); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(turn.Compute.Synchronize(), turn.Beside.Synchronize()); err != nil {
				t.Fatal(err)
			}
			var got [][]byte
			for i, r := range rounds {
				points, err := r.Answers(at(i).Bytes())
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, points...)
			}
			for i := range want {
				if !bytes.Equal(got[i], want[i]) {
					t.Errorf("MSM %d is wrong", i)
				}
			}
		})
	}
}

// TestManyTiles sorts bins of several tiles. Runs of repeated scalars are cut into tasks.
func TestManyTiles(t *testing.T) {
	cudatest.OnFake(t)
	_, c := open(t, device.Options{})
	c.tune = func(t *msmplan.Params) { t.Window, t.Piece = 10, msmplan.LeastPiece }
	if err := newSmall(t, kernel.SortTile+3).compute(t, c); err != nil {
		t.Error(err)
	}
	for _, p := range plansOf[c] {
		if p.Sort.Shift == 0 || p.Sort.Bins < 2 || p.Sort.Tiles(p.Count) < 2 || p.LongestRun() < 8*p.Piece {
			t.Errorf("a plan with %+v and runs of up to %d in pieces of %d", p.Sort, p.LongestRun(), p.Piece)
		}
	}
}

// TestSecretsAreWiped: what an MSM leaves in pinned memory is overwritten before the next has its
// turn, and what it leaves on the card is overwritten once the card is idle, however the call
// ended.
func TestSecretsAreWiped(t *testing.T) {
	const invalidValue = "1"
	cudatest.OnFake(t)
	d, c := open(t, device.Options{})
	c.tune = func(t *msmplan.Params) { t.Chunk = 16 } // also in chunks
	s := newSmall(t, 64)
	bases, err := c.Load(t.Context(), &s.bases, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer bases.Free()
	for what, rules := range map[string]string{
		"an answer":                  "",
		"a kernel that is refused":   "cuLaunchKernel@9=" + invalidValue,
		"a download that is refused": "cuMemcpyDtoHAsync@1=" + invalidValue,
	} {
		cudatest.Fail(t, rules)
		_, err := c.Compute(t.Context(), one(bases, s.scalars))
		if (err == nil) != (rules == "") {
			t.Fatalf("%s: %v", what, err)
		}
		fakecuda.Reset()
		cudatest.Eventually(t, what+": nothing is left on an idle card", func() bool {
			turn, err := d.Turn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			results, err := turn.Results(1)
			if err != nil {
				t.Fatal(err)
			}
			if left := results.Bytes(); !bytes.Equal(left, make([]byte, len(left))) {
				t.Errorf("%s: something is left in pinned memory", what)
			}
			work, err := turn.Work(turn.Held(), 0)
			if err != nil {
				t.Fatal(err)
			}
			left := make([]byte, work.Size())
			if err := errors.Join(turn.Compute.Read(left, work), turn.End()); err != nil {
				t.Fatal(err)
			}
			return len(left) > 0 && bytes.Equal(left, make([]byte, len(left)))
		})
	}
}

// TestNoMemory: work memory that is refused fails one call and nothing else.
func TestNoMemory(t *testing.T) {
	const outOfMemory = "2"
	cudatest.OnFake(t)
	_, c := open(t, device.Options{})
	s := newSmall(t, 20)
	cudatest.Fail(t, "cuMemAlloc@2+="+outOfMemory)
	err := s.compute(t, c)
	if !errors.Is(err, backend.ErrOutOfMemory) || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("error %v", err)
	}
	fakecuda.Reset()
	if err := s.compute(t, c); err != nil {
		t.Errorf("after the memory ran out: %v", err)
	}
}

// TestBesideAnotherProgram: there is not enough memory for the best plan, but for another.
func TestBesideAnotherProgram(t *testing.T) {
	cudatest.OnFake(t)
	d, c := open(t, device.Options{})
	s := newSmall(t, 128)
	c.tune = func(t *msmplan.Params) { t.Chunk = 32 }
	in := inputOf(backend.BN254, backend.G1, s.bases.Count, d.Budget())
	c.tune(&in.Params)
	best, err := msmplan.New(in)
	if err != nil {
		t.Fatal(err)
	}
	free, _, err := d.Driver().MemInfo()
	if err != nil {
		t.Fatal(err)
	}
	other, err := d.Driver().Alloc(free - best.Need()*9/10 - s.bases.Size())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Free()
	if err := s.compute(t, c); err != nil {
		t.Error(err)
	}
	turn, err := d.Turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End()
	if turn.Held() >= best.Need() {
		t.Errorf("%d bytes of work memory, the best plan has %d", turn.Held(), best.Need())
	}
}

// TestExtremeTables: answers are right whatever a table says.
func TestExtremeTables(t *testing.T) {
	cudatest.OnFake(t)
	r := rand.New(rand.NewPCG(*seed, 1))
	s := newSmall(t, 200)
	_, c := open(t, device.Options{})
	for range 6 {
		costs := h200().Costs(s.bases.Curve, s.bases.Group, s.bases.Count)
		pick := func(values ...float64) float64 { return values[r.IntN(len(values))] }
		for _, v := range []*float64{&costs.Entry, &costs.Bucket, &costs.Reduce, &costs.Launch, &costs.Copy,
			&costs.Beside, &costs.Edwards, &costs.Pair, &costs.Invert} {
			*v = pick(0, *v, 10)
		}
		costs.Overlap, costs.Chunk, costs.PairTasks, costs.Piece = 1<<10<<r.IntN(18), 1<<10<<r.IntN(18), 1<<10<<r.IntN(16), 16<<r.IntN(6)
		costs.PairLevels, costs.FirstLevel, costs.Level, costs.Threads = 1+r.IntN(4), 1+r.IntN(6), 1+r.IntN(4), 32<<r.IntN(6)
		own := &msmplan.Table{Card: c.dev.Driver().Info().Name, Groups: []msmplan.Costs{costs}}
		if err := c.Tune(own); err != nil {
			t.Fatal(err)
		}
		forget(c)
		if err := s.compute(t, c); err != nil {
			t.Errorf("seed %d, %+v: %v", *seed, own.Groups, err)
		}
	}
	if err := c.Tune(&msmplan.Table{Card: "another"}); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("a table of another card: %v", err)
	}
}

// TestPlansAreReused: the amount of free memory changes from call to call. That alone makes no new
// plan.
func TestPlansAreReused(t *testing.T) {
	cudatest.OnFake(t)
	d, c := open(t, device.Options{})
	s := newSmall(t, 64)
	s.bases.Hints.Multiples = 1
	bases, err := c.Load(t.Context(), &s.bases, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer bases.Free()
	for range 3 {
		if _, err := c.Compute(t.Context(), one(bases, s.scalars)); err != nil {
			t.Fatal(err)
		}
		turn, err := d.Turn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		kept, err := turn.Keep(1<<20, func(int64) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		defer kept.Free()
		if err := turn.End(); err != nil {
			t.Fatal(err)
		}
	}
	if p := plansOf[c]; len(p) != 3 || p[1] != p[0] || p[2] != p[0] {
		t.Errorf("plans %p: want one, three times", p)
	}
}

// TestPlannedAhead: a call without a plan makes it before its turn, so that it does not hold up a
// call that computes.
func TestPlannedAhead(t *testing.T) {
	cudatest.OnFake(t)
	d, c := open(t, device.Options{})
	s := newSmall(t, 64)
	s.bases.Hints.Multiples = 1
	bases, err := c.Load(t.Context(), &s.bases, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer bases.Free()
	turn, err := d.Turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = c.Compute(ctx, one(bases, s.scalars))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a turn: %v", err)
	}
	if err := turn.End(); err != nil {
		t.Fatal(err)
	}
	if c.plans.Len() != 1 {
		t.Errorf("%d inputs were planned for", c.plans.Len())
	}
}
