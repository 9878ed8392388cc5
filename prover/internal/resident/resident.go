// Package resident has what provers need of an engine: bases that stay in a backend,
// batches of MSMs over them, sessions, and an engine in this process for users who have
// none.
package resident

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/inuse"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/merge"
)

// Or returns e or, if e is nil, that of pippin.Use or a new engine in this process. end closes
// the new engine, and does nothing to others.
func Or(ctx context.Context, e *engine.Engine) (_ *engine.Engine, end func() error, err error) {
	if e == nil {
		e = inuse.Engine()
	}
	if e != nil {
		return e, func() error { return nil }, nil
	}
	e, err = Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	return e, e.Close, nil
}

// Open opens an engine on gnark-crypto in this process, with nothing to fall back to,
// which the caller closes.
func Open(ctx context.Context) (*engine.Engine, error) {
	return engine.New(ctx, engine.Config{
		Open:      func(context.Context, string) (backend.Backend, error) { return cpu.New(cpu.Options{}), nil },
		Fallbacks: []string{engine.NoFallback},
	})
}

// Elsewhere reports whether an engine's backend computes programs over a curve's scalars in another process. In
// this one a session would only copy the values.
func Elsewhere(e *engine.Engine, c backend.Curve) bool {
	i := e.Info()
	return !i.InProcess && i.Can.HasPrograms(backend.ScalarOf(c))
}

// Table is the bases of many MSMs. Safe for concurrent use.
type Table[P, S any] struct {
	ops    *group.Ops[P, S]
	points []P
	bases  *msm.Bases[P, S]
}

// Load makes points resident in the engine. The points must not change until
// Close.
func Load[P, S any](ctx context.Context, e *engine.Engine, ops *group.Ops[P, S], points []P, hints ...msm.Hint) (*Table[P, S], error) {
	bases, err := ops.Group.Load(ctx, e, points, hints...)
	if err != nil {
		return nil, err
	}
	return &Table[P, S]{ops, points, bases}, nil
}

// checked is how many points CheckPoints checks at a time.
const checked = 1 << 18

// CheckPoints returns backend.ErrInvalidInput if a point is not on its curve or not in the group of
// order r. what names the points.
func CheckPoints[P, S any](ctx context.Context, e *engine.Engine, ops *group.Ops[P, S], what string, points []P) error {
	element := backend.PointOf(ops.Group.Curve(), ops.Group.Group())
	for lo := 0; lo < len(points); lo += checked {
		some := points[lo:min(lo+checked, len(points))]
		space := engine.Space{Elements: backend.Elements{Element: element, Count: len(some)}}
		bad := 0
		_, err := e.Repeat(ctx, space, func(ctx context.Context, s *engine.Session) error {
			all := backend.Range{Space: s.Space(), Count: len(some)}
			out, err := s.Run(ctx, []backend.Step{
				backend.Write{Dst: all, Input: backend.Input{Bytes: layout.Bytes(some)}}, backend.CheckPoints{Src: all, Subgroup: true},
			})
			if err == nil {
				bad, _, err = backend.CheckedPoints(out[1])
			}
			return err
		})
		switch {
		case err != nil:
			return err
		case bad > 0:
			return fmt.Errorf("%w: points of %s are not in the group of order r", backend.ErrInvalidInput, what)
		}
	}
	return nil
}

// Len returns the number of bases.
func (t *Table[P, S]) Len() int { return len(t.points) }

// Bases returns the points' bases in the engine.
func (t *Table[P, S]) Bases() *msm.Bases[P, S] { return t.bases }

// Close frees the bases after the MSMs in flight. Closing a nil or closed
// table does nothing.
func (t *Table[P, S]) Close() error {
	if t == nil {
		return nil
	}
	return t.bases.Close()
}

// Sum computes the MSM of the scalars and the bases. If there are fewer scalars than
// bases, it takes the first bases.
func (t *Table[P, S]) Sum(ctx context.Context, scalars []S) (P, error) {
	part, err := t.bases.Slice(0, len(scalars))
	if err != nil {
		var zero P
		return zero, err
	}
	return part.MSM(ctx, scalars)
}

// Merging sets whether equal elements are merged.
type Merging int

const (
	// Auto merges where an estimate says that it pays.
	Auto Merging = iota
	// Always merges wherever two elements are equal.
	Always
	// Never merges nothing.
	Never
)

// worthwhile is the redundancy from which Auto merges. Finding the classes
// costs about a twentieth of the MSM that it may shorten.
const worthwhile = 1.0 / 8

// least is the number of elements below which Auto does not look.
const least = 1 << 9

// Classes partitions n elements when m wants them merged, and returns nil when not. It
// ends with ctx.
func (m Merging) Classes(ctx context.Context, n int, columns ...merge.Column) (*merge.Classes, error) {
	if m == Never || n == 0 || m == Auto && n < least {
		return nil, nil
	}
	e, err := merge.Hash(ctx, n, columns...)
	defer e.Wipe()
	if err != nil || m == Auto && e.Redundancy() < worthwhile {
		return nil, err
	}
	c, err := e.Classes(ctx)
	if err != nil || c.Len() == n {
		return nil, err
	}
	return c, nil
}

// Scalars replaces Auto for the merging of equal scalars. This process adds up their bases,
// which pays only if it computes the MSMs too.
func (m Merging) Scalars(e *engine.Engine) Merging {
	if m == Auto && !e.Info().InProcess {
		return Never
	}
	return m
}

// Columns returns the elements of s as a column for Merging.Classes.
func Columns[T any](s []T) merge.Column {
	b := layout.Bytes(s)
	return merge.Column{Bytes: b, Size: len(b) / max(len(s), 1)}
}

// Batch has MSMs that are answered together. One goroutine uses it, once.
type Batch struct {
	e       *engine.Engine
	batch   *msm.Batch
	deliver []func()
	end     []func()
	merged  map[any]any // first scalar's address -> *shorter[S]
	err     error
}

// NewBatch starts a batch on the engine.
func NewBatch(e *engine.Engine) *Batch {
	return &Batch{e: e, batch: msm.NewBatch(e), merged: map[any]any{}}
}

// shorter has every value of some scalars once, and the classes of equal ones. classes is
// nil when the scalars were not merged.
type shorter[S any] struct {
	classes *merge.Classes
	scalars []S
}

// Add adds the MSM of t with scalars to the batch. Run sets *out, and returns the error if
// there is one. m sets whether equal scalars are merged; it is the same for every MSM with
// this slice. The scalars must not change until Run returns.
func Add[P, S any](ctx context.Context, b *Batch, t *Table[P, S], scalars []S, m Merging, out *P) {
	if b.err != nil {
		return
	}
	if len(scalars) != len(t.points) {
		b.err = fmt.Errorf("%w: %d scalars for %d bases", backend.ErrInvalidInput, len(scalars), len(t.points))
		return
	}
	if len(scalars) == 0 {
		return // *out is infinity as it is
	}
	short, err := shorten(ctx, b, scalars, m)
	if err != nil {
		b.err = err
		return
	}
	if short.classes != nil {
		sums, err := t.ops.SumClasses(ctx, t.points, short.classes)
		if err != nil {
			b.err = err
			return
		}
		b.end = append(b.end, func() { clear(sums) })
		t, err = Load(ctx, b.e, t.ops, sums)
		if err != nil {
			b.err = err
			return
		}
		b.end = append(b.end, func() { t.Close() })
		scalars = short.scalars
	}
	a := t.bases.Add(b.batch, scalars)
	b.deliver = append(b.deliver, func() { *out = a.Point() })
}

// Fail makes Run return err, unless there was an error before.
func (b *Batch) Fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// shorten merges equal scalars, once for all MSMs with the same slice.
func shorten[S any](ctx context.Context, b *Batch, scalars []S, m Merging) (*shorter[S], error) {
	key := any(&scalars[0])
	if s, ok := b.merged[key].(*shorter[S]); ok {
		return s, nil
	}
	classes, err := m.Scalars(b.e).Classes(ctx, len(scalars), Columns(scalars))
	if err != nil {
		return nil, err
	}
	s := &shorter[S]{classes: classes}
	b.merged[key] = s
	if s.classes == nil {
		return s, nil
	}
	s.scalars = make([]S, s.classes.Len())
	for i := range s.scalars {
		s.scalars[i] = scalars[s.classes.Members(i)[0]]
	}
	b.end = append(b.end, func() {
		clear(s.scalars)
		s.classes.Wipe()
	})
	return s, nil
}

// Run computes the whole batch, or returns an error. It wipes everything that was derived
// from the scalars.
func (b *Batch) Run(ctx context.Context) error {
	defer func() {
		for _, f := range slices.Backward(b.end) { // bases are closed before their points are wiped
			f()
		}
	}()
	if b.err != nil {
		return b.err
	}
	if err := b.batch.Run(ctx); err != nil {
		return err
	}
	for _, f := range b.deliver {
		f()
	}
	return nil
}

// Memory has the scalars of one proof, in the backend's own memory if it has any. Safe for
// concurrent use.
type Memory struct {
	mu   sync.Mutex
	free []func()
}

// Scalars returns n zero scalars, valid until m.Free.
func Scalars[P, S any](ctx context.Context, m *Memory, e *engine.Engine, ops *group.Ops[P, S], n int) []S {
	if s, err := ops.Group.NewScalars(ctx, e, n); err == nil {
		m.Add(s.Free)
		return s.Slice()
	}
	// The call has ended: whoever computes with these finds that out.
	s := make([]S, n)
	m.Add(func() { clear(s) })
	return s
}

// Add registers f. Free calls it, at the same time as others.
func (m *Memory) Add(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free = append(m.free, f)
}

// Free wipes and returns everything, on all processors: a proof's scalars are
// hundreds of megabytes.
func (m *Memory) Free() {
	m.mu.Lock()
	defer m.mu.Unlock()
	var wg sync.WaitGroup
	for _, f := range m.free {
		wg.Go(f)
	}
	wg.Wait()
	m.free = nil
}
