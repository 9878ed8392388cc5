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

// shortestHedge is the time from which on a call is worth hedging: a ping has a quarter
// of it, and a busy machine needs that.
const shortestHedge = 100 * time.Millisecond

// hedge watches a try of a call that has a deadline and could be answered elsewhere. A
// quarter of the call's time after the beginning it has the backend pinged, and after
// half of it the try ends if the ping is not answered either; the backend is suspect
// from then on. While pings are answered it does so again with the time that is left. A
// call that has failed before has its backend pinged at once. The caller calls stop at
// the end of the try.
//
// The try's context ends with errSilent as its cause. The backend returns as after any
// cancellation, when it reads nothing of the caller's any more: a plugin's client keeps
// shared memory until the plugin has let go of it, and drops the late answer.
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

// suspectSilent reports whether g is suspect, or a ping of it has had no answer for so
// long, and the call need not wait for it. Then g is suspect.
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

// suspectLocked notes that a backend does not answer.
func (s *slot) suspectLocked(g *generation, err error) {
	err = fmt.Errorf("backend %s: %w", s.name, err)
	if s.gen == g && s.suspect(err, time.Now().Add(s.e.cfg.Patience)) {
		s.e.changedLocked()
	}
}

// trustLocked notes that a backend has answered.
func (s *slot) trustLocked(g *generation) {
	if s.gen == g && s.trust() {
		s.returnedLocked()
		s.e.changedLocked()
	}
}
