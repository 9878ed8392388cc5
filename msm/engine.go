package msm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
)

// Engine runs MSMs on its current backend.
type Engine struct {
	cfg Config

	// change serialises everything that opens or replaces a backend, so that
	// one death leads to one restart. It is a channel of capacity one, not a
	// mutex, so that waiting for it can be cancelled.
	change chan struct{}

	mu       sync.Mutex
	current  *slot
	fallback *slot // opened when first needed; may be current
	bases    map[*points]struct{}
	closed   bool
	closing  sync.WaitGroup // retired slots that are not closed yet

	events sync.Mutex
	calls  atomic.Uint64
}

// New opens an engine on cfg.Backend. An engine that cannot open it fails
// rather than fall back: that the user asked for a GPU that is not there
// should be known at the start.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	if err := layout.Check(); err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, change: make(chan struct{}, 1), bases: map[*points]struct{}{}}
	s, err := e.open(ctx, cfg.Backend)
	if err != nil {
		return nil, err
	}
	e.current = s
	e.event(EventOpened, cfg.Backend, nil)
	return e, nil
}

// Info describes the current backend.
func (e *Engine) Info() backend.Info {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.current.b.Info()
}

// Backend is the name of the current backend, as Use or Config gave it.
func (e *Engine) Backend() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.current.name
}

// Use opens the backend called name, loads every live Bases into it from
// where its owner keeps it, and makes it current. Calls in flight finish on
// the old backend, which is closed after the last of them; calls that begin
// before Use returns may go to either. On an error nothing has changed.
//
// Use with the name of the current backend opens it afresh.
func (e *Engine) Use(ctx context.Context, name string) error {
	if err := e.lockChange(ctx); err != nil {
		return err
	}
	defer e.unlockChange()
	s, err := e.openLoaded(ctx, name)
	if err != nil {
		return err
	}
	if err := e.install(s); err != nil {
		return err
	}
	e.event(EventSwapped, name, nil)
	return nil
}

// Close closes the engine and its backends after the calls in flight. Bases
// of the engine become unusable; they need no Close of their own afterwards,
// though it does no harm. Scalar buffers stay valid until their Free. Closing
// twice is no error.
func (e *Engine) Close() error {
	e.mu.Lock()
	if !e.closed {
		e.closed = true
		e.retire(e.current)
		if e.fallback != nil && e.fallback != e.current {
			e.retire(e.fallback)
		}
	}
	e.mu.Unlock()
	e.closing.Wait()
	return nil
}

// event logs and reports.
func (e *Engine) event(kind EventKind, name string, cause error) {
	ev := Event{Time: time.Now(), Kind: kind, Backend: name, Err: cause}
	if cause == nil {
		e.cfg.Log.Info("msm: backend "+string(kind), "backend", name)
	} else {
		e.cfg.Log.Warn("msm: backend "+string(kind), "backend", name, "cause", cause)
	}
	if e.cfg.OnEvent != nil {
		e.events.Lock()
		defer e.events.Unlock()
		e.cfg.OnEvent(ev)
	}
}

func (e *Engine) lockChange(ctx context.Context) error {
	select {
	case e.change <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *Engine) unlockChange() { <-e.change }

// open asks the Opener for a backend and wraps it in a slot that nobody uses
// yet.
func (e *Engine) open(ctx context.Context, name string) (*slot, error) {
	b, err := e.cfg.Open(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("opening backend %q: %w", name, err)
	}
	return &slot{name: name, b: b, ids: map[*points]*residence{}}, nil
}

// openLoaded opens a backend and makes the live bases resident in it.
func (e *Engine) openLoaded(ctx context.Context, name string) (*slot, error) {
	s, err := e.open(ctx, name)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	live := make([]*points, 0, len(e.bases))
	for p := range e.bases {
		live = append(live, p)
	}
	e.mu.Unlock()
	for _, p := range live {
		if !p.acquire() {
			continue // closed meanwhile
		}
		_, err := s.ensure(ctx, p)
		p.release()
		if err != nil {
			s.b.Close()
			return nil, fmt.Errorf("loading bases into backend %q: %w", name, err)
		}
	}
	return s, nil
}

// install makes s current and retires what was.
func (e *Engine) install(s *slot) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		s.b.Close()
		return e.errClosed()
	}
	old := e.current
	if old.dead && old == e.fallback {
		e.fallback = nil
	}
	if old != e.fallback {
		e.retire(old)
	}
	e.current = s
	return nil
}

func (e *Engine) errClosed() error { return fmt.Errorf("msm engine: %w", backend.ErrClosed) }

// acquire takes a reference to the current slot.
func (e *Engine) acquire() (*slot, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, e.errClosed()
	}
	e.current.refs++
	return e.current, nil
}

// release gives a reference back and closes a retired slot with its last.
func (e *Engine) release(s *slot) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s.refs--
	e.closeIdle(s)
}

// retire marks s so that it is closed when nobody uses it; e.mu is held.
func (e *Engine) retire(s *slot) {
	if !s.retired {
		s.retired = true
		e.closing.Add(1)
		e.closeIdle(s)
	}
}

// closeIdle closes a retired slot without users, in the background since a
// plugin's end may take seconds; e.mu is held.
func (e *Engine) closeIdle(s *slot) {
	if s.retired && s.refs == 0 {
		go func() {
			defer e.closing.Done()
			if err := s.b.Close(); err != nil && !errors.Is(err, backend.ErrGone) {
				e.cfg.Log.Warn("msm: closing backend", "backend", s.name, "cause", err)
			}
		}()
	}
}

// acquireFallback takes a reference to the fallback's slot, opening it first
// if need be.
func (e *Engine) acquireFallback(ctx context.Context) (*slot, error) {
	if err := e.lockChange(ctx); err != nil {
		return nil, err
	}
	defer e.unlockChange()
	return e.acquireFallbackLocked(ctx)
}

// acquireFallbackLocked is acquireFallback with e.change held.
func (e *Engine) acquireFallbackLocked(ctx context.Context) (*slot, error) {
	e.mu.Lock()
	s := e.fallback
	if s == nil && e.current.name == e.cfg.Fallback {
		s, e.fallback = e.current, e.current
	}
	e.mu.Unlock()
	if s == nil {
		var err error
		if s, err = e.open(ctx, e.cfg.Fallback); err != nil {
			return nil, err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		if s != e.fallback {
			s.b.Close()
		}
		return nil, e.errClosed()
	}
	e.fallback = s
	s.refs++
	return s, nil
}
