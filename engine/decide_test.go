package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

// TestDecide is every kind of failure in every situation.
func TestDecide(t *testing.T) {
	deadline := fmt.Errorf("remote: %w", context.DeadlineExceeded)
	for _, c := range []struct {
		err   error
		alive action // the call's context has not ended, another backend is there
		alone action // there is no other
		late  action // the call's context has ended
		cure  remedy
		worn  action // as alive, but its backends died more often than allowed
	}{
		{err: backend.ErrInvalidInput, alive: fail, alone: fail, late: fail, cure: keep, worn: fail},
		{err: ErrBasesLost, alive: fail, alone: fail, late: fail, cure: keep, worn: fail},
		{err: backend.ErrUnsupported, alive: next, alone: fail, late: fail, cure: keep, worn: next},
		{err: backend.ErrOutOfMemory, alive: next, alone: fail, late: fail, cure: keep, worn: next},
		{err: backend.ErrInternal, alive: next, alone: fail, late: fail, cure: keep, worn: next},
		{err: errors.New("of no kind"), alive: next, alone: fail, late: fail, cure: keep, worn: next},
		{err: deadline, alive: next, alone: fail, late: fail, cure: keep, worn: next},
		{err: backend.ErrGone, alive: retry, alone: retry, late: fail, cure: reopen, worn: next},
		{err: backend.ErrUnavailable, alive: retry, alone: retry, late: fail, cure: reopen, worn: next},
		{err: backend.ErrClosed, alive: retry, alone: retry, late: fail, cure: reopen, worn: next},
		{err: ErrWrongAnswer, alive: next, alone: fail, late: fail, cure: refuse, worn: next},
		// What a dying backend says of the arguments accuses nobody.
		{err: fmt.Errorf("%w: %w", backend.ErrGone, backend.ErrInvalidInput), alive: retry, alone: retry, late: fail, cure: reopen, worn: next},
	} {
		for name, f := range map[string]struct {
			failure
			want action
		}{
			"alive": {failure{more: true, deaths: 1, allowed: 3}, c.alive},
			"alone": {failure{more: false, deaths: 1, allowed: 3}, c.alone},
			"late":  {failure{more: true, deaths: 1, allowed: 3, ended: true}, c.late},
			"worn":  {failure{more: true, deaths: 4, allowed: 3}, c.worn},
			"never": {failure{more: true, deaths: 1, allowed: -1}, c.worn},
		} {
			f.err = c.err
			cure := c.cure
			if errors.Is(c.err, context.DeadlineExceeded) && f.ended {
				cure = ping // the caller's own end, but was it the backend that was slow?
			}
			if act, got := decide(f.failure); act != f.want || got != cure {
				t.Errorf("%v, %s: %v and %v, want %v and %v", c.err, name, act, got, f.want, cure)
			}
		}
	}
}

// TestApply does to a backend what was decided.
func TestApply(t *testing.T) {
	for cure, want := range map[remedy]struct{ gone, refused bool }{keep: {}, ping: {}, reopen: {gone: true}, refuse: {refused: true}} {
		w := &world{t: t}
		e := w.engine(Config{Backend: "gpu"})
		e.mu.Lock()
		g := e.slots[0].gen
		e.mu.Unlock()
		g.apply(cure, backend.ErrGone)
		e.mu.Lock()
		gone, refused := g.ctx.Err() != nil && errors.Is(context.Cause(g.ctx), backend.ErrGone), g.refused != nil
		e.mu.Unlock()
		if gone != want.gone || refused != want.refused {
			t.Errorf("remedy %d: gone %v, refused %v", cure, gone, refused)
		}
		e.Close()
	}
}
