package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// Known is a computation whose answer is known. An engine has its backends compute it, to find one that
// computes wrongly before its answers do harm.
type Known struct {
	Name string // for errors
	// Can reports whether a backend has everything that Run asks for.
	Can func(backend.Info) bool
	// Run computes on a backend and gives back what it took there. Its error wraps ErrWrongAnswer if the
	// answer is not the known one. Any other error accuses nobody. Several goroutines may call it.
	Run func(ctx context.Context, b backend.Backend) error
}

// knownLimit is how long known computations may take. They are small, and wait for calls at most.
const knownLimit = time.Minute

// known has the backend compute everything in Config.Known. One with several devices tests each of them if it
// can, else it is asked at the same time for each. known returns an error if an answer is wrong or the backend
// is gone. A backend that refuses is left to its calls. One in this process is not asked.
func (g *generation) known(ctx context.Context) error {
	if g.info.InProcess || len(g.e.cfg.Known) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, knownLimit, fmt.Errorf("no answer within %v", knownLimit))
	defer cancel()
	errs := make([]error, max(len(g.info.Devices), 1))
	switch err := g.testDevices(ctx); {
	case err == nil:
		errs = errs[:1]
	case isGone(err):
		return err
	}
	var each sync.WaitGroup
	for i := range errs {
		each.Go(func() { errs[i] = g.knownOnce(ctx) })
	}
	each.Wait()
	for _, err := range errs {
		if errors.Is(err, ErrWrongAnswer) || isGone(err) {
			return err
		}
	}
	return nil
}

// testDevices has a backend of several devices test them. The error says that they were not tested.
func (g *generation) testDevices(ctx context.Context) error {
	t, ok := backend.As[backend.Tester](g.b)
	if !ok || len(g.info.Devices) < 2 {
		return backend.ErrUnsupported
	}
	_, err := on(ctx, g, func(ctx context.Context, _ backend.Backend) (struct{}, error) { return struct{}{}, t.Test(ctx) })
	g.noteRetired()
	return err
}

// noteRetired tells of devices that the backend has retired since it was last looked at.
func (g *generation) noteRetired() {
	m, ok := backend.As[backend.Metered](g.b)
	if !ok {
		return
	}
	devices := m.Usage().Devices
	g.e.mu.Lock()
	defer g.e.mu.Unlock()
	for i, d := range devices {
		if d.Retired == "" || g.without[i] {
			continue
		}
		g.without[i], g.retiredAt = true, time.Now()
		g.e.stats.Refused++
		err := fmt.Errorf("device %d is not used any more: %s", i, d.Retired)
		g.e.events.add(Event{Kind: EventDevice, Backend: g.slot.name, Err: err})
	}
}

// isolated has a backend that gave a wrong answer test its devices. It reports whether it has just retired one
// that computes wrongly, so that it can go on. Another call may have had it tested a moment before.
func (g *generation) isolated(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, knownLimit)
	defer cancel()
	if g.testDevices(ctx) != nil {
		return false
	}
	g.e.mu.Lock()
	defer g.e.mu.Unlock()
	return !g.retiredAt.IsZero() && time.Since(g.retiredAt) < knownLimit
}

// knownOnce computes everything in Config.Known once.
func (g *generation) knownOnce(ctx context.Context) error {
	for _, k := range g.e.cfg.Known {
		if k.Can != nil && !k.Can(g.info) {
			continue
		}
		_, err := on(ctx, g, func(ctx context.Context, b backend.Backend) (struct{}, error) { return struct{}{}, k.Run(ctx, b) })
		if err != nil {
			return fmt.Errorf("known answer (%s): %w", k.Name, err)
		}
		g.e.sum(func(st *Stats) { st.Known++ })
	}
	return nil
}

// knownDue reports whether a backend in use is to compute known answers again: it has answered calls since
// it last did, and Config.KnownEvery is over. It takes a reference, for testInUse.
func (g *generation) knownDue() bool {
	g.e.mu.Lock()
	defer g.e.mu.Unlock()
	every := g.e.cfg.KnownEvery
	due := every > 0 && !g.testing && g.answered.After(g.tested) && time.Since(g.tested) >= every && g.enterLocked()
	if due {
		g.testing, g.tested = true, time.Now()
	}
	return due
}

// testInUse has a backend in use compute known answers, and refuses it if one is wrong.
func (g *generation) testInUse() {
	defer g.leave()
	err := g.known(g.ctx)
	g.e.mu.Lock()
	g.testing = false
	g.e.mu.Unlock()
	if errors.Is(err, ErrWrongAnswer) && !g.isolated(g.ctx) {
		g.e.refuse(g, err)
	}
}

// accused retires a slot whose backend answered wrongly before it was in use.
func (s *slot) accused(err error) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	s.e.stats.Refused++
	s.wrongLocked(err)
}

// wrongLocked retires a slot for a wrong answer.
func (s *slot) wrongLocked(err error) {
	s.e.events.add(Event{Kind: EventWrong, Backend: s.name, Err: err})
	s.retireLocked(fmt.Errorf("backend %s is not asked any more: %w; Use asks it again", s.name, err))
}
