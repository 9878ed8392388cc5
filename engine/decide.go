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

// then is what follows for a failed call.
type then int

const (
	fail  then = iota // the caller gets the error
	again             // on this backend, when it is repaired
	next              // on the next backend
)

// fate is what follows for the backend of a failed call.
type fate int

const (
	stays   fate = iota
	suspect      // is pinged at once
	broken       // is closed and opened again
	retired      // is not asked any more
)

// failure is all that counts of a failed call.
type failure struct {
	err     error
	ended   bool // the caller's context has
	deaths  int  // of backends under this call, this one included if it is one
	allowed int  // Config.Restarts
	more    bool // there is another backend that the call was not on
}

// decide says what follows a failed call.
func decide(f failure) (then, fate) {
	switch {
	case errors.Is(f.err, ErrWrongAnswer):
		return f.move(), retired
	case errors.Is(f.err, ErrBasesLost):
		return fail, stays
	}
	switch backend.FaultOf(f.err) {
	case backend.FaultGone:
		return f.repeat(), broken
	case backend.FaultCaller:
		// That somebody else closed the backend accuses no caller.
		if errors.Is(f.err, backend.ErrClosed) {
			return f.repeat(), broken
		}
		return fail, stays
	case backend.FaultContext:
		// A backend that says so by itself has failed.
		if f.ended {
			return fail, suspect
		}
	}
	return f.move(), stays
}

// move is for a call that this backend cannot answer.
func (f failure) move() then {
	if f.ended || !f.more {
		return fail
	}
	return next
}

// repeat is for a call whose backend is gone.
func (f failure) repeat() then {
	if !f.ended && f.deaths <= f.allowed {
		return again
	}
	return f.move()
}
