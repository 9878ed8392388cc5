//go:build cuda && cgo && linux && (amd64 || arm64)

package cuda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/backend/cuda/internal/msm"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/cuda/driver/fakecuda"
)

// tiny splits every job that has at least two points.
var tiny = rules{fixed: 1, least: 1}

// loaded is bases of BN254 on a backend.
type loaded struct {
	*Backend
	points *fixtures.Points
	id     backend.BasesID
	count  int
}

// withBases loads bases in pieces that end anywhere.
func withBases(t testing.TB, b *Backend, count int) *loaded {
	t.Helper()
	p, err := fixtures.NewPoints(backend.BN254, backend.G1, *seed)
	if err != nil {
		t.Fatal(err)
	}
	all, err := p.Bytes(count)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(*seed, 1))
	id, err := b.LoadBases(t.Context(), backend.Bases{Curve: backend.BN254, Group: backend.G1, Count: count, Hints: backend.Hints{Check: true},
		Pieces: func(yield func([]byte, error) bool) {
			for left := all; len(left) > 0; {
				n := min(len(left), 1+r.IntN(len(all)))
				if !yield(bytes.Clone(left[:n]), nil) {
					return
				}
				left = left[n:]
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	return &loaded{b, p, id, count}
}

// check computes an MSM and compares it with discrete logarithms; with more, it also computes MSMs
// with the same and with other scalars.
func (l *loaded) check(ctx context.Context, t testing.TB, salt uint64, more bool) error {
	t.Helper()
	most := 0
	n := l.count - 3
	scalars := func(salt uint64, n int) []byte {
		s, err := fixtures.Scalars(backend.BN254, fixtures.Uniform, *seed+salt, n)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	jobs := []backend.Job{
		{Bases: l.id, Offset: 2, Count: n, Input: backend.Input{Bytes: scalars(salt, n), Check: true,
			Ready: func(_ context.Context, n int) error {
				if n < most {
					return fmt.Errorf("asked for %d after %d", n, most)
				}
				most = n
				return nil
			}}},
		{Bases: l.id, Count: 5, Input: backend.Input{Bytes: scalars(salt+1, 5)}},
		{Bases: l.id, Offset: 1, Count: n, SameAs: 1},
		{Bases: l.id},
	}
	if !more {
		jobs = jobs[:1]
	}
	got, err := l.MSM(ctx, jobs)
	if err != nil {
		return err
	}
	for i, j := range jobs {
		of := j.Bytes
		if j.SameAs > 0 {
			of = jobs[j.SameAs-1].Bytes
		}
		want, err := l.points.Expected(j.Offset, of)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got[i], want) {
			return fmt.Errorf("job %d is wrong, seed %d", i, *seed)
		}
	}
	return nil
}

// journal is a log whose messages tests wait for.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{}
}

func newJournal() *journal { return &journal{more: make(chan struct{}, 1)} }

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	select {
	case j.more <- struct{}{}:
	default:
	}
	return j.text.Write(b)
}

func (j *journal) log() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// count waits until the log has a message n times.
func (j *journal) count(t testing.TB, what string, n int) {
	t.Helper()
	limit := time.After(2 * time.Minute)
	for {
		j.mu.Lock()
		text := j.text.String()
		j.mu.Unlock()
		if strings.Count(text, what) >= n {
			return
		}
		select {
		case <-j.more:
		case <-limit:
			t.Fatalf("%q is not %d times in the log:\n%s", what, n, text)
		}
	}
}

const launchFails = "719" // ends a context

// noKernels is an environment variable that makes the fake driver run no kernels. On the host
// kernels take a second for each MSM.
const noKernels = "PIPPIN_NO_KERNELS"

// quickly runs a test in a separate process without kernels. It reports whether this is that
// process.
func quickly(t *testing.T) bool {
	t.Helper()
	if os.Getenv(noKernels) != "" {
		return true
	}
	cudatest.OnFake(t)
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", fmt.Sprintf("-seed=%d", *seed))
	cmd.Env = append(os.Environ(), noKernels+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	return false
}

// several opens cards of the fake driver without kernels. Everything works as usual, faults
// included, but the test process computes each card's answer from the bases in the card's memory.
func several(t testing.TB, o Options) *Backend {
	t.Helper()
	if err := driver.Init(); err != nil {
		t.Fatal(err)
	}
	fakecuda.Reset()
	here := cpu.New(cpu.Options{})
	t.Cleanup(func() { here.Close() })
	if o.tests == nil {
		o.tests = &hooks{rules: usual}
	}
	o.tests.compute = func(of *msm.Computer) func(context.Context, []msm.Job) ([][]byte, error) {
		return func(ctx context.Context, jobs []msm.Job) ([][]byte, error) {
			answers, err := of.Compute(ctx, jobs)
			if err != nil {
				return nil, err
			}
			for i, j := range jobs {
				var points []byte
				for p, err := range j.Bases.Pieces() {
					if err != nil {
						return nil, err
					}
					points = append(points, p...)
				}
				id, err := here.LoadBases(ctx, backend.Bases{Curve: j.Bases.Curve, Group: j.Bases.Group, Count: j.Bases.Count, Bytes: points})
				if err != nil {
					return nil, err
				}
				sum, err := here.MSM(ctx, []backend.Job{{Bases: id, Offset: j.Offset, Count: j.Count, Input: backend.Input{Bytes: j.Source.Bytes}}})
				if err := errors.Join(err, here.FreeBases(ctx, id)); err != nil {
					return nil, err
				}
				answers[i] = sum[0]
			}
			return answers, nil
		}
	}
	b, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// TestTwoCards shares MSMs between two cards, with kernels.
func TestTwoCards(t *testing.T) {
	b := fake(t, Options{Devices: "0-1", tests: &hooks{rules: tiny}})
	defer b.Close()
	l := withBases(t, b, 40)
	if err := l.check(t.Context(), t, 0, false); err != nil {
		t.Error(err)
	}
	bad := bytes.Repeat([]byte{0xff}, 40*32)
	copy(bad, make([]byte, 37*32))
	_, err := b.MSM(t.Context(), []backend.Job{{Bases: l.id, Count: 40, Input: backend.Input{Bytes: bad, Check: true}}})
	if !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "scalar 37 ") {
		t.Errorf("scalars 37 to 39 are not below r: %v", err)
	}
}

// TestCards shares MSMs between one to eight cards.
func TestCards(t *testing.T) {
	if !quickly(t) {
		return
	}
	for n := 1; n <= 8; n++ {
		b := several(t, Options{Devices: fmt.Sprintf("0-%d", n-1), tests: &hooks{rules: tiny}})
		if got := len(b.Info().Devices); got != n {
			t.Fatalf("%d devices, want %d", got, n)
		}
		l := withBases(t, b, 40)
		if err := l.check(t.Context(), t, uint64(n), true); err != nil {
			t.Errorf("%d cards: %v", n, err)
		}
		for _, s := range b.seats {
			if s.queued != 0 {
				t.Errorf("card %d has %v left to do", s.ordinal, s.queued)
			}
		}
		if err := b.FreeBases(t.Context(), l.id); err != nil {
			t.Error(err)
		}
	}
}

// TestLostCard loses cards in the middle of calls. The others answer. The lost ones come back with
// their bases, and answer when the others are lost.
func TestLostCard(t *testing.T) {
	if !quickly(t) {
		return
	}
	j := newJournal()
	b := several(t, Options{Devices: "0-2", tests: &hooks{rules: tiny, retry: time.Millisecond}, Log: j.log()})
	l := withBases(t, b, 30)
	for i, victims := range [][]int{{1}, {0, 2}} {
		var rules []string
		for _, v := range victims {
			rules = append(rules, fmt.Sprintf("cuLaunchKernel#%d@3=%s", v, launchFails))
		}
		cudatest.Fail(t, strings.Join(rules, ","))
		if err := l.check(t.Context(), t, uint64(i), true); err != nil {
			t.Fatalf("cards %v are lost: %v", victims, err)
		}
		if err := b.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		j.count(t, "is back", i+len(victims))
		if err := l.check(t.Context(), t, 10, true); err != nil {
			t.Fatalf("cards %v are back: %v", victims, err)
		}
	}
	if _, on := b.liveLocked(); len(on) != 3 {
		t.Errorf("%d cards are there", len(on))
	}
	cudatest.Fail(t, "cuLaunchKernel@1+="+launchFails+",cuDevicePrimaryCtxRetain@1+=100")
	if err := l.check(t.Context(), t, 0, true); !errors.Is(err, backend.ErrGone) {
		t.Errorf("all cards are lost: %v", err)
	}
	select {
	case <-b.Done():
	case <-time.After(time.Minute):
		t.Error("all cards are lost, and the backend not done")
	}
}

// TestLostWithWhatItHad: a lost card that alone had something ends the backend.
func TestLostWithWhatItHad(t *testing.T) {
	if !quickly(t) {
		return
	}
	b := several(t, Options{Devices: "0-1", tests: &hooks{rules: tiny}})
	l := withBases(t, b, 20)
	id, err := b.NewSpace(t.Context(), backend.ScalarOf(backend.BN254), 8)
	if err != nil {
		t.Fatal(err)
	}
	cudatest.Fail(t, "cuLaunchKernel#0@1="+launchFails)
	if err := l.check(t.Context(), t, 0, true); !errors.Is(err, backend.ErrGone) {
		t.Errorf("vectors are lost: %v", err)
	}
	if _, err := b.Run(t.Context(), []backend.Step{backend.Read{Src: backend.Range{Space: id, Count: 8}}}); !errors.Is(err, backend.ErrGone) {
		t.Errorf("a program with them: %v", err)
	}
}

// TestBasesInParts loads bases that fit no card alone. MSMs use them, and so do commitments, whose
// vectors are on another card than a part of the bases.
func TestBasesInParts(t *testing.T) {
	if !quickly(t) {
		return
	}
	b := several(t, Options{Devices: "0-2"})
	l := withBases(t, b, 60)
	// As if no card had room.
	_, on := b.liveLocked()
	all, err := l.points.Bytes(l.count)
	if err != nil {
		t.Fatal(err)
	}
	kept := func() *bases {
		for k := range b.bases {
			return k
		}
		return nil
	}()
	if err := kept.free(); err != nil {
		t.Fatal(err)
	}
	clear(kept.held)
	from := backend.Bases{Curve: backend.BN254, Group: backend.G1, Count: l.count, Pieces: func(yield func([]byte, error) bool) {
		_ = yield(all[:100], nil) && yield(all[100:2000], nil) && yield(all[2000:], nil)
	}}
	if err := kept.load(t.Context(), &from, on, splitByMemory(l.count, []int64{3, 2, 1})); err != nil {
		t.Fatal(err)
	}
	if !kept.on(on) || kept.on(on[:2]) {
		t.Error("bases are in three parts")
	}
	if err := l.check(t.Context(), t, 0, true); err != nil {
		t.Error(err)
	}
	scalars, err := fixtures.Scalars(backend.BN254, fixtures.Uniform, *seed, 50)
	if err != nil {
		t.Fatal(err)
	}
	id, err := b.NewSpace(t.Context(), backend.ScalarOf(backend.BN254), 50)
	if err != nil {
		t.Fatal(err)
	}
	vector := backend.Range{Space: id, Count: 50}
	got, err := b.Run(t.Context(), []backend.Step{
		backend.Write{Dst: vector, Input: backend.Input{Bytes: scalars}},
		backend.Job{Bases: l.id, Offset: 7, Count: vector.Count, Src: vector},
		backend.Job{Bases: l.id, Offset: 31, Count: backend.Range{Space: id, Count: 3}.Count, Src: backend.Range{Space: id, Count: 3}},
		backend.Write{Dst: vector, Input: backend.Input{Bytes: make([]byte, len(scalars))}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		offset int
		of     []byte
	}{1: {7, scalars}, 2: {31, scalars[:3*32]}} {
		if c.of == nil {
			continue
		}
		if want, err := l.points.Expected(c.offset, c.of); err != nil || !bytes.Equal(got[i], want) {
			t.Errorf("commitment %d is wrong, %v", i, err)
		}
	}
}

// TestBasesApart loads bases that fit every card, but in parts if that is quicker.
func TestBasesApart(t *testing.T) {
	if !quickly(t) {
		return
	}
	for _, c := range []struct {
		apart
		each int // of 60 bases, on each card
	}{
		{usualApart, 60},
		{apart{15, 0.5}, 15},
		{apart{16, 0.5}, 60},  // too few
		{apart{15, 1.04}, 60}, // a part would have no more multiples
	} {
		b := several(t, Options{Devices: "0-3", tests: &hooks{rules: tiny, apart: c.apart}})
		l := withBases(t, b, 60)
		for kept := range b.bases {
			for _, h := range kept.held {
				if h.count() != c.each {
					t.Errorf("%+v: a card has %d", c, h.count())
				}
			}
		}
		if err := l.check(t.Context(), t, 1, true); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestCallers runs many callers at the same time while cards are lost and come back.
func TestCallers(t *testing.T) {
	if !quickly(t) {
		return
	}
	j := newJournal()
	b := several(t, Options{Devices: "0-3", tests: &hooks{rules: tiny, retry: time.Millisecond}, Log: j.log()})
	l := withBases(t, b, 12)
	cudatest.Fail(t, strings.Join([]string{"cuLaunchKernel#1@300=719", "cuMemcpyHtoDAsync#2@15=700", "cuEventSynchronize#3@20=214"}, ","))
	var group sync.WaitGroup
	for caller := range 8 {
		group.Go(func() {
			for i := range 10 {
				if err := l.check(t.Context(), t, uint64(100*caller+i), true); err != nil {
					t.Errorf("caller %d: %v", caller, err)
				}
			}
		})
	}
	group.Wait()
	j.count(t, "was lost", 3)
	j.count(t, "is back", 3)
}
