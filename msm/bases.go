package msm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
)

// points is loaded bases without their type: what the engine keeps.
type points struct {
	spec   backend.Bases
	check  func(answer []byte, level Check) error
	lo, hi uintptr // address range of spec.Bytes

	readOnce bool
	loaded   bool // set before Load returns

	mu     sync.Mutex
	refs   int
	closed bool
	idle   chan struct{} // closed when closed is set and refs is 0
}

// acquire takes a reference, or answers false after close.
func (p *points) acquire() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.refs++
	return true
}

func (p *points) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refs--
	if p.closed && p.refs == 0 {
		close(p.idle)
	}
}

// close refuses new references and waits for the old ones; it answers false
// when somebody closed p before.
func (p *points) close() bool {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		<-p.idle
		return false
	}
	p.closed = true
	if p.refs == 0 {
		close(p.idle)
	}
	p.mu.Unlock()
	<-p.idle
	return true
}

// Bases is points of one group, resident in the engine's backend, whichever
// that is at the moment. Safe for concurrent use.
type Bases[P, J, S any] struct {
	g          *Group[P, J, S]
	e          *Engine
	p          *points
	start, end int // the part that this value stands for
	whole      bool
}

// Load makes points resident. The slice must not change, and is kept
// reachable, until Close: a later backend loads it again from there, unless
// ReadOnce forbids it.
func (g *Group[P, J, S]) Load(ctx context.Context, e *Engine, pts []P, hints ...Hint) (*Bases[P, J, S], error) {
	b := layout.Bytes(pts)
	p := &points{spec: backend.Bases{Bytes: b}}
	p.lo, p.hi = layout.Range(b)
	return g.load(ctx, e, p, len(pts), hints)
}

// LoadFile makes count points resident that stand in f from offset on, in
// memory layout (the raw part of gnark's WriteDump, not its compressed
// encodings). f must stay open and unchanged until Close.
func (g *Group[P, J, S]) LoadFile(ctx context.Context, e *Engine, f *os.File, offset int64, count int, hints ...Hint) (*Bases[P, J, S], error) {
	return g.load(ctx, e, &points{spec: backend.Bases{File: f, FileOffset: offset}}, count, hints)
}

// Hint tells how bases will be used.
type Hint func(*points)

// Multiples lets the backend hold up to n precomputed multiples of every
// base, itself included: more memory, faster MSMs. 1 forbids precomputing;
// without the hint the backend chooses.
func Multiples(n int) Hint { return func(p *points) { p.spec.Hints.Multiples = n } }

// ReadOnce has the engine read the points during Load and never by itself
// afterwards: their owner may change them or give their memory back. (A backend
// in this process uses points where they are: it reads those that a call is
// about, during the call.) Such bases end with the backend that holds them:
// calls on another one fail with ErrBasesLost, and whoever has the points loads
// them again. Config.CompareEvery and DropIn cannot use them.
func ReadOnce() Hint { return func(p *points) { p.readOnce = true } }

// ErrBasesLost is wrapped by the errors of calls on bases that were loaded with
// ReadOnce into a backend that no longer answers. Close them, and load them
// again.
var ErrBasesLost = errors.New("bases lost with their backend")

func (g *Group[P, J, S]) load(ctx context.Context, e *Engine, p *points, count int, hints []Hint) (*Bases[P, J, S], error) {
	p.spec.Curve, p.spec.Group, p.spec.Count = g.curve, g.group, count
	p.spec.Hints.Check = e.cfg.CheckInput
	for _, h := range hints {
		h(p)
	}
	if p.readOnce && e.cfg.CompareEvery > 0 {
		return nil, fmt.Errorf("%w: ReadOnce with CompareEvery, which reads bases again", backend.ErrInvalidInput)
	}
	p.idle = make(chan struct{})
	p.check = g.checkAnswer
	if err := p.spec.Validate(); err != nil {
		return nil, err
	}
	// An MSM of nothing loads the bases under the engine's rules of
	// repetition and fall-back.
	if _, _, err := e.run(ctx, []request{{p: p}}); err != nil {
		return nil, fmt.Errorf("loading %d bases of %v: %w", count, g, err)
	}
	p.loaded = true
	if !p.readOnce {
		e.mu.Lock()
		e.bases[p] = struct{}{}
		e.mu.Unlock()
	}
	return &Bases[P, J, S]{g: g, e: e, p: p, end: count, whole: true}, nil
}

func (g *Group[P, J, S]) checkAnswer(answer []byte, level Check) error {
	p := g.point(answer)
	if level >= CheckCurve && !g.onCurve(&p) {
		return fmt.Errorf("a point off the curve %v", g)
	}
	if level >= CheckSubgroup && !g.inGroup(&p) {
		return fmt.Errorf("a point outside the subgroup of %v", g)
	}
	return nil
}

// Len is the number of points.
func (b *Bases[P, J, S]) Len() int { return b.end - b.start }

// Slice is points i up to but not including j of b, as with Go's slices.
// It shares what is resident: closing it does nothing, closing the Bases that
// Load returned ends it too.
func (b *Bases[P, J, S]) Slice(i, j int) (*Bases[P, J, S], error) {
	if i < 0 || j < i || j > b.Len() {
		return nil, fmt.Errorf("%w: [%d:%d] of %d bases", backend.ErrInvalidInput, i, j, b.Len())
	}
	part := *b
	part.start, part.end, part.whole = b.start+i, b.start+j, false
	return &part, nil
}

// Close frees the bases after the calls in flight that use them. Closing
// twice is no error.
func (b *Bases[P, J, S]) Close() error {
	if !b.whole || !b.p.close() {
		return nil
	}
	return b.e.forget(b.p)
}

// forget drops closed points from the engine and its backends.
func (e *Engine) forget(p *points) error {
	e.mu.Lock()
	delete(e.bases, p)
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	slots := []*slot{e.current}
	if e.fallback != nil && e.fallback != e.current {
		slots = append(slots, e.fallback)
	}
	for _, s := range slots {
		s.refs++
	}
	e.mu.Unlock()
	var first error
	for _, s := range slots {
		// A backend that is gone has forgotten the bases by itself.
		if err := s.free(p); err != nil && first == nil && !isGone(err) {
			first = err
		}
		e.release(s)
	}
	return first
}

// MSM is the sum of scalars[i] * base i. It wants as many scalars as there
// are bases. An empty sum is infinity.
func (b *Bases[P, J, S]) MSM(ctx context.Context, scalars []S) (P, error) {
	batch := b.e.NewBatch()
	a := b.Add(batch, scalars)
	if err := batch.Run(ctx); err != nil {
		var zero P
		return zero, err
	}
	return a.Point(), nil
}
