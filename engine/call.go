package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// call is one call on its way to an answer. do counts and observes it, attempt tries backends until
// one answers, await and reserve find the backend, and settle decides what follows a failure.
type call struct {
	jobs, points int // for the observer
	began        time.Time
	passed       []*slot // asked already; they gave no answer
	deaths       int     // of backends while they computed this call
	failures     []failed
	subject      subject
	asking       *refusal // the call asks again whether the backend still refuses such calls
	silent       bool     // its last failure is no news
	// fits says whether a generation may be asked; nil accepts every one.
	fits func(*generation) bool
	// can returns why a backend is unable to compute the call, whatever its state; nil means that
	// every backend can.
	can func(backend.Info) error
	// brief makes the call fail rather than wait for a repair.
	brief bool
	// only makes the call fail when its first backend gives no answer, instead of asking another.
	only bool
	// restarts is how many backends may die during the call and still have it repeated on them.
	restarts int
}

// failed says why a slot gave no answer.
type failed struct {
	slot *slot
	err  error
}

// do sees a call through to an answer, whatever happens to backends. It counts the call and tells
// the observer. f computes on the backend that it is given. by is the name of the backend that
// answered.
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
	c.restarts = e.cfg.Restarts
	return e.attempt(ctx, c, func(ctx context.Context, g *generation) error {
		began := time.Now()
		err := f(ctx, g)
		c.silent = !g.remember(c, time.Since(began), err)
		e.countOutcome(ctx, c, g, err)
		return err
	})
}

// attempt tries backends until one answers, or nothing is left to try.
func (e *Engine) attempt(ctx context.Context, c *call, f func(context.Context, *generation) error) (by string, err error) {
	c.began = time.Now()
	for {
		g, err := e.await(ctx, c)
		if err != nil {
			return "", err
		}
		switch course, err := e.try(ctx, c, g, f); {
		case err == nil:
			return g.slot.name, nil
		case course == giveUp && ctx.Err() != nil:
			return "", backend.Ended(ctx)
		case course == giveUp:
			return "", c.err()
		}
	}
}

// try computes on g, which await reserved. If the call fails, try returns how it goes on.
func (e *Engine) try(ctx context.Context, c *call, g *generation, f func(context.Context, *generation) error) (course, error) {
	defer g.exit() // also when f panics
	defer g.asked(c)
	hedged, stop := e.hedge(ctx, c, g)
	defer stop()
	err := f(hedged, g)
	if err == nil {
		return giveUp, nil
	}
	if context.Cause(hedged) == errSilent && backend.FaultOf(err) == backend.FaultContext {
		err = errSilent
	}
	return e.settle(ctx, c, g, err), err
}

// await reserves the generation that is to answer the call; exit gives it back. It waits as long as
// patienceLocked says.
func (e *Engine) await(ctx context.Context, c *call) (*generation, error) {
	g, w, err := e.reserve(ctx, c)
	if g != nil || err != nil {
		return g, err
	}
	e.sum(func(st *Stats) { st.Waiting++ })
	defer e.sum(func(st *Stats) { st.Waiting-- })
	ctx, end := e.Observe(ctx, Phase{Kind: PhaseWait, Jobs: c.jobs, Points: c.points})
	defer func() { end(err) }()
	for g == nil && err == nil {
		t := time.NewTimer(time.Until(w.until))
		select {
		case <-w.moved:
		case <-t.C:
		case <-ctx.Done():
			err = both(backend.Ended(ctx), c.err())
		}
		t.Stop()
		if err == nil {
			g, w, err = e.reserve(ctx, c)
		}
	}
	return g, err
}

// waiting says what a call waits for: a change of any slot, but not longer than until.
type waiting struct {
	moved <-chan struct{}
	until time.Time
}

// reserve takes a reference to the first generation, in the order of preference, that can answer
// the call. It starts a slot that was never needed, and reports a better slot that it passes over.
// Without a generation it returns what to wait for, or an error if nothing is worth waiting for.
func (e *Engine) reserve(ctx context.Context, c *call) (*generation, waiting, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.forced {
		return nil, waiting{}, errClosed()
	}
	if err := backend.Ended(ctx); err != nil {
		return nil, waiting{}, err
	}
	now := time.Now()
	var better *slot // which is unable to answer this call now
	for i, s := range e.slots {
		if c.wantsLocked(s) {
			if s.state == StateIdle {
				s.startLocked(now.Add(e.cfg.Patience), false, nil)
			}
			more := slices.ContainsFunc(e.slots[i+1:], c.wantsLocked)
			if more && s.open() && c.putOffLocked(ctx, s) {
				better = cmp.Or(better, s)
				continue
			}
			if s.open() || s.state == StateSuspect && !more && !c.brief {
				s.gen.refs++
				e.countersLocked(s.name).InFlight++
				e.passedOverLocked(c, better, s)
				return s.gen, waiting{}, nil
			}
			if until := c.patienceLocked(ctx, s, more); until.After(now) {
				return nil, waiting{e.moved, until}, nil
			}
		}
		if better == nil {
			better = s
		}
	}
	return nil, waiting{}, e.nobodyLocked(c)
}

// putOffLocked reports whether the call passes a slot over, whose backend has refused calls like it.
// The refusal counts as one more.
func (c *call) putOffLocked(ctx context.Context, s *slot) bool {
	err := s.gen.putOff(c, true)
	if err == nil {
		return false
	}
	s.gen.outcomeLocked(ctx, err)
	c.passed, c.silent = append(c.passed, s), true
	c.failures = append(c.failures, failed{s, fmt.Errorf("backend %s: %w", s.name, err)})
	return true
}

// wantsLocked reports whether the call may still be sent to a slot.
func (c *call) wantsLocked(s *slot) bool {
	// Bases that must not be read again exist only where they are loaded.
	return c.openLocked(s) && (c.fits == nil || s.gen != nil && c.fits(s.gen))
}

// openLocked does what wantsLocked does, but ignores which bases are loaded.
func (c *call) openLocked(s *slot) bool {
	return s.state != StateRetired && !slices.Contains(c.passed, s) && c.unableLocked(s) == nil
}

// unableLocked returns why a slot's backend is unable to compute the call, as far as that is known.
func (c *call) unableLocked(s *slot) error {
	if c.can == nil || s.info == nil {
		return nil
	}
	return c.can(*s.info)
}

// patienceLocked returns the time until which the call waits for a slot that is not ready. more says
// that another slot could answer it.
func (c *call) patienceLocked(ctx context.Context, s *slot, more bool) time.Time {
	own := c.began.Add(s.e.cfg.Patience)
	switch deadline, ok := ctx.Deadline(); {
	case s.state == StateSuspect && c.brief:
		return time.Time{}
	case s.state == StateSuspect && ok:
		// A suspect backend usually recovers, but the call must not miss its deadline for that.
		return earliest(s.hope, c.began.Add(deadline.Sub(c.began)/8))
	case more && ok:
		// Half of the time is left for the other backend.
		return earliest(s.hope, c.began.Add(deadline.Sub(c.began)/2))
	case more:
		return s.hope
	case c.brief && s.state == StateBroken:
		return time.Time{}
	case !c.brief && s.state == StateOpening:
		return time.Now().Add(time.Hour) // the opening ends by itself, by OpenTimeout
	}
	return own
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// passedOverLocked sends an event when s answers in place of a better slot.
func (e *Engine) passedOverLocked(c *call, better, s *slot) {
	switch {
	case better == nil:
	case better.state == StateReady: // able to answer other calls, but not this one
		if slices.Contains(c.passed, better) && !c.silent {
			e.events.add(Event{Kind: EventFallback, Backend: s.name, Err: c.err()})
		}
	case !better.announced:
		better.announced = true
		e.events.add(Event{Kind: EventFallback, Backend: s.name, Lasting: true, Err: better.err})
	}
}

// nobodyLocked returns the error of a call that no backend is able to answer.
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

// settle records a failure on g and returns how the call goes on.
func (e *Engine) settle(ctx context.Context, c *call, g *generation, err error) course {
	c.failures = slices.DeleteFunc(c.failures, func(f failed) bool { return f.slot == g.slot })
	c.failures = append(c.failures, failed{g.slot, fmt.Errorf("backend %s: %w", g.slot.name, err)})
	if isGone(err) {
		c.deaths++
	}
	v := e.conclude(ctx, g, failure{err: err, deaths: c.deaths, allowed: c.restarts, more: e.more(c, g)})
	if v.call == moveOn {
		c.passed = append(c.passed, g.slot)
		if v.backend == stays && !c.silent && !e.refusing(g) {
			e.events.add(Event{Kind: EventFailed, Backend: g.slot.name, Err: err})
		}
	}
	return v.call
}

// more reports whether a backend other than g could answer the call.
func (e *Engine) more(c *call, g *generation) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !c.only && slices.ContainsFunc(e.slots, func(s *slot) bool { return s != g.slot && c.openLocked(s) })
}

// err joins the errors of all backends that were asked.
func (c *call) err() (err error) {
	for _, f := range c.failures {
		err = both(err, f.err)
	}
	return err
}

// both joins two errors into one line.
func both(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil || errors.Is(a, b):
		return a
	}
	return fmt.Errorf("%w; %w", a, b)
}

// refusing reports whether a backend is in StateRefusing.
func (e *Engine) refusing(g *generation) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return g.slot.gen == g && g.slot.state == StateRefusing
}

// countOutcome counts a call on g as answered, or as failed when err is set.
func (e *Engine) countOutcome(ctx context.Context, c *call, g *generation, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	g.outcomeLocked(ctx, err)
	if err != nil {
		e.countersLocked(g.slot.name).Failed++
		return
	}
	g.provedLocked()
	e.countersLocked(g.slot.name).Answered++
	e.stats.Answered++
	if slices.Index(e.slots, g.slot) > 0 {
		e.stats.FallBacks++
		e.reasons[e.reasonLocked(c)]++
	}
}

// refuse retires the slot of a backend that gave a wrong answer.
func (e *Engine) refuse(g *generation, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stats.Refused++
	g.refused = err
	if g.slot.gen == g {
		g.slot.wrongLocked(err)
	}
}

// exit ends a call on g.
func (g *generation) exit() {
	g.e.count(g.slot.name, func(c *BackendStats) { c.InFlight-- })
	g.leave()
}
