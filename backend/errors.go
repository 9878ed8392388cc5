package backend

import (
	"errors"
	"fmt"
)

// Every error of a backend wraps one of these, or is a context's error.
var (
	// ErrUnavailable: the backend cannot be opened here (no such plugin, no
	// device, no driver), or its restarts are used up.
	ErrUnavailable = errors.New("backend unavailable")
	// ErrUnsupported: this backend cannot do it; another one may.
	ErrUnsupported = errors.New("not supported by this backend")
	// ErrOutOfMemory: host or device memory did not suffice; the backend
	// stays usable and smaller work may succeed.
	ErrOutOfMemory = errors.New("out of memory")
	// ErrClosed: the backend, or the object, was closed by its owner.
	ErrClosed = errors.New("closed")
	// ErrGone: the backend died or lost its device. Its bases are lost; open
	// a new one and repeat the call.
	ErrGone = errors.New("backend gone")
	// ErrInvalidInput: the arguments are wrong and would be everywhere.
	ErrInvalidInput = errors.New("invalid input")
)

// Caught turns a panic of this goroutine into an error that wraps
// ErrUnsupported. It is to be deferred, by implementations of Backend.
func Caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: panic: %v", ErrUnsupported, p)
	}
}
