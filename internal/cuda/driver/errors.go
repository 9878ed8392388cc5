package driver

import (
	"fmt"
	"strings"

	"github.com/pippin-zk/pippin/backend"
)

// Error is a failure that the driver reported. It wraps one of the sentinels
// of package backend.
type Error struct {
	Call   string // the driver's function, such as "cuMemAlloc"
	Result Result
	Text   string // the driver's description; may be empty
	Hint   string // what to do; may be empty

	kind error
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %s: %v", e.kind, e.Call, e.Result)
	if e.Text != "" {
		fmt.Fprintf(&b, " (%s)", e.Text)
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, ": %s", e.Hint)
	}
	return b.String()
}

// Unwrap returns the sentinel of package backend.
func (e *Error) Unwrap() error { return e.kind }

// newError makes the error of a call; text asks the driver and may be nil.
func newError(call string, r Result, text func(Result) string) *Error {
	m := r.meaning()
	e := &Error{Call: call, Result: r, Hint: m.hint, kind: m.kind}
	if text != nil {
		e.Text = text(r)
	}
	return e
}

// startError does what newError does, for the calls that start the driver: whatever fails
// there, the device is unavailable.
func startError(call string, r Result, text func(Result) string) *Error {
	e := newError(call, r, text)
	if e.kind == backend.ErrOutOfMemory {
		e.Hint = hintMemory
	}
	if e.kind != backend.ErrUnavailable && e.kind != backend.ErrOutOfMemory {
		e.kind = backend.ErrUnavailable
		e.Hint = "the driver does not start: nvidia-smi and the kernel log say more"
	}
	return e
}

// MemoryError is a failed allocation. It wraps the driver's *Error and with it
// backend.ErrOutOfMemory.
type MemoryError struct {
	Cause       *Error
	Asked       int64 // bytes
	Free, Total int64 // bytes of the device; Total is 0 when not known, or when it is the host's memory that ran out
}

func (e *MemoryError) Error() string {
	if e.Total == 0 {
		return fmt.Sprintf("%v: %d bytes asked for", e.Cause, e.Asked)
	}
	return fmt.Sprintf("%v: %d bytes asked for, %d free of %d on the device: %s", e.Cause, e.Asked, e.Free, e.Total, hintMemory)
}

// Unwrap returns the driver's error.
func (e *MemoryError) Unwrap() error { return e.Cause }

// invalid returns an error for arguments that are wrong. They come from the layers above, and
// not from the backend's caller: whose fault it is must not look like his.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{backend.ErrInternal}, args...)...)
}
