package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/record"
)

// Errors of this package beside those of backend.
var (
	// ErrMemory: the inputs do not fit into this machine's memory.
	ErrMemory = errors.New("not enough memory")
	// ErrWrong: an answer was not the right one.
	ErrWrong = errors.New("wrong answer")
)

// CutBy returns what cut short the record of a measurement that ended with err, under ctx. Wrong answers
// cut nothing short.
func CutBy(ctx context.Context, err error) record.Cut {
	switch {
	case err == nil:
		return ""
	case ctx.Err() != nil:
		return record.CutByInterrupt
	case errors.Is(err, ErrWrong):
		return ""
	}
	return record.CutByError
}

// Config says what MSM measures: every curve with every group, size and
// distribution, on every backend and path.
type Config struct {
	// Open opens backends by name.
	Open engine.Opener
	// Backends are timed in turn: one MSM on each, then the next on each.
	Backends []string

	Curves        []backend.Curve
	Groups        []backend.Group
	Sizes         []int
	Distributions []fixtures.Distribution
	// Paths apply to backends that have shared memory; others know Copy only.
	Paths []report.Path

	// Count is the number of timed MSMs, after Warmup that are not, 1 when that is 0.
	Count, Warmup int
	// Until, when above 0, adds rounds until the median of every backend and path is
	// known to this share of it, with confidence 0.95, but none after Within.
	Until  float64
	Within time.Duration
	// BackToBack, when above 0, adds Count rows of that many MSMs without a
	// pause on every backend and path.
	BackToBack int
	// Callers is how many goroutines share a row's calls: 0 is 1.
	Callers int
	// Batch makes each row one batch, every MSM of which has scalars of its own.
	Batch bool
	// Multiples is the hint that bases are loaded with: how many multiples of each a
	// backend may make before the first MSM. 0 is 1: none.
	Multiples int
	Seed      uint64
	// Phases adds a run of every phase of the timed MSMs, one with Op OpPhase, on
	// backends that count them (backend.Usage.Stages). Note hears of others.
	Phases bool
	// Check compares every answer with Oracle, and Oracle itself with
	// double-and-add on the first few points of every group.
	Check bool
	// CacheDir keeps points between runs. Where it cannot be written those that it
	// lacks are made for this run alone.
	CacheDir string

	// Progress, when set, hears of steps that may take long.
	Progress Progress
	// Note, when set, hears of combinations that a backend does not offer, and of
	// points that cannot be kept.
	Note func(string)
}

// Progress is told that done of total units of a stage are finished, first
// with 0. It is called by one goroutine at a time.
type Progress func(stage string, done, total int)

// tell calls p if there is one.
func (p Progress) tell(stage string, done, total int) {
	if p != nil {
		p(stage, done, total)
	}
}

// Validate refuses an empty or senseless configuration with
// backend.ErrInvalidInput.
func (c *Config) Validate() error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{backend.ErrInvalidInput}, a...)...)
	}
	switch {
	case c.Open == nil || c.CacheDir == "":
		return bad("bench needs an opener of backends and a folder for points")
	case len(c.Backends) == 0 || len(c.Curves) == 0 || len(c.Groups) == 0 || len(c.Sizes) == 0 ||
		len(c.Distributions) == 0 || len(c.Paths) == 0:
		return bad("nothing to measure: backends, curves, groups, sizes, distributions and paths must be given")
	case c.Warmup < 0:
		return bad("%d runs to warm up", c.Warmup)
	case c.Count < 1:
		return bad("a count of %d runs", c.Count)
	case c.Until < 0 || c.Within < 0:
		return bad("medians to a share of %v, within %v", c.Until, c.Within)
	case c.BackToBack < 0:
		return bad("%d calls in a row", c.BackToBack)
	case c.Multiples < 0:
		return bad("%d multiples of each base", c.Multiples)
	case c.Batch && (c.BackToBack == 0 || c.Callers > 1):
		return bad("a batch of %d calls in a row by %d callers", c.BackToBack, c.Callers)
	case c.Callers < 0 || c.Callers > 1 && c.BackToBack == 0:
		return bad("%d callers of %d calls in a row", c.Callers, c.BackToBack)
	}
	for _, n := range c.Sizes {
		if n < 1 || n > backend.MaxCount {
			return bad("size %d", n)
		}
	}
	for _, p := range c.Paths {
		if p != report.Copy && p != report.Arena {
			return bad("path %q (arena, copy)", p)
		}
	}
	for i, b := range c.Backends {
		if slices.Contains(c.Backends[:i], b) {
			return bad("backend %q twice", b)
		}
	}
	return nil
}
