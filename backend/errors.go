package backend

import (
	"context"
	"errors"
	"fmt"
)

// Every error of a backend wraps one of these, or is the error of a context.
var (
	// ErrInvalidInput: the arguments are wrong, and every backend would refuse them.
	ErrInvalidInput = errors.New("invalid input")
	// ErrClosed: the backend, or the object, was closed by its owner.
	ErrClosed = errors.New("closed")

	// ErrUnsupported: this backend cannot do it; another one may.
	ErrUnsupported = errors.New("not supported by this backend")
	// ErrOutOfMemory: there was too little host or device memory. The backend stays usable, and
	// smaller work may succeed.
	ErrOutOfMemory = errors.New("out of memory")
	// ErrInternal: the backend has failed through its own fault. The arguments may be right, and
	// the next call may succeed.
	ErrInternal = errors.New("backend failed")

	// ErrUnavailable: the backend cannot be opened here, for want of the plugin, a device or a
	// driver, or it was restarted as often as is allowed.
	ErrUnavailable = errors.New("backend unavailable")
	// ErrGone: the backend died or lost its device, and its bases with it. Open a new one and
	// repeat the call.
	ErrGone = errors.New("backend gone")
)

// Fault says whose fault an error is, and so what helps.
type Fault int

const (
	// FaultNone: no error.
	FaultNone Fault = iota
	// FaultContext: the call's context ended. If it has not ended, the backend is at fault.
	FaultContext
	// FaultCaller: the call is wrong for every backend. Do not repeat it.
	FaultCaller
	// FaultBackend: the backend is unable to do it; another one may.
	FaultBackend
	// FaultGone: the backend is not there, or no longer. Open it again.
	FaultGone
)

// String returns a word for logs.
func (f Fault) String() string {
	return [...]string{"none", "context", "caller", "backend", "gone"}[f]
}

// FaultOf classifies an error. If the error is of several kinds, the one that is gravest for the
// backend counts: what a dying or failing backend says about the arguments must not accuse the
// caller. An error of no kind is the backend's fault.
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

// Ended returns why ctx has ended, or nil while it has not: its Err, together with its Cause if
// that is another error.
func Ended(ctx context.Context) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); err != nil && !errors.Is(cause, err) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
