package engine

import (
	"context"
	"errors"

	"github.com/pippin-zk/pippin/backend"
)

// ErrWrongAnswer is wrapped by the error of a call whose answer a check
// refused and that no other backend could repeat.
var ErrWrongAnswer = errors.New("wrong answer from the backend")

// ErrBasesLost is wrapped by the errors of calls on bases that were loaded to
// be read once, into a backend that no longer answers. Close them, and load
// them again.
var ErrBasesLost = errors.New("bases lost with their backend")

// verdict is what follows from a failure, for the call and for its backend.
type verdict struct {
	call    course
	backend fate
}

// course is how a failed call goes on.
type course int

const (
	giveUp course = iota // the caller gets the error
	repeat               // on this backend, when it is repaired
	moveOn               // to the next backend
)

// fate is what becomes of the backend of a failed call.
type fate int

const (
	stays   fate = iota
	suspect      // is pinged at once
	broken       // is closed and opened again
	refused      // is not asked any more
)

// failure holds what decide needs to know about a failed call.
type failure struct {
	err     error
	ended   bool // the caller's context has
	deaths  int  // of backends under this call, this one included if it is one
	allowed int  // Config.Restarts
	more    bool // there is another backend that the call was not on
}

// decide says what follows from a failure.
func decide(f failure) verdict {
	switch {
	case errors.Is(f.err, ErrWrongAnswer):
		return verdict{f.elsewhere(), refused}
	case errors.Is(f.err, ErrBasesLost):
		return verdict{giveUp, stays}
	}
	switch backend.FaultOf(f.err) {
	case backend.FaultGone:
		return verdict{f.again(), broken}
	case backend.FaultCaller:
		// That somebody else closed the backend accuses no caller.
		if errors.Is(f.err, backend.ErrClosed) {
			return verdict{f.again(), broken}
		}
		return verdict{giveUp, stays}
	case backend.FaultContext:
		// A backend that says so by itself has failed.
		if f.ended {
			return verdict{giveUp, suspect}
		}
	}
	return verdict{f.elsewhere(), stays}
}

// elsewhere returns the course of a call that this backend cannot answer.
func (f failure) elsewhere() course {
	if f.ended || !f.more {
		return giveUp
	}
	return moveOn
}

// again returns the course of a call whose backend is gone.
func (f failure) again() course {
	if !f.ended && f.deaths <= f.allowed {
		return repeat
	}
	return f.elsewhere()
}

// isGone reports whether the backend of a failed call is not there any more.
func isGone(err error) bool {
	return backend.FaultOf(err) == backend.FaultGone || errors.Is(err, backend.ErrClosed)
}

// conclude decides what follows from a failure on g and has it happen to g. Nothing
// else draws consequences from failed calls.
func (e *Engine) conclude(ctx context.Context, g *generation, f failure) verdict {
	f.ended = ctx.Err() != nil // reserve refuses a call that Shutdown has ended
	v := decide(f)
	switch v.backend {
	case suspect:
		g.urge()
	case broken:
		g.fail(f.err)
	case refused:
		e.refuse(g, f.err)
	}
	return v
}
