package msm

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// Opener opens the backend called name. It is called again with the same name
// to replace a backend that died, and bounds such restarts itself: when they
// are used up it fails with backend.ErrUnavailable.
type Opener func(ctx context.Context, name string) (backend.Backend, error)

// Check says what an engine does with every answer before it returns it.
type Check int

const (
	// CheckNone trusts answers.
	CheckNone Check = iota
	// CheckCurve wants every answer on the curve: microseconds a call.
	CheckCurve
	// CheckSubgroup wants it in the subgroup of order r as well: up to a
	// millisecond a call.
	CheckSubgroup
)

// Config configures an Engine. Only Open is required.
type Config struct {
	// Open opens backends by name.
	Open Opener
	// Backend is the name of the first backend; "" is "cpu".
	Backend string
	// Fallback is the name of the backend that takes over calls that the
	// chosen one cannot answer; "" is "cpu", NoFallback has such calls fail.
	Fallback string
	// Restarts is how often one call may be repeated on a reopened backend
	// before the fallback takes it: 0 is 3, negative is none.
	Restarts int

	// Check is applied to every answer.
	Check Check
	// CompareEvery has every k-th answer computed again on the fallback and
	// compared; 0 is never.
	CompareEvery int
	// CheckInput refuses bases off the curve and scalars not below r.
	CheckInput bool

	// Threshold is the number of points below which the drop-in functions
	// use gnark-crypto in the caller's own goroutines: 0 is
	// DefaultThreshold, negative sends everything to the backend.
	Threshold int

	// Log receives events; nil discards them.
	Log *slog.Logger
	// OnEvent, when set, is called with every event, in order and never
	// concurrently; it must not call the engine.
	OnEvent func(Event)
}

// DefaultThreshold is the size from which handing an MSM to another process
// begins to pay: below it gnark-crypto needs a few milliseconds.
const DefaultThreshold = 1 << 12

// NoFallback, as Config.Fallback, has calls fail that the chosen backend
// cannot answer.
const NoFallback = "none"

const (
	defaultBackend  = "cpu"
	defaultRestarts = 3
)

func (c *Config) setDefaults() error {
	if c.Open == nil {
		return fmt.Errorf("%w: msm.Config.Open is not set (pippin.New sets it)", backend.ErrInvalidInput)
	}
	if c.CompareEvery < 0 {
		return fmt.Errorf("%w: CompareEvery is %d", backend.ErrInvalidInput, c.CompareEvery)
	}
	if c.Backend == "" {
		c.Backend = defaultBackend
	}
	if c.Fallback == "" {
		c.Fallback = defaultBackend
	}
	if c.Restarts == 0 {
		c.Restarts = defaultRestarts
	}
	if c.Threshold == 0 {
		c.Threshold = DefaultThreshold
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.CompareEvery > 0 && c.Fallback == NoFallback {
		return fmt.Errorf("%w: CompareEvery needs a fallback to compare with", backend.ErrInvalidInput)
	}
	return nil
}

// EventKind says what happened.
type EventKind string

// The kinds of events.
const (
	EventOpened   EventKind = "opened"       // a backend serves from now on
	EventSwapped  EventKind = "swapped"      // Use replaced the backend
	EventFailed   EventKind = "failed"       // a call failed on a backend and will be repeated
	EventRestart  EventKind = "restarted"    // a dead backend was opened again
	EventFallback EventKind = "fell back"    // the fallback serves this call, or from now on
	EventWrong    EventKind = "wrong answer" // a check refused an answer
)

// Event is something that the owner of an engine may want to know. No call
// failed because of it unless the call's own error says so.
type Event struct {
	Time    time.Time
	Kind    EventKind
	Backend string // the backend it happened to, or that took over
	Err     error  // the cause, if there is one
}

// String is one line for people.
func (ev Event) String() string {
	if ev.Err == nil {
		return fmt.Sprintf("%s: %s", ev.Kind, ev.Backend)
	}
	return fmt.Sprintf("%s: %s: %v", ev.Kind, ev.Backend, ev.Err)
}
