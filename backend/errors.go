package backend

import (
	"context"
	"errors"
	"fmt"
)

// Every error of a backend wraps one of these, or is a context's error.
var (
	// ErrInvalidInput: the arguments are wrong and would be everywhere.
	ErrInvalidInput = errors.New("invalid input")
	// ErrClosed: the backend, or the object, was closed by its owner.
	ErrClosed = errors.New("closed")

	// ErrUnsupported: this backend cannot do it; another one may.
	ErrUnsupported = errors.New("not supported by this backend")
	// ErrOutOfMemory: host or device memory did not suffice; the backend
	// stays usable and smaller work may succeed.
	ErrOutOfMemory = errors.New("out of memory")
	// ErrInternal: the backend failed in a way of its own; the arguments may
	// be right and the next call may succeed.
	ErrInternal = errors.New("backend failed")

	// ErrUnavailable: the backend cannot be opened here (no such plugin, no
	// device, no driver), or its restarts are used up.
	ErrUnavailable = errors.New("backend unavailable")
	// ErrGone: the backend died or lost its device. Its bases are lost; open
	// a new one and repeat the call.
	ErrGone = errors.New("backend gone")
)

// Fault says whose an error is, and so what helps.
type Fault int

const (
	// FaultNone: no error.
	FaultNone Fault = iota
	// FaultContext: the call's context ended. From a call whose context has
	// not, it is the backend's.
	FaultContext
	// FaultCaller: the call is wrong, here and everywhere: do not repeat it.
	FaultCaller
	// FaultBackend: the backend could not do it, another one may.
	FaultBackend
	// FaultGone: the backend is not there, or no more: open it again.
	FaultGone
)

// String returns a word for logs.
func (f Fault) String() string {
	return [...]string{"none", "context", "caller", "backend", "gone"}[f]
}

// FaultOf classifies an error. Of several kinds in one error the gravest for
// the backend decides, so that what a dying or failing backend says of the
// arguments accuses nobody; an error of no kind is the backend's.
func FaultOf(err error) Fault {
	is := func(kinds ...error) bool {
		for _, k := range kinds {
			if errors.Is(err, k) {
				return true
			}
		}
		return false
	}
	switch {
	case err == nil:
		return FaultNone
	case is(ErrGone, ErrUnavailable):
		return FaultGone
	case is(ErrInternal, ErrOutOfMemory, ErrUnsupported):
		return FaultBackend
	case isEnd(err):
		return FaultContext
	case is(ErrInvalidInput, ErrClosed):
		return FaultCaller
	}
	return FaultBackend
}

// isEnd reports whether an error is a context's.
func isEnd(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Ended returns why ctx has ended, nil while it has not: its Err and, when that is
// another error, its Cause.
func Ended(ctx context.Context) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); err != nil && !errors.Is(cause, err) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
