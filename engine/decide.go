package engine

import (
	"context"
	"errors"

	"github.com/pippin-zk/pippin/backend"
)

// ErrWrongAnswer is wrapped by the error of a call whose answer a check refused and that no other
// backend could repeat.
var ErrWrongAnswer = errors.New("wrong answer from the backend")

// ErrBasesLost is wrapped by the error of a call on bases with ReadOnce when the backend that held
// them is gone. Close them and load them again.
var ErrBasesLost = errors.New("bases lost with their backend")

// verdict says what follows a failure, for the call and for its backend.
type verdict struct {
	call    course
	backend fate
}

// course says how a failed call goes on.
type course int

const (
	giveUp course = iota // the caller gets the error
	repeat               // on this backend, when it is repaired
	moveOn               // to the next backend
)

// fate says what becomes of the backend of a failed call.
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
	ended   bool // the caller's context has ended
	deaths  int  // of backends during this call, this failure included if it is one
	allowed int  // Config.Restarts
	more    bool // another backend could still answer the call
}

// decide says what follows a failure.
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
		// Somebody else closed the backend: the caller did nothing wrong.
		if errors.Is(f.err, backend.ErrClosed) {
			return verdict{f.again(), broken}
		}
		return verdict{giveUp, stays}
	case backend.FaultContext:
		// Otherwise the backend gave up although nobody asked it to: it failed.
		if f.ended {
			return verdict{giveUp, suspect}
		}
	}
	return verdict{f.elsewhere(), stays}
}

// elsewhere returns the course of a call that its backend is unable to answer.
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

// isGone reports whether the backend of a failed call no longer exists.
func isGone(err error) bool {
	return backend.FaultOf(err) == backend.FaultGone || errors.Is(err, backend.ErrClosed)
}

// conclude decides what follows a failure on g and applies it to g. Nothing else acts on a failed
// call.
func (e *Engine) conclude(ctx context.Context, g *generation, f failure) verdict {
	f.ended = ctx.Err() != nil // reserve refuses a call that Shutdown has ended
	v := decide(f)
	switch v.backend {
	case suspect:
		g.urge()
	case broken:
		g.fail(f.err)
	case refused:
		if !g.isolated(ctx) {
			e.refuse(g, f.err)
		}
	}
	return v
}
