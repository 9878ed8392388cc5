package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/process"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
)

// Policy bounds how often a plugin is started again. The zero value is the
// default.
type Policy struct {
	// Restarts is how often a plugin may die, or fail to start, within
	// Window and still be started again: 0 is 5, below 0 is never.
	Restarts int
	// Window is what Restarts counts in: 0 is 10 minutes.
	Window time.Duration
	// Backoff is the pause before the first restart; it doubles with every
	// death in the window up to MaxBackoff, and a random part of up to a
	// half is added or taken off. 0 is 100 ms and 10 s.
	Backoff, MaxBackoff time.Duration
}

func (p Policy) withDefaults() Policy {
	if p.Restarts == 0 {
		p.Restarts = 5
	}
	if p.Window <= 0 {
		p.Window = 10 * time.Minute
	}
	if p.Backoff <= 0 {
		p.Backoff = 100 * time.Millisecond
	}
	if p.MaxBackoff <= 0 {
		p.MaxBackoff = 10 * time.Second
	}
	p.MaxBackoff = max(p.MaxBackoff, p.Backoff)
	return p
}

// Supervisor opens clients of one plugin, again after a death, but not for
// ever. Its clients share one pool of shared memory, so that a restart does
// not touch it anew and a buffer of a dead client is still read in place by
// the next. The methods may be called concurrently.
type Supervisor struct {
	spec   Spec
	policy Policy

	mu      sync.Mutex
	clients []*Client   // whose end has not been counted
	deaths  []time.Time // in the window
	last    string      // what the last one was
	closed  bool
}

// NewSupervisor makes a supervisor; nothing is started yet.
func NewSupervisor(spec Spec, policy Policy) *Supervisor {
	spec.pool = shm.NewPool(shm.PoolOptions{Budget: spec.Budget})
	return &Supervisor{spec: spec, policy: policy.withDefaults()}
}

// Open starts the plugin, after a pause when it has died lately, and again
// when it is killed while it starts. It fails as the function Open does, and
// with backend.ErrUnavailable at once when the restarts are used up, saying
// how often it died and what it said last. The backend is a *Client, which
// the caller closes.
func (s *Supervisor) Open(ctx context.Context) (backend.Backend, error) {
	spec, err := s.spec.withDefaults()
	if err != nil {
		return nil, err
	}
	for {
		c, err := s.try(ctx, spec)
		var killed process.KilledAtStart
		if !errors.As(err, &killed) || ctx.Err() != nil {
			if err != nil {
				return nil, err
			}
			return c, nil
		}
	}
}

// try is one start, counted as a death when it fails.
func (s *Supervisor) try(ctx context.Context, spec Spec) (*Client, error) {
	pause, err := s.pause()
	if err != nil {
		return nil, err
	}
	if pause > 0 {
		spec.Logger.Info("restarting plugin", "plugin", spec.Name, "after", pause)
		t := time.NewTimer(pause)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil, backend.Ended(ctx)
		}
	}
	c, err := spec.open(ctx)
	var none notStarted
	switch {
	case errors.As(err, &none):
		return nil, none.error
	case err != nil:
		if ctx.Err() == nil {
			s.died(err.Error())
		}
		return nil, err
	}
	s.mu.Lock()
	s.clients = append(s.clients, c)
	s.mu.Unlock()
	return c, nil
}

// Close releases the shared memory when the clients' buffers are freed.
func (s *Supervisor) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.spec.pool.Close()
	return nil
}

// pause is how long to wait before the next start.
func (s *Supervisor) pause() (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, fmt.Errorf("%w: supervisor of plugin %s", backend.ErrClosed, s.spec.Name)
	}
	s.clients = slices.DeleteFunc(s.clients, func(c *Client) bool {
		select {
		case <-c.Done():
		default:
			return false
		}
		if !c.closedInLife() {
			s.deaths, s.last = append(s.deaths, c.lostAt), context.Cause(c.life).Error()
		}
		return true
	})
	old := time.Now().Add(-s.policy.Window)
	s.deaths = slices.DeleteFunc(s.deaths, func(t time.Time) bool { return t.Before(old) })
	n := len(s.deaths)
	if n == 0 {
		return 0, nil
	}
	if n > s.policy.Restarts {
		return 0, fmt.Errorf("%w: plugin %s died %d times in %v and is not started again; the last time: %s",
			backend.ErrUnavailable, s.spec.Name, n, s.policy.Window, s.last)
	}
	pauses := backoff.ExponentialBackOff{
		InitialInterval: s.policy.Backoff, MaxInterval: s.policy.MaxBackoff, Multiplier: 2, RandomizationFactor: 0.5,
	}
	for range n - 1 {
		pauses.NextBackOff()
	}
	return pauses.NextBackOff(), nil
}

func (s *Supervisor) died(how string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deaths = append(s.deaths, time.Now())
	s.last = how
}
