package msm

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
)

// handle is what users hold of loaded bases, so that those that nobody can
// reach any more are freed.
type handle struct{ bases *engine.Bases }

// Bases is points of one group, resident in the engine's backend, whichever
// that is at the moment. Safe for concurrent use. Close it; bases that are
// forgotten are freed by the garbage collector, with a warning in the log.
type Bases[P, S any] struct {
	g          *Group[P, S]
	e          *engine.Engine
	h          *handle
	start, end int // the part that this value stands for
	whole      bool
	memo       *backend.Memo // of these, of which there may be fewer than are loaded
}

// Load makes points resident. The slice must not change, and is kept
// reachable, until Close: a later backend loads it again from there, unless
// ReadOnce forbids it.
//
// Points must be in the subgroup of order r, as those of every proving key and
// setup are: with others a backend answers with a point that differs from
// gnark-crypto's MultiExp. engine.Config.CheckInput refuses them.
func (g *Group[P, S]) Load(ctx context.Context, e *engine.Engine, pts []P, hints ...Hint) (*Bases[P, S], error) {
	return g.load(ctx, e, engine.Source{Bases: backend.Bases{Bytes: layout.Bytes(pts), Count: len(pts)}}, hints)
}

// LoadFile makes count points resident that stand in f from offset on, in
// memory layout (the raw part of gnark's WriteDump, not its compressed
// encodings). f must stay open and unchanged until Close. For the points
// themselves holds what Load says.
func (g *Group[P, S]) LoadFile(ctx context.Context, e *engine.Engine, f *os.File, offset int64,
	count int, hints ...Hint) (*Bases[P, S], error) {
	return g.load(ctx, e, engine.Source{Bases: backend.Bases{File: f, FileOffset: offset, Count: count}}, hints)
}

// Hint tells how bases will be used.
type Hint func(*engine.Source)

// Multiples lets the backend hold up to n precomputed multiples of every
// base, itself included: more memory, faster MSMs. They are made before Load
// returns, as far as they pay and there is memory; 1 forbids them, as is right for
// bases of few MSMs. Without the hint the backend chooses, and may make them beside
// the first calls.
func Multiples(n int) Hint { return func(s *engine.Source) { s.Hints.Multiples = n } }

// Known says which digest the points have, see Bases.Digest: a daemon that holds
// them is not shown the points, and nobody reads them to hash them. The caller
// vouches for it, and with a wrong one gets answers for other points.
func Known(d backend.Digest) Hint { return func(s *engine.Source) { s.Memo = backend.Known(d) } }

// ReadOnce has the engine read the points during Load and never by itself
// afterwards: their owner may change them or give their memory back. (A backend
// in this process uses points where they are: it reads those that a call is
// about, during the call.) Such bases end with the backend that holds them:
// calls on another one fail with engine.ErrBasesLost, and whoever has the points loads
// them again. engine.Config.CompareEvery and DropIn cannot use them.
func ReadOnce() Hint { return func(s *engine.Source) { s.ReadOnce = true } }

// usable returns why an engine takes no calls about gnark-crypto's types, nil when it
// does.
func usable(e *engine.Engine) error {
	if err := curves.Check(); err != nil {
		return err
	}
	return e.Err()
}

func (g *Group[P, S]) load(ctx context.Context, e *engine.Engine, src engine.Source, hints []Hint) (*Bases[P, S], error) {
	if err := usable(e); err != nil {
		return nil, err
	}
	src.Curve, src.Group = g.curve, g.group
	src.Hints.Check = e.Config().CheckInput
	src.Memo = backend.NewMemo()
	for _, h := range hints {
		h(&src)
	}
	if err := src.Validate(); err != nil {
		return nil, err
	}
	if src.Hints.Check {
		if err := g.checkBases(ctx, &src.Bases); err != nil {
			return nil, fmt.Errorf("loading %d bases of %v: %w", src.Count, g, err)
		}
	}
	src.Check = g.checkAnswer
	if spec := src.Bases; !src.ReadOnce {
		src.Sum = func(ctx context.Context, offset, count int, scalars []byte) ([]byte, error) {
			return g.sum(ctx, &spec, offset, count, scalars)
		}
	}
	loaded, err := e.Load(ctx, src)
	if err != nil {
		return nil, err
	}
	h := &handle{loaded}
	runtime.AddCleanup(h, func(b *engine.Bases) { forgotten(e, b) }, loaded)
	return &Bases[P, S]{g: g, e: e, h: h, end: src.Count, whole: true, memo: src.Memo}, nil
}

// forgotten frees bases that nobody can use any more.
func forgotten(e *engine.Engine, b *engine.Bases) {
	if b.Closed() || e.Closed() {
		return
	}
	spec := b.Spec()
	e.Config().Log.Warn("bases were forgotten without Close and are freed now", "curve", spec.Curve, "group", spec.Group, "count", spec.Count)
	go b.Close() // the garbage collector does not wait for calls
}

// none reports whether neither Load nor LoadFile made the bases. They have no points
// and no group, and refuse every call.
func (b *Bases[P, S]) none() bool { return b == nil || b.h == nil }

func errNoBases() error {
	return fmt.Errorf("%w: no bases: nil ones, or such as Load did not make", backend.ErrInvalidInput)
}

// Group returns the group of the points.
func (b *Bases[P, S]) Group() *Group[P, S] {
	if b.none() {
		return nil
	}
	return b.g
}

// Core returns the bases that Load returned without gnark-crypto's types, and where in
// them b begins, for packages beside this one. They stay loaded as long as b is
// reachable and not closed.
func (b *Bases[P, S]) Core() (bases *engine.Bases, offset int) {
	if b.none() {
		return nil, 0
	}
	return b.h.bases, b.start
}

// Len returns the number of points.
func (b *Bases[P, S]) Len() int {
	if b.none() {
		return 0
	}
	return b.end - b.start
}

// Slice returns points i up to but not including j of b, as with Go's slices.
// It shares what is resident: closing it does nothing, closing the Bases that
// Load returned ends it too.
func (b *Bases[P, S]) Slice(i, j int) (*Bases[P, S], error) {
	if b.none() {
		return nil, errNoBases()
	}
	if i < 0 || j < i || j > b.Len() {
		return nil, fmt.Errorf("%w: [%d:%d] of %d bases", backend.ErrInvalidInput, i, j, b.Len())
	}
	part := *b
	part.start, part.end, part.whole, part.memo = b.start+i, b.start+j, false, backend.NewMemo()
	return &part, nil
}

// Close frees the bases after the calls in flight that use them. Closing
// twice is no error.
func (b *Bases[P, S]) Close() error {
	if b.none() || !b.whole {
		return nil
	}
	defer runtime.KeepAlive(b.h)
	return b.h.bases.Close()
}

// Digest names the points by curve, group and content, see backend.Digest. It
// is computed when it is first asked for, by all processors, and remembered; an
// error is not. Bases that were loaded with ReadOnce cannot be read for it.
func (b *Bases[P, S]) Digest(ctx context.Context) (backend.Digest, error) {
	if b.none() {
		return backend.Digest{}, errNoBases()
	}
	p := b.h.bases
	defer runtime.KeepAlive(b.h)
	switch {
	case p.ReadOnce():
		return backend.Digest{}, fmt.Errorf("%w: a digest of bases that were to be read once", backend.ErrInvalidInput)
	case !p.Acquire():
		return backend.Digest{}, fmt.Errorf("bases: %w", backend.ErrClosed)
	}
	defer p.Release()
	part := cut(p.Spec(), b.start, b.Len())
	part.Memo = b.memo
	return part.Digest(ctx)
}

// cut returns count of the points from offset on.
func cut(b *backend.Bases, offset, count int) backend.Bases {
	part := *b
	part.Memo = nil
	size := b.Curve.PointBytes(b.Group)
	part.Count = count
	if b.File != nil {
		part.FileOffset += int64(offset) * int64(size)
	} else {
		part.Bytes = b.Bytes[offset*size : (offset+count)*size]
	}
	return part
}

// MSM computes the sum of scalars[i] * base i. It wants as many scalars as there
// are bases. An empty sum is infinity.
func (b *Bases[P, S]) MSM(ctx context.Context, scalars []S) (P, error) {
	var zero P
	if b.none() {
		return zero, errNoBases()
	}
	batch := NewBatch(b.e)
	a := b.Add(batch, scalars)
	if err := batch.Run(ctx); err != nil {
		return zero, err
	}
	return a.Point(), nil
}
