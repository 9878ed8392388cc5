package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// errSilent ends a try on a backend that answers neither the call nor a ping.
var errSilent = errors.New("it answers neither the call nor a ping")

// shortestHedge is the least time left for which hedging a call pays. A ping gets a quarter of it,
// and on a busy machine it needs that long.
const shortestHedge = 100 * time.Millisecond

// hedge watches one try of a call that has a deadline and that another backend could answer. When a
// quarter of the call's time is over it pings the backend. When half is over and the ping is still
// unanswered, it ends the try, and the backend becomes suspect. While pings are answered it starts
// again with the time that is left. If the call has failed before, it pings at once. The caller
// calls stop at the end of the try.
//
// The try's context ends with errSilent as its cause. As after any cancellation, the backend
// returns once it no longer reads the caller's memory: a plugin's client keeps shared memory until
// the plugin has let go of it, and drops the late answer.
func (e *Engine) hedge(ctx context.Context, c *call, g *generation) (try context.Context, stop func()) {
	deadline, ok := ctx.Deadline()
	left := time.Until(deadline)
	if !ok || g.info.InProcess || left < shortestHedge {
		return ctx, func() {}
	}
	first := left / 4
	if len(c.failures) > 0 {
		first = 0 // the call has lost time already
	}
	try, end := context.WithCancelCause(ctx)
	late := time.AfterFunc(first, func() {
		for try.Err() == nil {
			g.urge()
			pause(try, left/4)
			if try.Err() == nil && e.suspectSilent(c, g, left/8) {
				end(errSilent)
				return
			}
			if left = time.Until(deadline); left < shortestHedge {
				return
			}
			pause(try, left/4)
		}
	})
	return try, func() {
		late.Stop()
		end(nil)
	}
}

// suspectSilent makes g suspect if a ping of it has been unanswered for silence. It reports whether
// g is suspect and the call need not wait for it.
func (e *Engine) suspectSilent(c *call, g *generation, silence time.Duration) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if known := g.slot.gen == g && g.slot.state == StateSuspect; !known {
		if g.pinged.IsZero() || time.Since(g.pinged) < silence {
			return false
		}
		g.slot.suspectLocked(g, errSilent)
	}
	return c.brief || slices.ContainsFunc(e.slots, func(s *slot) bool {
		return s != g.slot && s.state != StateBroken && c.wantsLocked(s)
	})
}

// suspectLocked records that a backend does not answer.
func (s *slot) suspectLocked(g *generation, err error) {
	err = fmt.Errorf("backend %s: %w", s.name, err)
	if s.gen == g && s.suspect(err, time.Now().Add(s.e.cfg.Patience)) {
		s.e.changedLocked()
	}
}

// trustLocked records that a backend has answered.
func (s *slot) trustLocked(g *generation) {
	if s.gen == g && s.trust() {
		s.returnedLocked()
		s.e.changedLocked()
	}
}
