package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/resident"
)

// slot is the position of one backend in the order of preference. Its owner opens, reloads and
// gives up its generations, one after the other. Calls only look whether there is one.
type slot struct {
	e    *Engine
	name string

	// ctx is the owner's; it ends when the slot is retired.
	ctx  context.Context
	stop context.CancelFunc

	// Under Engine.mu:
	lifecycle
	gen  *generation   // when ready
	info *backend.Info // of the last generation
	// announced says that an event has told of another backend answering from now on.
	announced bool
	wanted    map[*Bases]struct{} // what the last generation held
}

// newSlot makes a slot that nobody owns yet.
func (e *Engine) newSlot(name string) *slot {
	s := &slot{e: e, name: name, lifecycle: lifecycle{state: StateIdle}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// startLocked gives an idle slot its owner. Calls wait for it until hope although there is a next
// slot. The returned channel gets the outcome of the first opening; with once, a failed first
// opening retires the slot. If after is not nil, the owner begins when it is closed.
func (s *slot) startLocked(hope time.Time, once bool, after <-chan struct{}) <-chan error {
	s.start(hope)
	first := make(chan error, 1)
	s.e.background.Go(func() { s.own(once, after, first) })
	return first
}

// own is the slot's owner. It opens the backend, and opens it again whenever it is gone, until the
// slot is retired.
func (s *slot) own(once bool, after <-chan struct{}, first chan<- error) {
	if after != nil {
		select {
		case <-after:
		case <-s.ctx.Done():
		}
	}
	pauses := &backoff.ExponentialBackOff{
		InitialInterval: s.e.cfg.RetryPause, MaxInterval: s.e.cfg.RetryMax,
		Multiplier: 2, RandomizationFactor: 0.2,
	}
	pauses.Reset()
	for tries := 0; s.ctx.Err() == nil || tries == 0; tries++ {
		g, err := s.bring(once && tries == 0)
		if tries == 0 {
			first <- err
		}
		switch {
		case err == nil:
			select {
			case <-g.ctx.Done():
			case <-s.ctx.Done():
			}
			if s.hasPromise() {
				pauses.Reset()
				s.e.events.flush(flushLimit)
				continue // open it once more, at once
			}
		case errors.Is(err, ErrWrongAnswer):
			s.accused(err)
			return
		case once && tries == 0:
			s.retired(err)
			return
		default:
			s.change(func() { s.failed(err) })
		}
		pause(s.ctx, pauses.NextBackOff())
		s.e.events.flush(flushLimit)
	}
}

// bring opens the backend, loads its bases and makes it ready. With strict, it fails if the backend
// lacks room for some bases.
func (s *slot) bring(strict bool) (*generation, error) {
	s.change(s.retry)
	b, err := within(s.ctx, s.e.cfg.OpenTimeout, func(ctx context.Context) (backend.Backend, error) {
		return s.e.cfg.Open(ctx, s.name)
	}, func(late backend.Backend) { late.Close() })
	if err != nil {
		return nil, fmt.Errorf("opening backend %q: %w", s.name, err)
	}
	g := s.e.adopt(s, b)
	err = s.reload(g, strict)
	if err == nil && s.repairing() {
		err = g.ping()
	}
	if err == nil {
		err = g.known(s.ctx)
	}
	if err == nil {
		err = s.install(g)
	}
	if err != nil {
		s.e.mu.Lock()
		g.retireLocked()
		s.e.mu.Unlock()
		return nil, err
	}
	return g, nil
}

// reload loads the bases that calls will need: every one in the preferred slot, elsewhere those
// that the last generation held.
func (s *slot) reload(g *generation, strict bool) error {
	ctx, stop := g.bind(s.ctx)
	defer stop()
	done := map[*Bases]bool{}
	for range 3 { // others may be loaded meanwhile
		for _, b := range s.reloadable() {
			if done[b] || !b.Acquire() {
				continue // closed meanwhile
			}
			done[b] = true
			_, err := g.ensure(ctx, b)
			b.Release()
			switch {
			case g.ctx.Err() != nil:
				return context.Cause(g.ctx)
			case s.ctx.Err() != nil:
				return errRetired
			case err != nil && (strict || backend.FaultOf(err) == backend.FaultGone):
				return fmt.Errorf("loading bases into backend %q: %w", s.name, err)
			}
			// If some have no room here, calls on them go to the next backend.
		}
	}
	return nil
}

// errRetired ends an opening that is no longer wanted.
var errRetired = fmt.Errorf("%w: backend was replaced", backend.ErrClosed)

// install makes g answer calls.
func (s *slot) install(g *generation) error {
	e := s.e
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case s.state == StateRetired:
		return errRetired
	case g.ctx.Err() != nil:
		return context.Cause(g.ctx)
	}
	info := g.info // a copy: it outlives g
	s.gen, s.info = g, &info
	if repaired := s.ready(); repaired != nil {
		g.fresh = true
		e.countersLocked(s.name).Restarts++
		e.events.add(Event{Kind: EventRestart, Backend: s.name, Err: repaired})
	}
	s.returnedLocked()
	e.changedLocked()
	return nil
}

// returnedLocked sends the event that ends a lasting fall-back, if there was one.
func (s *slot) returnedLocked() {
	if s.announced {
		s.announced = false
		s.e.events.add(Event{Kind: EventReturned, Backend: s.name})
	}
}

// lostLocked records the end of a generation.
func (s *slot) lostLocked(g *generation, cause error) {
	if s.gen != g {
		return // it never answered calls, or does not any more
	}
	s.gen = nil
	s.wanted = g.wanted()
	s.lost(cause, g.lifeLocked(), time.Now().Add(s.e.cfg.Patience))
	s.e.countersLocked(s.name).Deaths++
	s.e.events.add(Event{Kind: EventGone, Backend: s.name, Err: cause})
	s.e.changedLocked()
}

// retireLocked ends the slot for the reason err.
func (s *slot) retireLocked(err error) {
	if !s.retire(err) {
		return
	}
	if s.gen != nil {
		s.gen.retireLocked()
		s.gen = nil
	}
	s.stop()
	s.e.changedLocked()
}

// retired does what retireLocked does, and takes the lock.
func (s *slot) retired(err error) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	s.retireLocked(err)
}

// change makes a transition and wakes the calls that wait.
func (s *slot) change(transition func()) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	transition()
	s.e.changedLocked()
}

// repairing reports whether the backend is being opened again after a failure.
func (s *slot) repairing() bool {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	return s.err != nil
}

// hasPromise reports whether the backend should be opened again without a pause.
func (s *slot) hasPromise() bool {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	return s.promising()
}

// reloadable lists the bases that a new generation loads: every one in the preferred slot,
// elsewhere those that the last generation held. Large ones come first.
func (s *slot) reloadable() []*Bases {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	from := s.wanted
	if s.e.slots[0] == s || s.e.coming == s {
		from = s.e.bases
	}
	var all []*Bases
	for b := range from {
		if !b.src.ReadOnce {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b *Bases) int { return cmp.Compare(b.src.Size(), a.src.Size()) })
	return all
}

// lacks returns the error of calls on bases that are not loaded here and must not be read again.
func (s *slot) lacks() error {
	return fmt.Errorf("%w: they are not in backend %s and were to be read once", ErrBasesLost, s.name)
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// unresponsive is how long a function may take to return after its context has ended.
const unresponsive = time.Second

// within calls f with a time limit. If f ignores the end of its context, within returns without it;
// late gets what f returns afterwards.
func within[T any](ctx context.Context, limit time.Duration, f func(context.Context) (T, error), late func(T)) (T, error) {
	type result struct {
		v   T
		err error
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
	defer cancel()
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() { done <- r }()
		defer resident.Caught(&r.err)
		r.v, r.err = f(ctx)
	}()
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
	}
	t := time.NewTimer(unresponsive)
	defer t.Stop()
	select {
	case r := <-done:
		return r.v, r.err
	case <-t.C:
	}
	if late != nil {
		go func() {
			if r := <-done; r.err == nil {
				late(r.v)
			}
		}()
	}
	var none T
	return none, backend.Ended(ctx)
}

// limited does what within does, for a function that returns only an error.
func limited(limit time.Duration, f func(context.Context) error) error {
	_, err := within(context.Background(), limit, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) }, nil)
	return err
}
