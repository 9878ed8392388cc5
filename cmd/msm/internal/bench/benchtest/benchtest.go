// Package benchtest has backends for the tests of measurements.
package benchtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
)

// World opens fake backends, each the CPU backend with one property, and
// writes down which one computes when. The names are what tests open; any
// other name is the plain CPU backend.
//
//	arena     has shared memory, and a device that uses 2 J more at each Ping
//	phased    counts a phase that takes a second in every MSM, and one in every third
//	wrong     changes every answer of more than two points, and of programs
//	broken    fails every MSM with points, and programs
//	card      has a card, with 8 MiB of multiples of bases
//	cards     has that card and another one, with 6 MiB on each
//	bn254     has one curve only
//	reference the real one
type World struct {
	mu    sync.Mutex
	Calls []string
	// OnCall, when set, is called before each MSM of at least one point with
	// the number of such calls before.
	OnCall func(int)
	Opened int // backends that are open
	Arenas int // buffers that are not freed
}

// Opener opens them.
func (w *World) Opener(_ context.Context, name string) (backend.Backend, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := &fake{Backend: cpu.New(cpu.Options{}), w: w, name: name}
	switch name {
	case "absent":
		return nil, fmt.Errorf("%w: there is no such thing", backend.ErrUnavailable)
	case "reference":
		f.Backend = cpu.NewReference()
	}
	w.Opened++
	switch name {
	case "arena":
		return &fakeArena{fake: f}, nil
	case "phased":
		return &fakePhased{f}, nil
	case "card", "cards":
		return &fakeCards{f}, nil
	}
	return f, nil
}

// Recorded is the names of the backends in the order of their MSMs, without
// the reference.
func (w *World) Recorded() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.Calls), func(s string) bool { return s == "reference" })
}

type fake struct {
	backend.Backend
	w      *World
	name   string
	closed sync.Once
	mine   atomic.Int64 // MSMs with points
}

func (f *fake) Info() backend.Info {
	i := f.Backend.Info()
	if f.name == "bn254" {
		i.Can.MSM = []backend.CurveGroup{{Curve: backend.BN254, Group: backend.G1}, {Curve: backend.BN254, Group: backend.G2}}
	}
	return i
}

func (f *fake) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	n := 0
	for _, j := range jobs {
		n += j.Count
	}
	if n > 0 {
		f.mine.Add(1)
		f.w.mu.Lock()
		before := len(f.w.Calls)
		f.w.Calls = append(f.w.Calls, f.name)
		f.w.mu.Unlock()
		if f.w.OnCall != nil {
			f.w.OnCall(before)
		}
		if f.name == "broken" {
			return nil, fmt.Errorf("%w: broken on purpose", backend.ErrOutOfMemory)
		}
	}
	out, err := f.Backend.MSM(ctx, jobs)
	if f.name == "wrong" && err == nil && n > 2 {
		for i := range out {
			out[i][3] ^= 4
		}
	}
	return out, err
}

func (f *fake) vectors() backend.Programs { return f.Backend.(backend.Programs) }

func (f *fake) NewSpace(ctx context.Context, e backend.Element, count int) (backend.SpaceID, error) {
	return f.vectors().NewSpace(ctx, e, count)
}

func (f *fake) FreeSpace(ctx context.Context, id backend.SpaceID) error {
	return f.vectors().FreeSpace(ctx, id)
}

func (f *fake) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	if f.name == "broken" {
		return nil, fmt.Errorf("%w: no program", backend.ErrInternal)
	}
	out, err := f.vectors().Run(ctx, steps)
	if last := len(out) - 1; f.name == "wrong" && err == nil && len(out[last]) > 0 {
		out[last][3] ^= 4
	}
	return out, err
}

func (f *fake) Close() error {
	f.closed.Do(func() {
		f.w.mu.Lock()
		defer f.w.mu.Unlock()
		f.w.Opened--
	})
	return f.Backend.Close()
}

type fakeArena struct {
	*fake
	energy atomic.Uint64
}

func (f *fakeArena) Ping(ctx context.Context) error {
	f.energy.Add(2000)
	return f.fake.Ping(ctx)
}

func (f *fakeArena) Usage() backend.Usage {
	return backend.Usage{Devices: []backend.DeviceUsage{{Energy: f.energy.Load()}}}
}

func (f *fakeArena) Alloc(_ context.Context, size int) (backend.Buffer, error) {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	f.w.Arenas++
	return &fakeBuffer{make([]byte, size), f.w}, nil
}

type fakePhased struct{ *fake }

func (f *fakePhased) Usage() backend.Usage {
	calls := time.Duration(f.mine.Load())
	return backend.Usage{Stages: []backend.StageUsage{
		{Name: "sort", Busy: calls * time.Second}, {Name: "never"}, {Name: "wipe", Busy: calls / 3 * time.Minute},
	}}
}

type fakeCards struct{ *fake }

func (f *fakeCards) all() []string {
	if f.name == "card" {
		return []string{"GPU-0"}
	}
	return []string{"GPU-0", "GPU-1"}
}

func (f *fakeCards) Info() backend.Info {
	i := f.fake.Info()
	i.Devices = nil
	for _, uuid := range f.all() {
		i.Devices = append(i.Devices, backend.Device{Name: "card", Detail: uuid + ", of " + f.name})
	}
	return i
}

func (f *fakeCards) Usage() (u backend.Usage) {
	for range f.all() {
		u.Devices = append(u.Devices, backend.DeviceUsage{Multiples: int64(10-2*len(f.all())) << 20})
	}
	return u
}

type fakeBuffer struct {
	b []byte
	w *World
}

func (b *fakeBuffer) Bytes() []byte { return b.b }

func (b *fakeBuffer) Free() {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	b.w.Arenas--
}

// Positive wants figures to be known.
func Positive(t *testing.T, r *report.Run, names ...string) {
	t.Helper()
	for _, name := range names {
		if r.Value(name) <= 0 {
			t.Errorf("%s is %g: %+v", name, r.Value(name), r)
		}
	}
}

// PartsOf wants figures to be known, and parts of the run's time.
func PartsOf(t *testing.T, r *report.Run, names ...string) {
	t.Helper()
	Positive(t, r, names...)
	for _, name := range names {
		if r.Value(name) >= r.Max {
			t.Errorf("%s is %g of %g", name, r.Value(name), r.Max)
		}
	}
}

// Vectors is a backend with vectors, for tests that change what its programs answer.
type Vectors struct{ backend.Backend }

// Programs returns the backend as what computes with vectors.
func (b Vectors) Programs() backend.Programs { return b.Backend.(backend.Programs) }

// NewSpace calls the backend.
func (b Vectors) NewSpace(ctx context.Context, e backend.Element, n int) (backend.SpaceID, error) {
	return b.Programs().NewSpace(ctx, e, n)
}

// FreeSpace calls the backend.
func (b Vectors) FreeSpace(ctx context.Context, id backend.SpaceID) error {
	return b.Programs().FreeSpace(ctx, id)
}
