package msm

import (
	"context"
	"fmt"
	"runtime"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
)

// Batch is several MSMs that are answered together: the backend overlaps them, and scalars that
// several of them use cross to it once. Add to it with Bases.Add. It may mix groups and curves. One
// goroutine uses it, once.
type Batch struct {
	e       *engine.Engine
	reqs    []engine.Request
	held    []*handle // keeps bases from being forgotten during Run
	first   map[scalarKey]int
	deliver []func([]byte)
	err     error
	ran     bool
	by      string
}

// scalarKey identifies scalars by their memory.
type scalarKey struct {
	curve  backend.Curve
	lo, hi uintptr
}

// Answer holds the result of one MSM of a batch.
type Answer[P any] struct{ p P }

// Point returns the result once Batch.Run has returned nil. Before, it returns infinity.
func (a *Answer[P]) Point() P { return a.p }

// NewBatch starts an empty batch on e. All of its bases must be loaded into e.
func NewBatch(e *engine.Engine) *Batch {
	err := usable(e)
	return &Batch{e: e, err: err, first: map[scalarKey]int{}}
}

// Add puts the MSM of b with scalars into the batch. Scalars in the same memory as an earlier
// addition's cross once. An error, such as unequal lengths or bases of another engine, is returned
// by Run. The slice must not change until Run returns.
func (b *Bases[P, S]) Add(batch *Batch, scalars []S) *Answer[P] {
	a := &Answer[P]{}
	switch {
	case batch == nil:
		return a
	case b.none():
		batch.fail(errNoBases())
		return a
	case b.e != batch.e:
		batch.fail(fmt.Errorf("%w: bases and batch belong to different engines", backend.ErrInvalidInput))
		return a
	case len(scalars) != b.Len():
		batch.fail(fmt.Errorf("%w: %d scalars for %d bases of %v", backend.ErrInvalidInput, len(scalars), b.Len(), b.g))
		return a
	}
	r := engine.Request{Bases: b.h.bases, Offset: b.start, Count: len(scalars), Scalars: layout.Bytes(scalars)}
	if len(scalars) > 0 {
		lo, hi := layout.Range(r.Scalars)
		key := scalarKey{b.g.curve, lo, hi}
		if i, ok := batch.first[key]; ok {
			r.Scalars, r.SameAs = nil, i+1
		} else {
			batch.first[key] = len(batch.reqs)
		}
	}
	batch.reqs = append(batch.reqs, r)
	batch.held = append(batch.held, b.h)
	batch.deliver = append(batch.deliver, func(out []byte) { a.p = b.g.point(out) })
	return a
}

func (b *Batch) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Run computes the batch. Either all of it succeeds, or Run returns an error and sets no Answer.
// When ctx ends it returns early, but not before the backend has stopped reading the scalars.
func (b *Batch) Run(ctx context.Context) error {
	if b == nil || b.first == nil {
		return fmt.Errorf("%w: no batch: a nil one, or one that NewBatch did not make", backend.ErrInvalidInput)
	}
	if b.ran {
		return fmt.Errorf("%w: a batch runs once", backend.ErrInvalidInput)
	}
	b.ran = true
	if b.err != nil || len(b.reqs) == 0 {
		return b.err
	}
	out, by, err := b.e.MSM(ctx, b.reqs)
	runtime.KeepAlive(b.held)
	if err != nil {
		return err
	}
	b.by = by
	for i, d := range b.deliver {
		d(out[i])
	}
	return nil
}

// Backend returns the name of the backend that answered, or "" before Run succeeded. The engine's
// current backend may be another by then.
func (b *Batch) Backend() string { return b.by }
