package backendtest

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// faultyVectors is a backend whose vectors have a fault for each field that is set.
type faultyVectors struct {
	backend.Backend
	newSpace  func(context.Context, backend.Programs, backend.Element, int) (backend.SpaceID, error)
	freeSpace func(context.Context, backend.Programs, backend.SpaceID) error
	run       func(context.Context, backend.Programs, []backend.Step) ([][]byte, error)
	close     func(backend.Backend) error
}

func (f *faultyVectors) inner() backend.Programs { return f.Backend.(backend.Programs) }

func (f *faultyVectors) NewSpace(ctx context.Context, e backend.Element, count int) (backend.SpaceID, error) {
	if f.newSpace != nil {
		return f.newSpace(ctx, f.inner(), e, count)
	}
	return f.inner().NewSpace(ctx, e, count)
}

func (f *faultyVectors) FreeSpace(ctx context.Context, id backend.SpaceID) error {
	if f.freeSpace != nil {
		return f.freeSpace(ctx, f.inner(), id)
	}
	return f.inner().FreeSpace(ctx, id)
}

func (f *faultyVectors) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	if f.run != nil {
		return f.run(ctx, f.inner(), slices.Clone(steps))
	}
	return f.inner().Run(ctx, steps)
}

func (f *faultyVectors) Close() error {
	if f.close != nil {
		return f.close(f.Backend)
	}
	return f.Backend.Close()
}

// eachStep changes the steps of type S.
func eachStep[S backend.Step](change func(*S)) func(context.Context, backend.Programs, []backend.Step) ([][]byte, error) {
	return func(ctx context.Context, v backend.Programs, steps []backend.Step) ([][]byte, error) {
		for i := range steps {
			if s, ok := steps[i].(S); ok {
				change(&s)
				steps[i] = s
			}
		}
		return v.Run(ctx, steps)
	}
}

// besides makes every step of type S also clear the element before the range that it writes.
func besides[S backend.Step](dst func(S) backend.Range, size int,
) func(context.Context, backend.Programs, []backend.Step) ([][]byte, error) {
	return func(ctx context.Context, v backend.Programs, steps []backend.Step) ([][]byte, error) {
		var more []backend.Step
		var at []int
		for _, step := range steps {
			if s, ok := step.(S); ok && dst(s).Offset > 0 {
				before := backend.Range{Space: dst(s).Space, Offset: dst(s).Offset - 1, Count: 1}
				more = append(more, backend.Write{Dst: before, Input: backend.Input{Bytes: make([]byte, size)}})
			}
			at, more = append(at, len(more)), append(more, step)
		}
		all, err := v.Run(ctx, more)
		if err != nil {
			return nil, err
		}
		answers := make([][]byte, len(steps))
		for i, k := range at {
			answers[i] = all[k]
		}
		return answers, nil
	}
}

func vectorFaults() []fault {
	with := func(f faultyVectors) func(backend.Backend) backend.Backend {
		return func(b backend.Backend) backend.Backend {
			g := f
			g.Backend = b
			return &g
		}
	}
	run := func(name string, run func(context.Context, backend.Programs, []backend.Step) ([][]byte, error), found ...string) fault {
		return fault{name, found, with(faultyVectors{run: run})}
	}
	errs := func(change func(error) error) func(context.Context, backend.Programs, []backend.Step) ([][]byte, error) {
		return func(ctx context.Context, v backend.Programs, steps []backend.Step) ([][]byte, error) {
			answers, err := v.Run(ctx, steps)
			if err != nil {
				err = change(err)
			}
			return answers, err
		}
	}
	var calls crossing
	return []fault{
		{"a new space holds something", []string{"spaces"}, with(faultyVectors{
			newSpace: func(ctx context.Context, v backend.Programs, e backend.Element, count int) (backend.SpaceID, error) {
				id, err := v.NewSpace(ctx, e, count)
				if err == nil && count > 0 {
					_, err = v.Run(ctx, []backend.Step{
						backend.Write{Dst: span(id, count-1, 1), Input: backend.Input{Bytes: append(make([]byte, e.Bytes()-1), 1)}},
					})
				}
				return id, err
			}})},
		{"a space that is too large is trouble", []string{"sizes of spaces"}, with(faultyVectors{
			newSpace: func(ctx context.Context, v backend.Programs, e backend.Element, count int) (backend.SpaceID, error) {
				id, err := v.NewSpace(ctx, e, count)
				if err != nil {
					err = backend.ErrInternal
				}
				return id, err
			}})},
		run("elements are not waited for", eachStep(func(w *backend.Write) { w.Ready = nil }), "writes", "writes that fail"),
		run("elements are not checked", eachStep(func(w *backend.Write) { w.Check = false }), "elements", "writes that fail"),
		run("shifts are forgotten", eachStep(func(t *backend.Transform) { t.Shift = nil }), "transforms", "large transforms"),
		run("a batch is one transform", eachStep(func(t *backend.Transform) {
			if n := t.Dst.Count; t.Src.Count == n && n&(n-1) == 0 {
				t.Batch = 1
			}
		}), "transforms"),
		run("rotations are forgotten", eachStep(func(m *backend.Map) {
			m.Args = slices.Clone(m.Args)
			for i := range m.Args {
				if m.Args[i].Range != m.Dst.Range {
					m.Args[i].Rotate = 0
				}
			}
		}), "maps", "reversed maps"),
		run("a - b is a + b", eachStep(func(m *backend.Map) {
			m.Code = slices.Clone(m.Code)
			for i := range m.Code {
				if m.Code[i].Op == backend.MapSub {
					m.Code[i].Op = backend.MapAdd
				}
			}
		}), "maps", "reversed maps", "random programs"),
		run("powers are of the first element", eachStep(func(p *backend.Powers) { p.Ratio = p.First }), "powers and inverses"),
		run("products are inclusive", eachStep(func(p *backend.Products) { p.Exclusive = false }), "products"),
		run("coefficients are in natural order", eachStep(func(e *backend.Evaluate) { e.Order = backend.Natural }), "evaluate and divide"),
		run("the remainder is not told", func(ctx context.Context, v backend.Programs, steps []backend.Step) ([][]byte, error) {
			answers, err := v.Run(ctx, steps)
			for i := range answers {
				if _, ok := steps[i].(backend.Divide); ok {
					clear(answers[i])
				}
			}
			return answers, err
		}, "evaluate and divide"),
		run("steps write beside their range", besides[backend.Map](func(s backend.Map) backend.Range { return s.Dst.Range }, 32), "accesses"),
		run("indices go round", eachStep(func(w *backend.WriteIndices) {
			w.Indices = slices.Clone(w.Indices)
			for i := range w.Indices {
				w.Indices[i] %= 300
			}
		}), "gather"),
		run("no factor is -1", func(ctx context.Context, v backend.Programs, steps []backend.Step) ([][]byte, error) {
			for i := range steps {
				if _, ok := steps[i].(backend.SparseProduct); ok { // its table of factors is the last that is written
					w := steps[i-1].(backend.WriteIndices)
					w.Indices = slices.Clone(w.Indices)
					for k, f := range w.Indices {
						if f == backend.FactorMinusOne {
							w.Indices[k] = backend.FactorOne
						}
					}
					steps[i-1] = w
				}
			}
			return v.Run(ctx, steps)
		}, "sparse products"),
		run("bases are counted from the first", eachStep(func(c *backend.Job) { c.Offset = 0 }), "commit"),
		run("sums over the same bases are the first", func(ctx context.Context, v backend.Programs, steps []backend.Step) ([][]byte, error) {
			for i := 1; i < len(steps); i++ {
				before, _ := steps[i-1].(backend.Job)
				j, ok := steps[i].(backend.Job)
				if ok && j.Src.Space != 0 && j.Bases == before.Bases && j.Offset == before.Offset && j.Count == before.Count {
					j.Src = before.Src
					steps[i] = j
				}
			}
			return v.Run(ctx, steps)
		}, "commit"),
		run("wrong steps are passed over", errs(func(err error) error {
			if errors.Is(err, backend.ErrInvalidInput) {
				return nil
			}
			return err
		}), "wrong steps", "gather", "sparse products", "spaces are freed when programs have ended"),
		run("errors do not say where", errs(func(err error) error {
			for _, kind := range []error{context.Canceled, backend.ErrInvalidInput} {
				if errors.Is(err, kind) {
					return kind
				}
			}
			return err
		}), "wrong steps", "writes that fail", "gather", "sparse products", "cancelled programs"),
		run("steps before a wrong one run", func(ctx context.Context, v backend.Programs, steps []backend.Step) ([][]byte, error) {
			answers, err := v.Run(ctx, steps)
			if len(steps) > 1 && errors.Is(err, backend.ErrInvalidInput) {
				_, _ = v.Run(ctx, steps[:1])
			}
			return answers, err
		}, "wrong steps"),
		run("programs share their answers", func(ctx context.Context, v backend.Programs, steps []backend.Step) ([][]byte, error) {
			return disturbed(ctx, v, steps, &calls)
		}, "programs at the same time"),
		run("contexts are ignored", func(ctx context.Context, v backend.Programs, steps []backend.Step) ([][]byte, error) {
			return v.Run(context.WithoutCancel(ctx), steps)
		}, "cancelled programs"),
		{"spaces are freed at once", []string{"spaces are freed when programs have ended"}, with(faultyVectors{
			freeSpace: func(ctx context.Context, v backend.Programs, id backend.SpaceID) error {
				go v.FreeSpace(context.WithoutCancel(ctx), id)
				return nil
			}})},
		{"closing does not wait for programs", []string{"close waits for programs"}, with(faultyVectors{
			close: func(b backend.Backend) error { go b.Close(); return nil }})},
		{"a closed backend has vectors", []string{"closed, with vectors"}, with(faultyVectors{
			close: func(backend.Backend) error { return nil }})},
	}
}

// crossing detects calls that run at the same time.
type crossing struct {
	running atomic.Int32
	met     atomic.Bool // two calls did
}

// disturbed runs a program, and spoils its last answer if another program ran at the same time. The
// first programs wait for each other, because a busy machine might run them in turn.
func disturbed(ctx context.Context, v backend.Programs, steps []backend.Step, c *crossing) ([][]byte, error) {
	c.running.Add(1)
	defer c.running.Add(-1)
	for end := time.Now().Add(10 * time.Second); !c.met.Load() && time.Now().Before(end); time.Sleep(time.Millisecond) {
		if c.running.Load() > 1 {
			c.met.Store(true)
		}
	}
	crossed := c.running.Load() > 1
	answers, err := v.Run(ctx, steps)
	if err == nil && (crossed || c.running.Load() > 1) {
		clear(answers[len(answers)-1])
	}
	return answers, err
}
