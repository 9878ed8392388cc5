package engine

import (
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

// action is what a failed call does.
type action int

const (
	fail  action = iota // return the error
	retry               // on this backend, when it is repaired
	next                // on the next backend
)

// remedy is what is done to the backend of a failed call.
type remedy int

const (
	keep   remedy = iota // nothing
	ping                 // ask at once whether it is there
	reopen               // close it and open it again
	refuse               // ask it no more
)

// failure is all that counts of a failed call.
type failure struct {
	err     error
	ended   bool // the caller's context has
	deaths  int  // of backends under this call, this one included if it is one
	allowed int  // Config.Restarts
	more    bool // there is another backend that the call was not on
}

// decide says what follows a failed call. It is a function of the failure alone;
// generation.apply draws the consequences.
func decide(f failure) (action, remedy) {
	switch {
	case errors.Is(f.err, ErrWrongAnswer):
		return f.move(), refuse
	case errors.Is(f.err, ErrBasesLost):
		return fail, keep
	}
	switch backend.FaultOf(f.err) {
	case backend.FaultGone:
		return f.repeat(), reopen
	case backend.FaultCaller:
		// That somebody else closed the backend accuses no caller.
		if errors.Is(f.err, backend.ErrClosed) {
			return f.repeat(), reopen
		}
		return fail, keep
	case backend.FaultContext:
		// A backend that says so by itself has failed.
		if f.ended {
			return fail, ping
		}
	}
	return f.move(), keep
}

// move is for a call that this backend cannot answer.
func (f failure) move() action {
	if f.ended || !f.more {
		return fail
	}
	return next
}

// repeat is for a call whose backend is gone.
func (f failure) repeat() action {
	if !f.ended && f.deaths <= f.allowed {
		return retry
	}
	return f.move()
}

// apply does to the backend what was decided because of err.
func (g *generation) apply(r remedy, err error) {
	switch r {
	case ping:
		g.urge()
	case reopen:
		g.fail(err)
	case refuse:
		g.e.refuse(g, err)
	}
}
