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

// runner is a call of Measure: it times what the workload prepares, and keeps the runs.
type runner struct {
	*Common
	engines engines
	runs    []report.Run
}

// open opens the backends. observers, by backend, are told of their engines' phases.
func (r *runner) open(ctx context.Context, observers map[string]engine.Observer) (err error) {
	r.engines, err = openEngines(ctx, r.Open, r.Backends, r.Note, observers)
	return err
}

// able returns the engines whose backends can do something, and notes the others.
func (r *runner) able(what string, can func(backend.Capabilities) bool) engines {
	return r.engines.able(what, can, r.Note)
}

// withPrograms returns the engines whose backends have programs over an element.
func (r *runner) withPrograms(of backend.Element) engines {
	return r.able(fmt.Sprintf("programs over %v", of), func(c backend.Capabilities) bool { return c.HasPrograms(of) })
}

// trial is one input and those who compute from it in turns, a round after the other.
type trial struct {
	stage  string // for the progress
	series []*series
	// warmup rounds are not timed, then come the timed ones.
	warmup, timed int
	// rotate has every round begin with the next series.
	rotate bool
	// tight has runs follow each other at once, else Go's garbage is collected before each.
	tight bool
	// whole leaves out what was timed in a round that did not end.
	whole bool

	// before is called at the beginning of a round, and after after the last: what it times
	// is of the series too. check compares afterwards what is compared once; without it the
	// runs do not count. Each may be nil.
	before func(timed bool) error
	after  func() error
	check  func() error
}

// series is somebody who computes.
type series struct {
	run report.Run
	// once computes, and says how long it took.
	once func() (time.Duration, error)
	// check, if there is one, compares the answer of once, outside of the time, and returns
	// how many parts of it are wrong.
	check func() (wrong int, err error)
	// row, if there is one, adds figures to the run in the end.
	row func(*report.Run)
	// phases, if they are wanted, are counted within once.
	phases *phases
	// silent has no run of its own.
	silent bool

	samples []time.Duration
}

// trial returns a trial with a round to warm up.
func (r *runner) trial(stage string, all ...*series) *trial {
	return &trial{stage: stage, series: all, warmup: 1, timed: r.Count}
}

// series returns a series of runs on an engine.
func (r *runner) series(e *single, run report.Run, once func() (time.Duration, error)) *series {
	run = run.Clone()
	run.Backend, run.Version, run.Device, run.Seed = e.name, e.info.Version, e.device(), r.Seed
	return &series{run: run, once: once}
}

// clock returns a function that times another one.
func clock(f func() error) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		start := time.Now()
		err := f()
		return time.Since(start), err
	}
}

// compare runs a trial and keeps its runs, with an error those that there are so far.
func (r *runner) compare(ctx context.Context, t *trial) error {
	err := r.rounds(ctx, t)
	if err == nil && t.after != nil {
		err = t.after()
	}
	if t.check != nil {
		if err == nil {
			err = t.check()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.stage, err)
		}
	}
	if t.whole {
		t.cut()
	}
	for _, s := range t.series {
		if len(s.samples) > 0 && !s.silent {
			run := s.result()
			r.runs = append(append(r.runs, run), s.phases.runs(run)...)
		}
	}
	return err
}

// rounds runs every series in turn, round after round: a drift of the machine's
// speed meets all series alike. It ends early, with the samples so far, at the
// first error.
func (r *runner) rounds(ctx context.Context, t *trial) error {
	each := len(t.series)
	total := (t.warmup + t.timed) * each
	for round := range t.warmup + t.timed {
		timed := round >= t.warmup
		if t.before != nil {
			if err := t.before(timed); err != nil {
				return err
			}
		}
		for i := range each {
			r.Progress.tell(t.stage, round*each+i, total)
			if err := ctx.Err(); err != nil {
				return err
			}
			at := i
			if t.rotate {
				at = (i + round) % each
			}
			if err := t.series[at].compute(ctx, timed, t.tight); err != nil {
				return err
			}
		}
	}
	r.Progress.tell(t.stage, total, total)
	return nil
}

// compute computes once.
func (s *series) compute(ctx context.Context, timed, tight bool) error {
	if !tight {
		runtime.GC()
	}
	var took time.Duration
	err := s.phases.around(ctx, timed, func() (err error) {
		took, err = s.once()
		return err
	})
	if err == nil && s.check != nil {
		var wrong int
		wrong, err = s.check()
		s.run.Wrong += wrong
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.run.Name(), err)
	}
	if timed {
		s.samples = append(s.samples, took)
	}
	return nil
}

// cut leaves out the samples of a round that did not end.
func (t *trial) cut() {
	whole := len(t.series[0].samples)
	for _, s := range t.series {
		whole = min(whole, len(s.samples))
	}
	for _, s := range t.series {
		s.samples = s.samples[:whole]
	}
}

// result returns the run of a series.
func (s *series) result() report.Run {
	run := s.run
	run.Times = record.TimesOf(s.samples)
	if s.check != nil {
		run.Checked = run.Wrong == 0
	}
	if s.row != nil {
		s.row(&run)
	}
	return run
}
