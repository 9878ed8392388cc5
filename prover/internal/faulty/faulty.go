// Package faulty has backends for the provers' tests: on the CPU, they count what
// they hold and fail as told.
package faulty

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
)

// Backends is what all backends of Open do together.
type Backends struct {
	Bases, Spaces atomic.Int64 // held
	Loads, Taken  atomic.Int64 // of bases and spaces, so far
	// Elsewhere has backends say that another process computes.
	Elsewhere bool
	// Die is how many calls that compute are left until a backend dies, when above
	// zero.
	Die atomic.Int64
	// Lie reports whether an answer of a call that computes is to be wrong: the first
	// of so many jobs, or the last of so many steps. Do not change it during calls.
	Lie func(jobs, steps int) bool
}

// Held returns how many bases and spaces all backends hold.
func (f *Backends) Held() int64 { return f.Bases.Load() + f.Spaces.Load() }

// Disturb swaps an engine's backends by its method Use, and has them die, in turns. A backend dies
// within the next calls that compute. After each moment it waits until two more are made.
func (f *Backends) Disturb(t testing.TB, moments int, calls int64, made *atomic.Int64, use func(context.Context, string) error) {
	t.Helper()
	for i := range moments {
		before := made.Load()
		if i%2 == 0 {
			if err := use(t.Context(), fmt.Sprint("backend ", i)); err != nil {
				t.Error(err)
			}
		} else {
			f.Die.Store(1 + rand.Int64N(calls))
		}
		for made.Load() < before+2 && !t.Failed() {
			time.Sleep(time.Millisecond)
		}
	}
}

// Open opens a backend, whatever its name.
func (f *Backends) Open(ctx context.Context, _ string) (backend.Backend, error) { return f.New(ctx) }

// New opens a backend.
func (f *Backends) New(ctx context.Context) (*Backend, error) {
	b := cpu.New(cpu.Options{})
	v, ok := backend.As[backend.Programs](b)
	if !ok {
		return nil, fmt.Errorf("%w: the CPU has no programs", backend.ErrUnsupported)
	}
	return &Backend{Backend: b, programs: v, all: f}, nil
}

// Backend is one backend.
type Backend struct {
	backend.Backend
	programs      backend.Programs
	all           *Backends
	bases, spaces atomic.Int64
	dead          atomic.Bool
}

func (b *Backend) Info() backend.Info {
	i := b.Backend.Info()
	i.InProcess = i.InProcess && !b.all.Elsewhere
	return i
}

func (b *Backend) gone() error {
	if b.dead.Load() {
		return fmt.Errorf("%w: killed by the test", backend.ErrGone)
	}
	return nil
}

// compute counts a call that computes, and returns an error from the call on at which the test has
// the backend die.
func (b *Backend) compute() error {
	if b.all.Die.Add(-1) == 0 {
		b.dead.Store(true)
	}
	return b.gone()
}

func (b *Backend) lies(jobs, steps int) bool { return b.all.Lie != nil && b.all.Lie(jobs, steps) }

func count(err error, n int64, of ...*atomic.Int64) {
	if err == nil {
		for _, c := range of {
			c.Add(n)
		}
	}
}

func (b *Backend) LoadBases(ctx context.Context, s backend.Bases) (backend.BasesID, error) {
	if err := b.gone(); err != nil {
		return 0, err
	}
	id, err := b.Backend.LoadBases(ctx, s)
	count(err, 1, &b.bases, &b.all.Bases, &b.all.Loads)
	return id, err
}

func (b *Backend) FreeBases(ctx context.Context, id backend.BasesID) error {
	err := b.Backend.FreeBases(ctx, id)
	count(err, -1, &b.bases, &b.all.Bases)
	return err
}

func (b *Backend) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	if len(jobs) > 0 && jobs[0].Count > 0 { // not the engine's question whether it is there
		if err := b.compute(); err != nil {
			return nil, err
		}
	}
	out, err := b.Backend.MSM(ctx, jobs)
	if err == nil && b.lies(len(jobs), 0) {
		clear(out[0]) // infinity: on the curve, but wrong
	}
	return out, err
}

func (b *Backend) NewSpace(ctx context.Context, e backend.Element, n int) (backend.SpaceID, error) {
	if err := b.gone(); err != nil {
		return 0, err
	}
	id, err := b.programs.NewSpace(ctx, e, n)
	count(err, 1, &b.spaces, &b.all.Spaces, &b.all.Taken)
	return id, err
}

func (b *Backend) FreeSpace(ctx context.Context, id backend.SpaceID) error {
	err := b.programs.FreeSpace(ctx, id)
	count(err, -1, &b.spaces, &b.all.Spaces)
	return err
}

func (b *Backend) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	if err := b.compute(); err != nil {
		return nil, err
	}
	out, err := b.programs.Run(ctx, steps)
	if err == nil && len(out) > 0 && b.lies(0, len(steps)) {
		clear(out[len(out)-1]) // infinity, or zero
	}
	return out, err
}

func (b *Backend) Ping(ctx context.Context) error {
	if err := b.gone(); err != nil {
		return err
	}
	return b.Backend.Ping(ctx)
}

func (b *Backend) Close() error {
	b.all.Bases.Add(-b.bases.Swap(0))
	b.all.Spaces.Add(-b.spaces.Swap(0))
	return b.Backend.Close()
}
