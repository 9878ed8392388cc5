package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/record"
)

// Runner is a call of Measure: it times what the workload prepares, and keeps the runs.
type Runner struct {
	*Common
	Engines Engines
	Runs    []report.Run
}

// Start opens the backends. observers, by backend, are told of their engines' phases.
func (r *Runner) Start(ctx context.Context, observers map[string]engine.Observer) (err error) {
	r.Engines, err = openEngines(ctx, r.Open, r.Backends, r.Note, observers)
	return err
}

// Able returns the engines whose backends can do something, and notes the others.
func (r *Runner) Able(what string, can func(backend.Capabilities) bool) Engines {
	return r.Engines.able(what, can, r.Note)
}

// WithPrograms returns the engines whose backends have programs over an element.
func (r *Runner) WithPrograms(of backend.Element) Engines {
	return r.Able(fmt.Sprintf("programs over %v", of), func(c backend.Capabilities) bool { return c.HasPrograms(of) })
}

// Trial is one input and those who compute from it in turns, a round after the other.
type Trial struct {
	Stage  string // for the progress
	Series []*Series
	// Warmup rounds are not timed, then come the timed ones.
	Warmup, Timed int
	// Rotate has every round begin with the next series.
	Rotate bool
	// Tight has runs follow each other at once, else Go's garbage is collected before each.
	Tight bool
	// Whole leaves out what was timed in a round that did not end.
	Whole bool

	// Before is called at the beginning of a round, and after after the last: what it times
	// is of the series too. check compares afterwards what is compared once; without it the
	// runs do not count. Each may be nil.
	Before func(timed bool) error
	After  func() error
	Check  func() error
}

// Series is somebody who computes.
type Series struct {
	Run report.Run
	// Once computes, and says how long it took.
	Once func() (time.Duration, error)
	// check, if there is one, compares the answer of once, outside of the time, and returns
	// how many parts of it are wrong.
	Check func() (wrong int, err error)
	// row, if there is one, adds figures to the run in the end.
	Row func(*report.Run)
	// phases, if they are wanted, are counted within once.
	Phases *Phases
	// Silent has no run of its own.
	Silent bool

	Samples []time.Duration
}

// Trial returns a trial with a round to warm up.
func (r *Runner) Trial(stage string, all ...*Series) *Trial {
	return &Trial{Stage: stage, Series: all, Warmup: 1, Timed: r.Count}
}

// Series returns a series of runs on an engine.
func (r *Runner) Series(e *Single, run report.Run, once func() (time.Duration, error)) *Series {
	run = run.Clone()
	run.Backend, run.Version, run.Device, run.Seed = e.Name, e.info.Version, e.device(), r.Seed
	return &Series{Run: run, Once: once}
}

// Clock returns a function that times another one.
func Clock(f func() error) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		start := time.Now()
		err := f()
		return time.Since(start), err
	}
}

// Compare runs a trial and keeps its runs, with an error those that there are so far.
func (r *Runner) Compare(ctx context.Context, t *Trial) error {
	err := r.rounds(ctx, t)
	if err == nil && t.After != nil {
		err = t.After()
	}
	if t.Check != nil {
		if err == nil {
			err = t.Check()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.Stage, err)
		}
	}
	if t.Whole {
		t.cut()
	}
	for _, s := range t.Series {
		if len(s.Samples) > 0 && !s.Silent {
			run := s.Result()
			r.Runs = append(append(r.Runs, run), s.Phases.runs(run)...)
		}
	}
	return err
}

// rounds runs every series in turn, round after round: a drift of the machine's
// speed meets all series alike. It ends early, with the samples so far, at the
// first error.
func (r *Runner) rounds(ctx context.Context, t *Trial) error {
	each := len(t.Series)
	total := (t.Warmup + t.Timed) * each
	for round := range t.Warmup + t.Timed {
		timed := round >= t.Warmup
		if t.Before != nil {
			if err := t.Before(timed); err != nil {
				return err
			}
		}
		for i := range each {
			r.Progress.Tell(t.Stage, round*each+i, total)
			if err := ctx.Err(); err != nil {
				return err
			}
			at := i
			if t.Rotate {
				at = (i + round) % each
			}
			if err := t.Series[at].compute(ctx, timed, t.Tight); err != nil {
				return err
			}
		}
	}
	r.Progress.Tell(t.Stage, total, total)
	return nil
}

// compute computes once.
func (s *Series) compute(ctx context.Context, timed, tight bool) error {
	if !tight {
		runtime.GC()
	}
	var took time.Duration
	err := s.Phases.around(ctx, timed, func() (err error) {
		took, err = s.Once()
		return err
	})
	if err == nil && s.Check != nil {
		var wrong int
		wrong, err = s.Check()
		s.Run.Wrong += wrong
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.Run.Name(), err)
	}
	if timed {
		s.Samples = append(s.Samples, took)
	}
	return nil
}

// cut leaves out the samples of a round that did not end.
func (t *Trial) cut() {
	whole := len(t.Series[0].Samples)
	for _, s := range t.Series {
		whole = min(whole, len(s.Samples))
	}
	for _, s := range t.Series {
		s.Samples = s.Samples[:whole]
	}
}

// Result returns the run of a series.
func (s *Series) Result() report.Run {
	run := s.Run
	run.Times = record.TimesOf(s.Samples)
	if s.Check != nil {
		run.Checked = run.Wrong == 0
	}
	if s.Row != nil {
		s.Row(&run)
	}
	return run
}
