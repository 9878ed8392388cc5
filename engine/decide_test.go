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
		alive then // the call's context has not ended, another backend is there
		alone then // there is no other
		late  then // the call's context has ended
		fate  fate
		worn  then // as alive, but its backends died more often than allowed
	}{
		{err: backend.ErrInvalidInput, alive: fail, alone: fail, late: fail, fate: stays, worn: fail},
		{err: ErrBasesLost, alive: fail, alone: fail, late: fail, fate: stays, worn: fail},
		{err: backend.ErrUnsupported, alive: next, alone: fail, late: fail, fate: stays, worn: next},
		{err: backend.ErrOutOfMemory, alive: next, alone: fail, late: fail, fate: stays, worn: next},
		{err: backend.ErrInternal, alive: next, alone: fail, late: fail, fate: stays, worn: next},
		{err: errors.New("of no kind"), alive: next, alone: fail, late: fail, fate: stays, worn: next},
		{err: deadline, alive: next, alone: fail, late: fail, fate: stays, worn: next},
		{err: backend.ErrGone, alive: again, alone: again, late: fail, fate: broken, worn: next},
		{err: backend.ErrUnavailable, alive: again, alone: again, late: fail, fate: broken, worn: next},
		{err: backend.ErrClosed, alive: again, alone: again, late: fail, fate: broken, worn: next},
		{err: ErrWrongAnswer, alive: next, alone: fail, late: fail, fate: retired, worn: next},
		// What a dying backend says of the arguments accuses nobody.
		{err: fmt.Errorf("%w: %w", backend.ErrGone, backend.ErrInvalidInput), alive: again, alone: again, late: fail, fate: broken, worn: next},
	} {
		for name, f := range map[string]struct {
			failure
			want then
		}{
			"alive": {failure{more: true, deaths: 1, allowed: 3}, c.alive},
			"alone": {failure{more: false, deaths: 1, allowed: 3}, c.alone},
			"late":  {failure{more: true, deaths: 1, allowed: 3, ended: true}, c.late},
			"worn":  {failure{more: true, deaths: 4, allowed: 3}, c.worn},
			"never": {failure{more: true, deaths: 1, allowed: -1}, c.worn},
		} {
			f.err = c.err
			fate := c.fate
			if errors.Is(c.err, context.DeadlineExceeded) && f.ended {
				fate = suspect // the caller's own end, but was it the backend that was slow?
			}
			if then, got := decide(f.failure); then != f.want || got != fate {
				t.Errorf("%v, %s: %v and %v, want %v and %v", c.err, name, then, got, f.want, fate)
			}
		}
	}
}
