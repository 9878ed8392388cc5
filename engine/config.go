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

// Opener opens the backend called name. The engine calls it again with the same name to replace a
// backend that died.
type Opener func(ctx context.Context, name string) (backend.Backend, error)

// Check says how an engine checks every answer before returning it.
type Check int

const (
	// CheckNone accepts every answer that is a point with coordinates below the modulus.
	CheckNone Check = iota
	// CheckCurve also requires that every answer is on the curve, which takes microseconds a call.
	// An answer of infinity is computed again in this process. What programs compute and read must
	// be canonical: scalars are below r, residues are below the modulus that the program writes,
	// and elements of GF(2^n) have no bits from x^n on.
	CheckCurve
	// CheckSubgroup also requires the subgroup of order r, which takes up to a millisecond a call.
	CheckSubgroup
)

// Config configures an engine. Only Open is required.
type Config struct {
	// Open opens backends by name.
	Open Opener
	// Backend is the name of the preferred backend; "" is "cpu".
	Backend string
	// Fallbacks are the names of the backends that answer when the preferred one is unable to, in
	// this order; nil is "cpu". With NoFallback as the only name such calls fail.
	Fallbacks []string

	// Patience is how long a call waits for a backend that is being repaired or is suspect before
	// the next one answers: 0 is 2 s, and a negative value is no wait. A call with a deadline waits
	// at most half of the time it has left, and an eighth if the backend is suspect (StateSuspect).
	// If there is no next backend, a call waits at least that long, and longer while a backend is
	// being opened.
	Patience time.Duration
	// Restarts is how often one call is repeated on a backend that died during it, before the next
	// backend takes the call: 0 is 3, and a negative value is none.
	Restarts int
	// OpenTimeout bounds the opening of a backend: 0 is 2 minutes.
	OpenTimeout time.Duration
	// RetryPause is the pause after the first failed repair of a backend, and after the sixth death
	// in a row. It doubles up to RetryMax. A life as long as RetryMax ends a row of deaths. 0 is
	// 100 ms and 1 minute.
	RetryPause, RetryMax time.Duration
	// PingEvery is the time between two pings of a backend that is outside of this process. Each
	// ping may take PingTimeout. After PingMisses pings in a row without an answer the engine gives
	// the backend up. 0 is 2 s, 5 s and 2.
	PingEvery, PingTimeout time.Duration
	PingMisses             int

	// Check is applied to every answer, from whatever backend.
	Check Check
	// CompareEvery makes the next backend compute every k-th answer again and compares the two; the
	// first answer after a repair is always compared. 0 is never. Of the programs over vectors or
	// numbers every k-th is computed again as a whole, from what it finds in memory: both its
	// answers and what it leaves in memory are compared.
	CompareEvery int
	// Known are computations whose answers are known. A backend outside of this process computes them when it
	// is opened, also for a repair, and when KnownEvery is over while it is in use; 0 is a minute, a negative
	// value only at openings. One wrong answer retires it. pippin.New sets Known; an empty list that is not nil
	// leaves it out.
	Known      []Known
	KnownEvery time.Duration
	// CheckInput refuses scalars not below r, and bases outside of the subgroup of order r. The
	// check of bases takes up to some 100 microseconds a point.
	CheckInput bool

	// Threshold is the number of points below which the drop-in functions of package msm call
	// gnark-crypto in the caller's own goroutines: 0 is DefaultThreshold, and a negative value
	// sends everything to the backend.
	Threshold int

	// Log records events; nil discards them.
	Log *slog.Logger
	// OnEvent, if set, is called with every event, in order and never concurrently, soon after it
	// happened. It may call the engine. A backend that died is opened again only after OnEvent has
	// returned, or after 5 s.
	OnEvent func(Event)
	// Observer, if set, is told of the phases of every call.
	Observer Observer
}

// DefaultThreshold is the size from which it begins to pay to hand an MSM to another process. A
// smaller one takes gnark-crypto only a few milliseconds.
const DefaultThreshold = 1 << 12

// NoFallback, as the only name in Config.Fallbacks, makes calls fail that the preferred backend is
// unable to answer.
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
	defaultKnownEvery  = time.Minute

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
	c.KnownEvery = cmp.Or(c.KnownEvery, defaultKnownEvery)
	c.Threshold = cmp.Or(c.Threshold, DefaultThreshold)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}
