package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// call is one call on its way to an answer.
type call struct {
	jobs, points int // for the observer
	began        time.Time
	passed       []*slot // gave no answer
	deaths       int     // of backends under it
	failures     []failed
	// fits says whether a generation may be asked; nil is all.
	fits func(*generation) bool
	// can says why a backend, whatever its state, cannot do it; nil is all can.
	can func(backend.Info) error
	// brief: it does without an answer sooner than wait for a repair.
	brief bool
}

// failed is why a slot gave no answer.
type failed struct {
	slot *slot
	err  error
}

// do sees to it that a call gets an answer whatever happens to backends: f
// computes on the one it is given, and decide says what follows when it fails.
// The result is the name of the backend that answered.
func (e *Engine) do(ctx context.Context, c *call, f func(context.Context, *generation) error) (by string, err error) {
	if err := e.begin(); err != nil {
		return "", err
	}
	asked := ctx
	ctx, ended := e.Observe(ctx, Phase{Kind: PhaseCall, Jobs: c.jobs, Points: c.points})
	defer func() {
		ended(err)
		if err != nil {
			e.sum(func(st *Stats) {
				st.Failed++
				if asked.Err() != nil {
					st.Canceled++
				}
			})
		}
		e.end()
	}()
	c.began = time.Now()
	for {
		g, err := e.pick(ctx, c)
		if err != nil {
			return "", err
		}
		act, err := e.try(ctx, c, g, f)
		switch {
		case err == nil:
			return g.slot.name, nil
		case act == fail && ctx.Err() != nil:
			return "", backend.Ended(ctx)
		case act == fail:
			return "", c.err()
		}
	}
}

// try computes on g, and says what follows.
func (e *Engine) try(ctx context.Context, c *call, g *generation, f func(context.Context, *generation) error) (action, error) {
	defer g.exit() // also when f panics
	if err := f(ctx, g); err != nil {
		return e.settle(ctx, c, g, err), err
	}
	e.answered(g)
	return fail, nil
}

// err is why the backends that were asked gave no answer.
func (c *call) err() (err error) {
	for _, f := range c.failures {
		err = both(err, f.err)
	}
	return err
}

// both is two errors in one line.
func both(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil || errors.Is(a, b):
		return a
	}
	return fmt.Errorf("%w; %w", a, b)
}

// answered counts.
func (e *Engine) answered(g *generation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	g.proven = true
	e.countersLocked(g.slot.name).Answered++
	e.stats.Answered++
	if slices.Index(e.slots, g.slot) > 0 {
		e.stats.FallBacks++
	}
}

// settle notes a call's failure on g, has decide say what follows, and applies it.
func (e *Engine) settle(ctx context.Context, c *call, g *generation, err error) action {
	e.count(g.slot.name, func(b *BackendStats) { b.Failed++ })
	c.failures = slices.DeleteFunc(c.failures, func(f failed) bool { return f.slot == g.slot })
	c.failures = append(c.failures, failed{g.slot, fmt.Errorf("backend %s: %w", g.slot.name, err)})
	e.mu.Lock()
	more := slices.ContainsFunc(e.slots, func(s *slot) bool { return s != g.slot && c.openLocked(s) })
	ended := e.forced || ctx.Err() != nil
	e.mu.Unlock()
	if isGone(err) {
		c.deaths++
	}
	act, cure := decide(failure{err: err, ended: ended, deaths: c.deaths, allowed: e.cfg.Restarts, more: more})
	g.apply(cure, err)
	if act == next {
		if cure == keep {
			e.events.add(Event{Kind: EventFailed, Backend: g.slot.name, Err: err})
		}
		c.passed = append(c.passed, g.slot)
	}
	return act
}

// sum changes the engine's own statistics.
func (e *Engine) sum(f func(*Stats)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f(&e.stats)
}

// refuse retires the slot of a backend that answered wrongly.
func (e *Engine) refuse(g *generation, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stats.Refused++
	g.refused = err
	if g.slot.gen == g {
		e.events.add(Event{Kind: EventWrong, Backend: g.slot.name, Err: err})
		g.slot.retireLocked(fmt.Errorf("backend %s is not asked any more: %w; Use asks it again", g.slot.name, err))
	}
}

// wantsLocked tells whether the call may still go to a slot.
func (c *call) wantsLocked(s *slot) bool {
	// Bases that may not be read again are where they are.
	return c.openLocked(s) && (c.fits == nil || s.gen != nil && c.fits(s.gen))
}

// openLocked is wantsLocked, whatever is loaded there.
func (c *call) openLocked(s *slot) bool {
	return s.state != StateRetired && !slices.Contains(c.passed, s) && c.unableLocked(s) == nil
}

// unableLocked is why a backend cannot do what is called for, as far as it is known;
// Engine.mu is held.
func (c *call) unableLocked(s *slot) error {
	if c.can == nil || s.info == nil {
		return nil
	}
	return c.can(*s.info)
}

// isGone tells that the backend of a failed call is not there any more.
func isGone(err error) bool {
	return backend.FaultOf(err) == backend.FaultGone || errors.Is(err, backend.ErrClosed)
}

// awaitedLocked tells whether calls wait for the slot, given that there is another
// one after it.
func (s *slot) awaitedLocked(more bool) bool {
	switch s.state {
	case StateIdle:
		return true
	case StateOpening:
		return !more || time.Now().Before(s.hope)
	}
	return false
}

// pick takes a reference to the generation that is to answer the call, with
// exit. It waits for one as Config.Patience has it.
func (e *Engine) pick(ctx context.Context, c *call) (*generation, error) {
	g, wake, until, err := e.reserve(ctx, c)
	if g != nil || err != nil {
		return g, err
	}
	e.sum(func(st *Stats) { st.Waiting++ })
	defer e.sum(func(st *Stats) { st.Waiting-- })
	ctx, end := e.Observe(ctx, Phase{Kind: PhaseWait, Jobs: c.jobs, Points: c.points})
	defer func() { end(err) }()
	for g == nil && err == nil {
		t := time.NewTimer(time.Until(until))
		select {
		case <-wake:
		case <-t.C:
		case <-ctx.Done():
			err = both(backend.Ended(ctx), c.err())
		}
		t.Stop()
		if err == nil {
			g, wake, until, err = e.reserve(ctx, c)
		}
	}
	return g, err
}

// reserve takes a reference to the generation that is to answer the call. If none
// is ready it returns what to wait for and until when, or why there is nothing to
// wait for. It starts the slots that it comes to and nobody needed yet, and tells
// when another one than the preferred answers.
func (e *Engine) reserve(ctx context.Context, c *call) (g *generation, wake <-chan struct{}, until time.Time, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.forced {
		return nil, nil, until, errClosed()
	}
	if err := backend.Ended(ctx); err != nil {
		return nil, nil, until, err
	}
	now := time.Now()
	var before *slot // that would have been better
	for i, s := range e.slots {
		if !c.wantsLocked(s) {
			if before == nil {
				before = s
			}
			continue
		}
		if s.state == StateIdle {
			s.startLocked(false, nil)
			s.hope = now.Add(e.cfg.Patience)
		}
		if s.state == StateReady {
			s.gen.refs++
			e.countersLocked(s.name).InFlight++
			e.passedOverLocked(c, before, s)
			return s.gen, nil, until, nil
		}
		more := slices.ContainsFunc(e.slots[i+1:], c.wantsLocked)
		if until = c.patienceLocked(ctx, s, more); until.After(now) {
			return nil, e.moved, until, nil
		}
		if before == nil {
			before = s
		}
	}
	return nil, nil, until, e.nobodyLocked(c)
}

// patienceLocked is until when the call waits for a slot that is not ready; more
// tells that it could go to another one.
func (c *call) patienceLocked(ctx context.Context, s *slot, more bool) time.Time {
	own := c.began.Add(s.e.cfg.Patience)
	switch deadline, ok := ctx.Deadline(); {
	case more && ok:
		// The other one needs time too.
		half := c.began.Add(deadline.Sub(c.began) / 2)
		if half.Before(s.hope) {
			return half
		}
		return s.hope
	case more:
		return s.hope
	case c.brief && s.state == StateBroken:
		return time.Time{}
	case !c.brief && s.state == StateOpening:
		return time.Now().Add(time.Hour) // it ends by itself
	}
	return own
}

// passedOverLocked tells that s answers instead of a better slot.
func (e *Engine) passedOverLocked(c *call, better, s *slot) {
	switch {
	case better == nil:
	case better.gen != nil: // it cannot answer this call
		if slices.Contains(c.passed, better) {
			e.events.add(Event{Kind: EventFallback, Backend: s.name, Err: c.err()})
		}
	case !better.announced:
		better.announced = true
		e.events.add(Event{Kind: EventFallback, Backend: s.name, Lasting: true, Err: better.err})
	}
}

// nobodyLocked returns the error of a call that no backend can answer.
func (e *Engine) nobodyLocked(c *call) error {
	err := c.err()
	if c.fits != nil {
		err = both(err, e.slots[0].lacks())
	}
	for _, s := range e.slots {
		if !slices.Contains(c.passed, s) {
			err = both(err, both(s.err, c.unableLocked(s)))
		}
	}
	if err == nil {
		err = fmt.Errorf("%w: backend %s is not open yet", backend.ErrUnavailable, e.slots[0].name)
	}
	return err
}

// exit ends a call on g.
func (g *generation) exit() {
	g.e.count(g.slot.name, func(c *BackendStats) { c.InFlight-- })
	g.leave()
}
