package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// call is one call on its way to an answer: do counts and observes it, attempt has it
// answered, await and reserve find the backend, settle says what follows a failure.
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
	// only: no other backend is asked when one gives no answer.
	only bool
	// restarts is how many backends may die of it and be asked again.
	restarts int
}

// failed is why a slot gave no answer.
type failed struct {
	slot *slot
	err  error
}

// do has a call answered whatever happens to backends, counts it and tells the
// observer: f computes on the backend that it is given. The result is the name of the
// backend that answered.
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
		err := f(ctx, g)
		e.countOutcome(g, err)
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

// try computes on g, which await reserved, and says how a failed call goes on.
func (e *Engine) try(ctx context.Context, c *call, g *generation, f func(context.Context, *generation) error) (course, error) {
	defer g.exit() // also when f panics
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

// await reserves the generation that is to answer the call; exit ends that. It waits
// for one as Config.Patience has it.
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

// waiting is what a call waits for: a slot that changes, but not for ever.
type waiting struct {
	moved <-chan struct{}
	until time.Time
}

// reserve takes a reference to the generation that is to answer the call, in the order
// of preference. It starts a slot that was never needed and tells when a better one is
// passed over. Without a generation the result is what to wait for, or an error when
// there is nothing to wait for.
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
	var better *slot // that cannot answer this call now
	for i, s := range e.slots {
		if c.wantsLocked(s) {
			if s.state == StateIdle {
				s.startLocked(now.Add(e.cfg.Patience), false, nil)
			}
			more := slices.ContainsFunc(e.slots[i+1:], c.wantsLocked)
			if s.state == StateReady || s.state == StateSuspect && !more && !c.brief {
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

// wantsLocked reports whether the call may still go to a slot.
func (c *call) wantsLocked(s *slot) bool {
	// Bases that may not be read again are where they are.
	return c.openLocked(s) && (c.fits == nil || s.gen != nil && c.fits(s.gen))
}

// openLocked reports whether the call may still go to a slot, whatever is loaded there.
func (c *call) openLocked(s *slot) bool {
	return s.state != StateRetired && !slices.Contains(c.passed, s) && c.unableLocked(s) == nil
}

// unableLocked says why a backend cannot do what is called for, as far as it is known.
func (c *call) unableLocked(s *slot) error {
	if c.can == nil || s.info == nil {
		return nil
	}
	return c.can(*s.info)
}

// patienceLocked returns until when the call waits for a slot that is not ready; more
// tells that it could go to another one.
func (c *call) patienceLocked(ctx context.Context, s *slot, more bool) time.Time {
	own := c.began.Add(s.e.cfg.Patience)
	switch deadline, ok := ctx.Deadline(); {
	case s.state == StateSuspect && c.brief:
		return time.Time{}
	case s.state == StateSuspect && ok:
		// It lives on more often than not, but waiting for that is not worth a call.
		return earliest(s.hope, c.began.Add(deadline.Sub(c.began)/8))
	case more && ok:
		// The other one needs time too.
		return earliest(s.hope, c.began.Add(deadline.Sub(c.began)/2))
	case more:
		return s.hope
	case c.brief && s.state == StateBroken:
		return time.Time{}
	case !c.brief && s.state == StateOpening:
		return time.Now().Add(time.Hour) // it ends by itself
	}
	return own
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// passedOverLocked reports whether s answers instead of a better slot.
func (e *Engine) passedOverLocked(c *call, better, s *slot) {
	switch {
	case better == nil:
	case better.state == StateReady: // it cannot answer this call
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

// settle notes a failure on g and says how the call goes on.
func (e *Engine) settle(ctx context.Context, c *call, g *generation, err error) course {
	c.failures = slices.DeleteFunc(c.failures, func(f failed) bool { return f.slot == g.slot })
	c.failures = append(c.failures, failed{g.slot, fmt.Errorf("backend %s: %w", g.slot.name, err)})
	if isGone(err) {
		c.deaths++
	}
	v := e.conclude(ctx, g, failure{err: err, deaths: c.deaths, allowed: c.restarts, more: e.more(c, g)})
	if v.call == moveOn {
		c.passed = append(c.passed, g.slot)
		if v.backend == stays {
			e.events.add(Event{Kind: EventFailed, Backend: g.slot.name, Err: err})
		}
	}
	return v.call
}

// more reports whether the call may go to another backend than g.
func (e *Engine) more(c *call, g *generation) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !c.only && slices.ContainsFunc(e.slots, func(s *slot) bool { return s != g.slot && c.openLocked(s) })
}

// err returns why the backends that were asked gave no answer.
func (c *call) err() (err error) {
	for _, f := range c.failures {
		err = both(err, f.err)
	}
	return err
}

// both joins two errors in one line.
func both(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil || errors.Is(a, b):
		return a
	}
	return fmt.Errorf("%w; %w", a, b)
}

// countOutcome counts a call that g answered or, with an error, did not.
func (e *Engine) countOutcome(g *generation, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.countersLocked(g.slot.name).Failed++
		return
	}
	g.provedLocked()
	e.countersLocked(g.slot.name).Answered++
	e.stats.Answered++
	if slices.Index(e.slots, g.slot) > 0 {
		e.stats.FallBacks++
	}
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

// exit ends a call on g.
func (g *generation) exit() {
	g.e.count(g.slot.name, func(c *BackendStats) { c.InFlight-- })
	g.leave()
}
