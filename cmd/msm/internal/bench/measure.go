package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/record"
)

// Errors of this package beside those of backend.
var (
	// ErrMemory: the inputs do not fit into this machine's memory.
	ErrMemory = errors.New("not enough memory")
	// ErrWrong: an answer was not the right one.
	ErrWrong = errors.New("wrong answer")
)

// Common is what all measurements are told.
type Common struct {
	// Open opens backends by name.
	Open engine.Opener
	// Backends are measured in the order in which they are named.
	Backends []string
	// Count is the number of timed runs.
	Count int
	Seed  uint64
	// CacheDir keeps points and keys between measurements.
	CacheDir string

	// Progress, when set, hears of steps that may take long.
	Progress Progress
	// Note, when set, hears of what a backend does not offer, and of what cannot be kept.
	Note func(string)
}

// Settings returns what all measurements are told, of one of them.
func (c *Common) Settings() *Common { return c }

// ValidateCommon refuses what no measurement can do.
func (c *Common) ValidateCommon() error {
	switch {
	case c.Open == nil:
		return Refused("bench needs an opener of backends")
	case len(c.Backends) == 0:
		return Refused("nothing to measure: backends must be given")
	case c.Count < 1:
		return Refused("a count of %d runs", c.Count)
	}
	for i, b := range c.Backends {
		if slices.Contains(c.Backends[:i], b) {
			return Refused("backend %q twice", b)
		}
	}
	return nil
}

func (c *Common) Notef(format string, a ...any) {
	if c.Note != nil {
		c.Note(fmt.Sprintf(format, a...))
	}
}

// Refused returns backend.ErrInvalidInput with why.
func Refused(format string, a ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{backend.ErrInvalidInput}, a...)...)
}

// Some refuses an empty list of what is measured.
func Some[T any](what string, all []T) error {
	if len(all) == 0 {
		return Refused("nothing to measure: %s must be given", what)
	}
	return nil
}

// Powers refuses sizes that are no powers of two, or below the least.
func Powers(what string, all []int, least int) error {
	for _, n := range all {
		if n < least || n&(n-1) != 0 {
			return Refused("%d %s, a power of two from %d on is wanted", n, what, least)
		}
	}
	return Some("sizes", all)
}

// Within refuses numbers that are not from least to most.
func Within(what string, all []int, least, most int) error {
	for _, n := range all {
		if n < least || n > most {
			return Refused("%d %s, from %d to %d are possible", n, what, least, most)
		}
	}
	return Some(what, all)
}

// Progress is told that done of total units of a stage are finished, first
// with 0. It is called by one goroutine at a time.
type Progress func(stage string, done, total int)

// Tell calls p if there is one.
func (p Progress) Tell(stage string, done, total int) {
	if p != nil {
		p(stage, done, total)
	}
}

// Workload is a measurement and its configuration.
type Workload interface {
	Settings() *Common
	// Validate refuses an empty or senseless configuration with backend.ErrInvalidInput.
	Validate() error
	// Sheet says how what was measured is shown.
	Sheet() report.Sheet
	// Measure opens backends, prepares one input after the other, and has r compare who
	// computes from it.
	Measure(ctx context.Context, r *Runner) error
}

// Measure measures what w says. The runs are in the order of the configuration.
//
// With an error the result still holds what was measured so far: when ctx
// ends (its error), when a backend fails (a sentinel of backend), or, after
// everything was measured, when answers were wrong (ErrWrong). Functions of gnark do not look
// at the context; a setup by gnark goes on in the background when ctx ends meanwhile.
func Measure(ctx context.Context, w Workload) (runs []report.Run, _ []record.BackendInfo, err error) {
	if err := w.Validate(); err != nil {
		return nil, nil, err
	}
	r := &Runner{Common: w.Settings()}
	defer func() { err = errors.Join(err, r.Engines.close()) }()
	err = w.Measure(ctx, r)
	if err == nil && len(r.Runs) == 0 {
		err = fmt.Errorf("%w: no backend has anything of what was asked for", backend.ErrUnsupported)
	}
	for _, run := range r.Runs {
		if run.Wrong > 0 {
			err = errors.Join(err, fmt.Errorf("%w: %s: %d of its answers, by %s", ErrWrong, run.Name(), run.Wrong, run.Oracle))
		}
	}
	return r.Runs, r.Engines.describe(), err
}

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

// UntilEnded calls f, which does not end with ctx, as gnark's functions. When ctx ends
// nobody waits for f any more, and what it works on is its own.
func UntilEnded(ctx context.Context, f func() error) error {
	if err := backend.Ended(ctx); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return backend.Ended(ctx)
	}
}
