package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/layout"
)

// given returns a backend with n bases of BN254 G1, and n scalars.
func given(t *testing.T, chunk, parallel, n int) (*Backend[struct{}], *fixtures.Points, backend.BasesID, []byte) {
	t.Helper()
	b := New[struct{}]("cpu", chunk, parallel, Fast(0))
	t.Cleanup(func() { b.Close() })
	p, err := fixtures.NewPoints(backend.BN254, backend.G1, 1)
	if err != nil {
		t.Fatal(err)
	}
	points, err := p.Bytes(n)
	if err != nil {
		t.Fatal(err)
	}
	id, err := b.LoadBases(t.Context(), backend.Bases{Curve: backend.BN254, Group: backend.G1, Count: n, Bytes: points})
	if err != nil {
		t.Fatal(err)
	}
	scalars, err := fixtures.Scalars(backend.BN254, fixtures.Uniform, 1, n)
	if err != nil {
		t.Fatal(err)
	}
	return b, p, id, scalars
}

// keptBy returns what the backend keeps of bases.
func keptBy(t *testing.T, b *Backend[struct{}], id backend.BasesID) Kept {
	t.Helper()
	used, err := b.Residents.Use([]backend.Step{backend.Job{Bases: id}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Residents.End(used)
	return used.Bases[id].Kept
}

func TestBasesInMemoryAreNotCopied(t *testing.T) {
	b, p, _, _ := given(t, 0, 0, 10)
	points, err := p.Bytes(10)
	if err != nil {
		t.Fatal(err)
	}
	id, err := b.LoadBases(t.Context(), backend.Bases{Curve: backend.BN254, Group: backend.G1, Count: 10, Bytes: points})
	if err != nil {
		t.Fatal(err)
	}
	if at, _ := layout.Range(points); at == 0 {
		t.Fatal("no address")
	} else if kept, _ := layout.Range(keptBy(t, b, id).Points); kept != at {
		t.Error("bases given as bytes were copied")
	}
}

func TestBasesThatAreNotAligned(t *testing.T) {
	b, p, _, _ := given(t, 0, 0, 3)
	points, err := p.Bytes(3)
	if err != nil {
		t.Fatal(err)
	}
	shifted := append(make([]byte, 1, 200), points...)[1:]
	_, err = b.LoadBases(t.Context(), backend.Bases{Curve: backend.BN254, Group: backend.G1, Count: 3, Bytes: shifted})
	if !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("%v", err)
	}
}

func TestPanicsAreErrors(t *testing.T) {
	b, _, id, scalars := given(t, 0, 0, 10)
	job := backend.Job{Bases: id, Count: 10, Input: backend.Input{
		Bytes: scalars, Ready: func(context.Context, int) error { panic("out of order") },
	}}
	r, err := b.MSM(t.Context(), []backend.Job{job})
	if r != nil || !errors.Is(err, backend.ErrInternal) || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("%v, %v", r, err)
	}
	_, err = b.LoadBases(t.Context(), backend.Bases{Curve: backend.BN254, Group: backend.G1, Count: 1,
		Pieces: func(func([]byte, error) bool) { panic("no pieces") }})
	if !errors.Is(err, backend.ErrInternal) {
		t.Errorf("%v", err)
	}
	if err := b.FreeBases(t.Context(), id); err != nil { // the use has ended in spite of the error
		t.Error(err)
	}
}

// TestErrorsNameTheFirst: among several bad elements, in several parts.
func TestErrorsNameTheFirst(t *testing.T) {
	const n = 100_000
	b, p, id, scalars := given(t, 30_000, 0, n)
	for _, i := range []int{71_234, 80_000, 99_999} {
		copy(scalars[i*32:], bytes.Repeat([]byte{0xff}, 32))
	}
	_, err := b.MSM(t.Context(), []backend.Job{{Bases: id, Count: n, Input: backend.Input{Bytes: scalars, Check: true}}})
	if !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "scalar 71234 ") {
		t.Errorf("%v", err)
	}
	points, err := p.Bytes(n)
	if err != nil {
		t.Fatal(err)
	}
	load := func() error {
		_, err := b.LoadBases(t.Context(), backend.Bases{
			Curve: backend.BN254, Group: backend.G1, Count: n, Bytes: points, Hints: backend.Hints{Check: true},
		})
		return err
	}
	points[99_000*64] ^= 1
	points[71_235*64+32] ^= 1
	if err := load(); !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "base 71235 ") {
		t.Errorf("%v", err)
	}
	copy(points[70_000*64+32:], bytes.Repeat([]byte{0xff}, 32))
	if err := load(); !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "base 70000 ") {
		t.Errorf("%v", err)
	}
}

func TestCancelledBetweenChunks(t *testing.T) {
	b, _, id, scalars := given(t, 10, 0, 100)
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	job := backend.Job{Bases: id, Count: 100, Input: backend.Input{Bytes: scalars, Ready: func(_ context.Context, n int) error {
		if asked = n; n == 30 {
			cancel()
		}
		return nil
	}}}
	if _, err := b.MSM(ctx, []backend.Job{job}); !errors.Is(err, context.Canceled) || asked != 30 {
		t.Errorf("%v after %d scalars", err, asked)
	}
}

func TestTooLargeForTheMachine(t *testing.T) {
	b := New[struct{}]("cpu", 0, 0, Fast(0))
	defer b.Close()
	b.About.Devices[0].Memory = 1 << 20
	_, err := b.LoadBases(t.Context(), backend.Bases{Curve: backend.BN254, Group: backend.G1, Count: 1 << 15,
		Pieces: func(func([]byte, error) bool) {}})
	if !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("%v", err)
	}
}

// TestJobsAtTheSameTime computes two jobs, each of which gets its scalars only when those of the
// other are asked for.
func TestJobsAtTheSameTime(t *testing.T) {
	b, _, id, scalars := given(t, 0, 2, 10)
	first, second := make(chan struct{}), make(chan struct{})
	meet := func(mine, other chan struct{}) func(context.Context, int) error {
		return func(ctx context.Context, _ int) error {
			close(mine)
			select {
			case <-other:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	one := backend.Job{Bases: id, Count: 10, Input: backend.Input{Bytes: scalars, Ready: meet(first, second)}}
	other := backend.Job{Bases: id, Count: 10, Input: backend.Input{Bytes: scalars, Ready: meet(second, first)}}
	same := backend.Job{Bases: id, Count: 10, SameAs: 1}
	r, err := b.MSM(t.Context(), []backend.Job{one, same, other})
	if err != nil || !bytes.Equal(r[0], r[1]) || !bytes.Equal(r[0], r[2]) {
		t.Errorf("%v, %v", r, err)
	}
}

// TestTheCauseIsTold: the error of a batch is the first failure. Jobs that end because of it do not
// replace it, in whatever order the jobs are.
func TestTheCauseIsTold(t *testing.T) {
	b, _, id, scalars := given(t, 0, 3, 10)
	cause := errors.New("no scalars will come")
	job := func(ready func(context.Context, int) error) backend.Job {
		return backend.Job{Bases: id, Count: 10, Input: backend.Input{Bytes: scalars, Ready: ready}}
	}
	var waiting sync.WaitGroup
	waits := job(func(ctx context.Context, _ int) error { waiting.Done(); <-ctx.Done(); return ctx.Err() })
	fails := job(func(context.Context, int) error { waiting.Wait(); return cause })
	for at, jobs := range [][]backend.Job{{fails, waits, waits}, {waits, fails, waits}, {waits, waits, fails}} {
		waiting.Add(2)
		r, err := b.MSM(t.Context(), jobs)
		if r != nil || !errors.Is(err, cause) || !strings.Contains(err.Error(), fmt.Sprintf("step %d (Job):", at)) {
			t.Errorf("%d: %v, %v", at, r, err)
		}
	}
	// A producer that was cancelled by somebody else is a cause too.
	given := job(func(context.Context, int) error { return context.Canceled })
	if r, err := b.MSM(t.Context(), []backend.Job{given, given}); r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", r, err)
	}
}
