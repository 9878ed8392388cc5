package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/pippin-zk/pippin/backend"
)

// Source says what Load loads and how answers about it are checked.
type Source struct {
	backend.Bases
	// ReadOnce makes the engine read the bases during Load only; see ErrBasesLost. (A backend in
	// this process uses points where they are: each call reads those that it needs.)
	ReadOnce bool
	// Check refuses an answer that is no point of the group, or that level forbids. infinite says
	// whether the answer is infinity. nil refuses nothing.
	Check func(answer []byte, level Check) (infinite bool, err error)
	// Sum computes an MSM over the bases from offset on in this process. The engine uses it to
	// confirm answers of infinity; with nil it believes them.
	Sum func(ctx context.Context, offset, count int, scalars []byte) ([]byte, error)
}

// Bases are points that the engine keeps loaded in its backends, whichever those are at the moment.
// They are safe for concurrent use.
type Bases struct {
	e   *Engine
	src Source
	// settled is set before Load returns. From then on bases with ReadOnce are not read again.
	settled bool

	mu     sync.Mutex
	refs   int
	closed bool
	idle   chan struct{} // closed when closed is set and refs is 0
}

// Load makes bases resident in the backend that answers calls at the moment. Their source is kept
// reachable and must not change until Close, because another backend loads them again from there;
// with ReadOnce, none does. A failed Load keeps nothing.
func (e *Engine) Load(ctx context.Context, src Source) (*Bases, error) {
	if err := src.Validate(); err != nil {
		return nil, err
	}
	if err := e.begin(); err != nil {
		return nil, err
	}
	defer e.end()
	if src.ReadOnce && e.cfg.CompareEvery > 0 {
		return nil, fmt.Errorf("%w: bases to be read once with CompareEvery, which reads them again", backend.ErrInvalidInput)
	}
	b := &Bases{e: e, src: src, idle: make(chan struct{})}
	// An MSM of no scalars loads them, with the repetition and fall-back of any other call.
	_, _, err := e.MSM(ctx, []Request{{Bases: b}})
	if err == nil {
		err = e.keep(b)
	}
	if err != nil {
		b.Close()
		return nil, fmt.Errorf("loading %d bases of %v %v: %w", src.Count, src.Curve, src.Group, err)
	}
	return b, nil
}

// keep adds b to the bases that every later backend loads.
func (e *Engine) keep(b *Bases) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return errClosed()
	}
	b.settled = true
	e.bases[b] = struct{}{}
	return nil
}

// Find returns loaded bases for which at returns an index, and that index; at returns -1 for bases
// that will not do. Bases with ReadOnce are left out. The result is nil if no bases will do;
// otherwise the caller calls Release.
func (e *Engine) Find(at func(*backend.Bases) int) (b *Bases, offset int) {
	if e.none() {
		return nil, 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for b := range e.bases {
		if b.src.ReadOnce {
			continue
		}
		if offset := at(&b.src.Bases); offset >= 0 && b.Acquire() {
			return b, offset
		}
	}
	return nil, 0
}

// Spec describes what the bases were loaded from.
func (b *Bases) Spec() *backend.Bases {
	if b.none() {
		return &backend.Bases{}
	}
	return &b.src.Bases
}

// ReadOnce reports whether the bases were loaded with Source.ReadOnce.
func (b *Bases) ReadOnce() bool { return !b.none() && b.src.ReadOnce }

// Acquire takes a reference, for which Close waits. It returns false after Close.
func (b *Bases) Acquire() bool {
	if b.none() {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.refs++
	return true
}

// none reports whether b is nil or a zero value, which Load did not make.
func (b *Bases) none() bool { return b == nil || b.e == nil }

// Release gives a reference back.
func (b *Bases) Release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refs--
	if b.closed && b.refs == 0 {
		close(b.idle)
	}
}

// Close frees the bases in every backend, once the calls in flight that use them have ended.
// Closing twice is no error.
func (b *Bases) Close() error {
	if b.none() {
		return nil
	}
	b.mu.Lock()
	first := !b.closed
	b.closed = true
	if first && b.refs == 0 {
		close(b.idle)
	}
	b.mu.Unlock()
	<-b.idle
	if !first {
		return nil
	}
	return b.e.forget(b)
}

// forget drops closed bases from the engine and from all its backends, including those that are
// being opened or closed.
func (e *Engine) forget(b *Bases) error {
	e.mu.Lock()
	delete(e.bases, b)
	for _, s := range e.slots {
		delete(s.wanted, b)
	}
	var all []*generation
	for g := range e.generations {
		if g.enterLocked() {
			all = append(all, g)
		}
	}
	e.mu.Unlock()
	var first error
	for _, g := range all {
		// A backend that is gone no longer holds the bases.
		err := g.free(b)
		if fault := backend.FaultOf(err); err != nil && first == nil && fault != backend.FaultGone && fault != backend.FaultContext {
			first = fmt.Errorf("backend %s: freeing bases: %w", g.slot.name, err)
		}
		g.leave()
	}
	return first
}

// Closed reports whether Close was called.
func (b *Bases) Closed() bool {
	if b.none() {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}
