package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

// TestDecide goes through every kind of failure in every situation.
func TestDecide(t *testing.T) {
	deadline := fmt.Errorf("remote: %w", context.DeadlineExceeded)
	for _, c := range []struct {
		err   error
		alive course // the call's context has not ended, and there is another backend
		alone course // there is no other
		late  course // the call's context has ended
		fate  fate
		worn  course // as alive, but the call's backends died more often than is allowed
	}{
		{err: backend.ErrInvalidInput, alive: giveUp, alone: giveUp, late: giveUp, fate: stays, worn: giveUp},
		{err: ErrBasesLost, alive: giveUp, alone: giveUp, late: giveUp, fate: stays, worn: giveUp},
		{err: backend.ErrUnsupported, alive: moveOn, alone: giveUp, late: giveUp, fate: stays, worn: moveOn},
		{err: backend.ErrOutOfMemory, alive: moveOn, alone: giveUp, late: giveUp, fate: stays, worn: moveOn},
		{err: backend.ErrInternal, alive: moveOn, alone: giveUp, late: giveUp, fate: stays, worn: moveOn},
		{err: errors.New("of no kind"), alive: moveOn, alone: giveUp, late: giveUp, fate: stays, worn: moveOn},
		{err: deadline, alive: moveOn, alone: giveUp, late: giveUp, fate: stays, worn: moveOn},
		{err: backend.ErrGone, alive: repeat, alone: repeat, late: giveUp, fate: broken, worn: moveOn},
		{err: backend.ErrUnavailable, alive: repeat, alone: repeat, late: giveUp, fate: broken, worn: moveOn},
		{err: backend.ErrClosed, alive: repeat, alone: repeat, late: giveUp, fate: broken, worn: moveOn},
		{err: ErrWrongAnswer, alive: moveOn, alone: giveUp, late: giveUp, fate: refused, worn: moveOn},
		// What a dying backend says of the arguments accuses nobody.
		{err: fmt.Errorf("%w: %w", backend.ErrGone, backend.ErrInvalidInput), alive: repeat, alone: repeat,
			late: giveUp, fate: broken, worn: moveOn},
	} {
		for name, f := range map[string]struct {
			failure
			want course
		}{
			"alive": {failure{more: true, deaths: 1, allowed: 3}, c.alive},
			"alone": {failure{more: false, deaths: 1, allowed: 3}, c.alone},
			"late":  {failure{more: true, deaths: 1, allowed: 3, ended: true}, c.late},
			"last":  {failure{more: true, deaths: 3, allowed: 3}, c.alive}, // exactly as often as allowed
			"worn":  {failure{more: true, deaths: 4, allowed: 3}, c.worn},
			"never": {failure{more: true, deaths: 1, allowed: -1}, c.worn},
		} {
			f.err = c.err
			fate := c.fate
			if errors.Is(c.err, context.DeadlineExceeded) && f.ended {
				fate = suspect // the caller's context ended, but the backend may have been slow
			}
			if v := decide(f.failure); v.call != f.want || v.backend != fate {
				t.Errorf("%v, %s: %v and %v, want %v and %v", c.err, name, v.call, v.backend, f.want, fate)
			}
		}
	}
}
