//go:build cuda && cgo && linux && (amd64 || arm64)

package cuda

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendtest"
	"github.com/pippin-zk/pippin/backend/cuda/driver/fakecuda"
	"github.com/pippin-zk/pippin/fixtures"
)

// TestMain gives the fake driver the kernels, compiled for the host.
func TestMain(m *testing.M) {
	if os.Getenv("FAKECUDA_KERNELS") != "" {
		out, err := exec.Command("../../kernels/grid/host/build").Output()
		if err != nil {
			panic("kernels/grid/host/build: " + err.Error())
		}
		os.Setenv("FAKECUDA_KERNELS", os.Getenv("FAKECUDA_KERNELS")+":"+strings.TrimSpace(string(out)))
		os.Setenv("FAKECUDA_MEMORY", "3G")
	}
	os.Exit(m.Run())
}

// fake opens a device of the fake driver, or skips where another is in use.
func fake(t testing.TB, o Options) *Backend {
	t.Helper()
	if os.Getenv("FAKECUDA_KERNELS") == "" {
		t.Skip("scripts/test-cuda-fake runs this test on a fake driver")
	}
	b, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if !fakecuda.Present() {
		b.Close()
		t.Skip("this driver is no fake")
	}
	return b
}

// TestFake computes small MSMs of every group with the kernels on the host.
func TestFake(t *testing.T) {
	b := fake(t, Options{})
	defer b.Close()
	for _, c := range backend.Curves() {
		for _, g := range backend.Groups() {
			p, err := fixtures.New(fixtures.Key{Curve: c, Group: g, Set: fixtures.Infinities, Seed: *seed})
			if err != nil {
				t.Fatal(err)
			}
			const n = 50
			points, err := p.Bytes(n)
			if err != nil {
				t.Fatal(err)
			}
			id, err := b.LoadBases(t.Context(), backend.Bases{Curve: c, Group: g, Count: n, Bytes: points, Hints: backend.Hints{Check: true}})
			if err != nil {
				t.Fatal(err)
			}
			scalars, err := fixtures.Scalars(c, fixtures.Witness, *seed, n-1)
			if err != nil {
				t.Fatal(err)
			}
			judge(t, b, p, id, 1, scalars, c.String()+" "+g.String())
		}
	}
}

// TestFakeConformance is the suite on one group, which takes minutes: it is for
// a change that no GPU is at hand for.
func TestFakeConformance(t *testing.T) {
	if !*full {
		t.Skip("-full runs this test")
	}
	fake(t, Options{}).Close()
	backendtest.Run(t, func(t testing.TB) backend.Backend { return fake(t, Options{}) }, backendtest.Options{
		Curves: []backend.Curve{backend.BN254}, Groups: []backend.Group{backend.G1}, Logs: []int{4}, Seed: *seed,
	})
}

// small is one MSM, ready to be computed.
type small struct {
	bases  backend.Bases
	job    backend.Job
	answer []byte
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
	return small{backend.Bases{Curve: c, Group: g, Count: n, Bytes: points}, backend.Job{Count: n, Scalars: scalars}, answer}
}

func (s small) compute(ctx context.Context, b *Backend) error {
	id, err := b.LoadBases(ctx, s.bases)
	if err != nil {
		return err
	}
	j := s.job
	j.Bases = id
	got, err := b.MSM(ctx, []backend.Job{j})
	if err != nil {
		return err
	}
	if !bytes.Equal(got[0], s.answer) {
		return errors.New("wrong answer")
	}
	return b.FreeBases(ctx, id)
}

// TestFakeStreams has memory for a part of the points only: they are cut into
// chunks, and the bases stay on the host.
func TestFakeStreams(t *testing.T) {
	s := newSmall(t, 512)
	chunks := func(t *tuning) { t.chunk = 128 }
	in := inputOf(backend.BN254, backend.G1, s.bases.Count, 0)
	chunks(&in.tuning)
	least := int64(sort.Search(1<<30, func(memory int) bool {
		in.memory = int64(memory)
		_, err := newPlan(in)
		return err == nil
	}))
	// Not enough for the bases beside it, enough for two chunks of them.
	b := fake(t, Options{Memory: least + s.bases.Size()*3/4})
	defer b.Close()
	b.tune = chunks
	id, err := b.LoadBases(t.Context(), s.bases)
	if err != nil {
		t.Fatal(err)
	}
	used, err := b.bases.Use([]backend.Job{{Bases: id}})
	if err != nil {
		t.Fatal(err)
	}
	if used[0].Kept.host == nil {
		t.Error("the bases are on the device")
	}
	b.bases.Unuse(used)
	j := s.job
	j.Bases = id
	// Twice in a batch, with the scalars of the first.
	got, err := b.MSM(t.Context(), []backend.Job{j, {Bases: id, Count: j.Count, SameAs: 1}})
	if err != nil || !bytes.Equal(got[0], s.answer) || !bytes.Equal(got[1], s.answer) {
		t.Errorf("wrong, or %v", err)
	}
	for in, p := range b.plans {
		if !in.stream || len(p.chunks) < 2 {
			t.Errorf("a plan with stream %v and chunks %v", in.stream, p.chunks)
		}
	}
}

// TestFakeFailures lets calls of the driver fail.
func TestFakeFailures(t *testing.T) {
	const outOfMemory, launchFailed = "2", "719"
	b := fake(t, Options{})
	defer b.Close()
	defer fakecuda.Reset()
	s := newSmall(t, 20)
	if err := s.compute(t.Context(), b); err != nil {
		t.Fatal(err)
	}

	// The work memory cannot be had.
	if err := b.desk.drop(); err != nil {
		t.Fatal(err)
	}
	b.used = 0
	fakecuda.Reset()
	if err := fakecuda.Fail("cuMemAlloc@2+=" + outOfMemory); err != nil {
		t.Fatal(err)
	}
	err := s.compute(t.Context(), b)
	if !errors.Is(err, backend.ErrOutOfMemory) || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("error %v", err)
	}
	fakecuda.Reset()
	if err := s.compute(t.Context(), b); err != nil {
		t.Errorf("after the memory ran out: %v", err)
	}

	// The memory for the best plan cannot be had, but some can.
	if err := b.desk.drop(); err != nil {
		t.Fatal(err)
	}
	b.used = 0
	large := newSmall(t, 256)
	b.tune = func(t *tuning) { t.chunk = 64 }
	in := inputOf(backend.BN254, backend.G1, large.bases.Count, 1<<30)
	b.tune(&in.tuning)
	best, err := newPlan(in)
	if err != nil {
		t.Fatal(err)
	}
	free, _, err := b.dev.MemInfo()
	if err != nil {
		t.Fatal(err)
	}
	other, err := b.dev.Alloc(free - best.need()*9/10 - large.bases.Size())
	if err != nil {
		t.Fatal(err)
	}
	if err := large.compute(t.Context(), b); err != nil {
		t.Errorf("beside another program: %v", err)
	}
	if b.desk.held() >= best.need() {
		t.Errorf("%d bytes of work memory, the best plan has %d", b.desk.held(), best.need())
	}
	if err := other.Free(); err != nil {
		t.Fatal(err)
	}

	// A kernel fails: the device is lost.
	fakecuda.Reset()
	if err := fakecuda.Fail("cuLaunchKernel@3=" + launchFailed); err != nil {
		t.Fatal(err)
	}
	if err := s.compute(t.Context(), b); !errors.Is(err, backend.ErrGone) {
		t.Errorf("error %v", err)
	}
	select {
	case <-b.Done():
	case <-time.After(time.Second):
		t.Error("the device is not lost")
	}
	if err := s.compute(t.Context(), b); !errors.Is(err, backend.ErrGone) {
		t.Errorf("on a lost device: %v", err)
	}
}
