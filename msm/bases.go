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

// handle is what every Bases of one Load points to. When no Bases can be reached any more, the
// garbage collector frees the loaded bases through it.
type handle struct{ bases *engine.Bases }

// Bases are points of one group, resident in the engine's backend, whichever that is at the moment.
// They are safe for concurrent use. The caller closes them; the garbage collector frees forgotten
// ones, with a warning in the log.
type Bases[P, S any] struct {
	g          *Group[P, S]
	e          *engine.Engine
	h          *handle
	start, end int // the part that this value stands for
	whole      bool
	memo       *backend.Memo // of the points of this part
}

// Load makes points resident. The slice is kept reachable and must not change until Close, because
// a later backend loads it again from there; with ReadOnce, none does.
//
// Points must be in the subgroup of order r, as those of every proving key and setup are. For
// others a backend may answer with a point that differs from that of gnark-crypto's MultiExp.
// engine.Config.CheckInput refuses them.
func (g *Group[P, S]) Load(ctx context.Context, e *engine.Engine, pts []P, hints ...Hint) (*Bases[P, S], error) {
	return g.load(ctx, e, engine.Source{Bases: backend.Bases{Bytes: layout.Bytes(pts), Count: len(pts)}}, hints)
}

// LoadFile makes count points resident. They lie in f from offset bytes on, in memory layout: that
// is the raw part of gnark's WriteDump, not its compressed encodings. f must stay open and
// unchanged until Close. What Load demands of points applies here too.
func (g *Group[P, S]) LoadFile(ctx context.Context, e *engine.Engine, f *os.File, offset int64,
	count int, hints ...Hint) (*Bases[P, S], error) {
	return g.load(ctx, e, engine.Source{Bases: backend.Bases{File: f, FileOffset: offset, Count: count}}, hints)
}

// Hint says how bases will be used.
type Hint func(*engine.Source)

// Multiples lets the backend hold up to n precomputed multiples of every base, itself included:
// they take memory and make MSMs faster. The backend makes them before Load returns, as far as they
// pay and there is memory. Use 1, which forbids them, for bases of few MSMs. Without the hint the
// backend chooses, and may make them beside the first calls.
func Multiples(n int) Hint { return func(s *engine.Source) { s.Hints.Multiples = n } }

// Uniform says that most scalars look random, as those of commitments to quotients and openings
// do, and not like a witness's: a backend may then hold multiples that make their MSMs faster and
// others slower. Answers are the same.
func Uniform() Hint { return func(s *engine.Source) { s.Hints.Uniform = true } }

// Known gives the digest of the points (Bases.Digest). Then a daemon that holds them need not be
// sent the points, and nobody reads them to compute it. The caller vouches for it: with a wrong
// digest, answers are about other points.
func Known(d backend.Digest) Hint { return func(s *engine.Source) { s.Memo = backend.Known(d) } }

// ReadOnce makes the engine read the points during Load only, so that their owner may change them
// or free their memory afterwards. (A backend in this process uses points where they are: each call
// reads those that it needs.) Such bases end with the backend that holds them: calls on another one
// fail with engine.ErrBasesLost, and whoever has the points loads them again. They do not work with
// engine.Config.CompareEvery and DropIn.
func ReadOnce() Hint { return func(s *engine.Source) { s.ReadOnce = true } }

// usable returns why an engine takes no calls about gnark-crypto's types, or nil if it does.
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

// forgotten frees bases that can no longer be reached.
func forgotten(e *engine.Engine, b *engine.Bases) {
	if b.Closed() || e.Closed() {
		return
	}
	spec := b.Spec()
	e.Config().Log.Warn("bases were forgotten without Close and are freed now", "curve", spec.Curve, "group", spec.Group, "count", spec.Count)
	go b.Close() // on its own goroutine: the garbage collector must not wait for calls
}

// none reports whether b is nil or a zero value, which neither Load nor LoadFile made. It has no
// points and no group, and refuses every call.
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

// Core returns the engine's own bases and the index in them at which b begins. It is for the
// packages of this module that compute on bytes. They stay loaded as long as b is reachable and not
// closed.
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

// Slice returns the points from i up to but not including j, as Go's slices do. The part shares the
// resident points: closing it does nothing, and closing the Bases that Load returned ends it too.
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

// Close waits for the calls in flight that use the bases and frees them. Closing twice is no error.
func (b *Bases[P, S]) Close() error {
	if b.none() || !b.whole {
		return nil
	}
	defer runtime.KeepAlive(b.h)
	return b.h.bases.Close()
}

// Digest identifies the points by curve, group and content; see backend.Digest. The first call
// computes it on all processors and it is remembered; an error is not. Bases loaded with ReadOnce
// have none, because their points must not be read again.
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

// cut returns count points of b from offset on.
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

// MSM computes the sum of scalars[i] times base i. There must be one scalar for each base. An empty
// sum is infinity.
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
