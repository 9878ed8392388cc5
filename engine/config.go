package engine

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// Opener opens the backend called name. It is called again with the same name to
// replace a backend that died.
type Opener func(ctx context.Context, name string) (backend.Backend, error)

// Check says what an engine does with every answer before it returns it.
type Check int

const (
	// CheckNone trusts answers that are points with coordinates below the
	// modulus.
	CheckNone Check = iota
	// CheckCurve wants every answer on the curve: microseconds a call. An
	// answer of infinity is computed again in this process. What programs compute
	// and read must be canonical: scalars below r, residues below a modulus that
	// the program writes, elements of GF(2^n) without bits from x^n on.
	CheckCurve
	// CheckSubgroup wants it in the subgroup of order r as well: up to a
	// millisecond a call.
	CheckSubgroup
)

// Config configures an engine. Only Open is required.
type Config struct {
	// Open opens backends by name.
	Open Opener
	// Backend is the name of the preferred backend; "" is "cpu".
	Backend string
	// Fallbacks are the names of the backends that take over calls that the
	// preferred one cannot answer, asked in this order; nil is "cpu". With
	// NoFallback alone such calls fail.
	Fallbacks []string

	// Patience is how long calls wait for a backend that is being repaired, or is
	// suspect, before the next one answers: 0 is 2 s, negative is not at all. A call
	// waits for at most half of the time that it has, an eighth if the backend is
	// suspect (StateSuspect). Without a next backend calls wait at least that long, and
	// on while the backend is being opened.
	Patience time.Duration
	// Restarts is how often one call may be repeated on a backend that died of
	// it before the next one takes it: 0 is 3, negative is none.
	Restarts int
	// OpenTimeout bounds the opening of a backend: 0 is 2 minutes.
	OpenTimeout time.Duration
	// RetryPause is the pause after the first failed repair of a backend, and after
	// the sixth death in a row: it doubles up to RetryMax. Deaths are in a row when no
	// life between them was as long as RetryMax. 0 is 100 ms and 1 minute.
	RetryPause, RetryMax time.Duration
	// PingEvery is the time between two pings of a backend outside of this
	// process, each of which may take PingTimeout. PingMisses in a row without
	// an answer end the backend. 0 is 2 s, 5 s and 2.
	PingEvery, PingTimeout time.Duration
	PingMisses             int

	// Check is applied to every answer, whoever gave it.
	Check Check
	// CompareEvery has every k-th answer of a backend computed again on the
	// next one and compared, and the first after a repair; 0 is never. Of programs
	// over vectors or numbers every k-th is computed again as a whole, from what it
	// finds in memory: its answers and what it leaves there are compared.
	CompareEvery int
	// CheckInput refuses bases that are not in the subgroup of order r, which
	// takes up to some 100 microseconds a point, and scalars not below r.
	CheckInput bool

	// Threshold is the number of points below which the drop-in functions
	// of package msm use gnark-crypto in the caller's own goroutines: 0 is
	// DefaultThreshold, negative sends everything to the backend.
	Threshold int

	// Log receives events; nil discards them.
	Log *slog.Logger
	// OnEvent, when set, is called with every event, in order and never
	// concurrently, soon after it happened. It may call the engine. A backend
	// that died is opened again after OnEvent was told so, or 5 s later.
	OnEvent func(Event)
	// Observer, when set, is told of the phases of every call.
	Observer Observer
}

// DefaultThreshold is the size from which handing an MSM to another process
// begins to pay: below it gnark-crypto needs a few milliseconds.
const DefaultThreshold = 1 << 12

// NoFallback, as the only one of Config.Fallbacks, has calls fail that the
// preferred backend cannot answer.
const NoFallback = "none"

// The defaults of a Config, and the limits of what an engine waits for.
const (
	defaultBackend     = "cpu"
	defaultPatience    = 2 * time.Second
	defaultRestarts    = 3
	defaultOpenTimeout = 2 * time.Minute
	defaultRetryPause  = 100 * time.Millisecond
	defaultRetryMax    = time.Minute
	defaultPingEvery   = 2 * time.Second
	defaultPingTimeout = 5 * time.Second
	defaultPingMisses  = 2

	// drainLimit is how long Close waits for the calls in flight.
	drainLimit = 30 * time.Second
	// closeLimit is how long a backend may take to close.
	closeLimit = 30 * time.Second
	// letGo is how long calls on a backend that is gone may take to return.
	letGo = 2 * time.Second
	// flushLimit is how long a repair waits for Config.OnEvent.
	flushLimit = 5 * time.Second
)

func (c *Config) setDefaults() error {
	if c.Open == nil {
		return fmt.Errorf("%w: Config.Open is not set (pippin.New sets it)", backend.ErrInvalidInput)
	}
	if c.CompareEvery < 0 {
		return fmt.Errorf("%w: CompareEvery is %d", backend.ErrInvalidInput, c.CompareEvery)
	}
	c.Backend = cmp.Or(c.Backend, defaultBackend)
	if c.Fallbacks == nil {
		c.Fallbacks = []string{defaultBackend}
	}
	c.Fallbacks = slices.DeleteFunc(slices.Clone(c.Fallbacks), func(name string) bool { return name == NoFallback })
	for i, name := range c.Fallbacks {
		if name == "" || slices.Contains(c.Fallbacks[:i], name) {
			return fmt.Errorf("%w: fallback %q has no name or is listed twice", backend.ErrInvalidInput, name)
		}
	}
	if c.CompareEvery > 0 && len(c.Fallbacks) == 0 {
		return fmt.Errorf("%w: CompareEvery needs a fallback to compare with", backend.ErrInvalidInput)
	}
	c.Patience = cmp.Or(c.Patience, defaultPatience)
	c.Restarts = cmp.Or(c.Restarts, defaultRestarts)
	c.OpenTimeout = cmp.Or(c.OpenTimeout, defaultOpenTimeout)
	c.RetryPause = cmp.Or(c.RetryPause, defaultRetryPause)
	c.RetryMax = cmp.Or(c.RetryMax, defaultRetryMax)
	c.PingEvery = cmp.Or(c.PingEvery, defaultPingEvery)
	c.PingTimeout = cmp.Or(c.PingTimeout, defaultPingTimeout)
	c.PingMisses = cmp.Or(c.PingMisses, defaultPingMisses)
	c.Threshold = cmp.Or(c.Threshold, DefaultThreshold)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}
