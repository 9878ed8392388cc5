package msm

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
)

// world opens fakes and remembers them. Its functions decide what goes wrong.
type world struct {
	t      testing.TB
	mu     sync.Mutex
	opened []*fake

	open func(name string, nth int) error // nth is which opening of that name it is, from 1
	load func(f *fake, b backend.Bases) error
	msm  func(ctx context.Context, f *fake, out [][]byte) error

	events []engine.Event // under mu
}

func (w *world) opener(ctx context.Context, name string) (backend.Backend, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	nth := 1
	for _, f := range w.opened {
		if f.name == name {
			nth++
		}
	}
	f := &fake{Backend: cpu.New(cpu.Options{}), w: w, name: name, nth: nth}
	w.opened = append(w.opened, f)
	if w.open != nil {
		if err := w.open(name, nth); err != nil {
			return nil, err
		}
	}
	if name == "shared" {
		return sharing{f}, nil
	}
	return f, nil
}

func (w *world) engine(cfg engine.Config) *engine.Engine {
	w.t.Helper()
	cfg.Open = w.opener
	cfg.OnEvent = func(ev engine.Event) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.events = append(w.events, ev)
	}
	e, err := engine.New(w.t.Context(), cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := e.Close(); err != nil {
			w.t.Error(err)
		}
		for _, f := range w.all() {
			if f.closes.Load() != 1 {
				w.t.Errorf("backend %s was closed %d times", f.name, f.closes.Load())
			}
		}
	})
	return e
}

func (w *world) all() []*fake {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ok []*fake
	for _, f := range w.opened {
		if w.open == nil || w.open(f.name, f.nth) == nil {
			ok = append(ok, f)
		}
	}
	return ok
}

// kinds lists the events so far.
func (w *world) kinds() (k []engine.EventKind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ev := range w.events {
		k = append(k, ev.Kind)
	}
	return k
}

// saw waits until an event of a kind has happened.
func (w *world) saw(kind engine.EventKind) bool {
	return eventually(func() bool { return slices.Contains(w.kinds(), kind) })
}

// eventually waits until is returns true. It returns false if that takes too long.
func eventually(is func() bool) bool {
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// fake is the CPU backend. It counts what it holds and checks how the engine treats it.
type fake struct {
	backend.Backend
	w    *world
	name string
	nth  int

	mu     sync.Mutex
	held   int // how many bases
	jobs   []backend.Job
	loads  int
	frees  int
	allocs []*fakeBuffer

	active atomic.Int32
	closes atomic.Int32
}

func (f *fake) Info() backend.Info {
	return backend.Info{Name: f.name, InProcess: f.name == "cpu", Can: backend.Capabilities{MSM: backend.CurveGroups()}}
}

func (f *fake) LoadBases(ctx context.Context, b backend.Bases) (backend.BasesID, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.loads++
	if f.w.load != nil {
		if err := f.w.load(f, b); err != nil {
			return 0, err
		}
	}
	id, err := f.Backend.LoadBases(ctx, b)
	if err == nil {
		f.held++
	}
	return id, err
}

func (f *fake) FreeBases(ctx context.Context, id backend.BasesID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.Backend.FreeBases(ctx, id)
	if err == nil {
		f.held--
		f.frees++
	}
	return err
}

func (f *fake) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	f.active.Add(1)
	defer f.active.Add(-1)
	if f.closes.Load() > 0 {
		f.w.t.Errorf("%s: MSM after Close", f.name)
	}
	f.mu.Lock()
	f.jobs = append(f.jobs, jobs...)
	f.mu.Unlock()
	out, err := f.Backend.MSM(ctx, jobs)
	if err == nil && f.w.msm != nil {
		err = f.w.msm(ctx, f, out)
	}
	if err != nil {
		return nil, err
	}
	return out, ctx.Err()
}

func (f *fake) Close() error {
	if f.active.Load() > 0 {
		f.w.t.Errorf("%s: Close during a call", f.name)
	}
	f.closes.Add(1)
	return f.Backend.Close()
}

type fakeBuffer struct {
	b     []byte
	freed atomic.Int32
}

func (b *fakeBuffer) Bytes() []byte { return b.b }
func (b *fakeBuffer) Free()         { b.freed.Add(1) }

// sharing is a fake with shared memory.
type sharing struct{ *fake }

func (f sharing) Alloc(ctx context.Context, size int) (backend.Buffer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := &fakeBuffer{b: layout.Bytes(make([]uint64, size/8))}
	f.allocs = append(f.allocs, b)
	return b, nil
}

// input is n points of BN254 G1 with scalars, and their MSM.
func input(n int) ([]bn254.G1Affine, []fr254.Element, bn254.G1Affine) {
	scalars, logs := make([]fr254.Element, n), make([]fr254.Element, n)
	for i := range scalars {
		scalars[i].MustSetRandom()
		logs[i].MustSetRandom()
	}
	_, _, g, _ := bn254.Generators()
	points := bn254.BatchScalarMultiplicationG1(&g, logs)
	return points, scalars, product(logs, scalars)
}

// product returns the MSM of points with known discrete logarithms.
func product(logs, scalars []fr254.Element) bn254.G1Affine {
	var sum fr254.Element
	for i := range scalars {
		var p fr254.Element
		sum.Add(&sum, p.Mul(&logs[i], &scalars[i]))
	}
	_, _, g, _ := bn254.Generators()
	return bn254.BatchScalarMultiplicationG1(&g, []fr254.Element{sum})[0]
}
