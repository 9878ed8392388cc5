package proofs

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/pippin-zk/pippin/cmd/internal/telemetry"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/proofsystem"
	"github.com/pippin-zk/pippin/internal/record"
)

// Trace measures proofs on every backend, and what the prover, a plugin and its device did
// when. Of the proof whose time is the median, each kind of parts is a run behind that of the
// proofs, with when they ended and what they took.
//
// All requests to plugins go through gRPC for that, which small ones do not do otherwise.
type Trace struct {
	Statements
	// Opener opens backends by name, with options of plugins' connections and with variables in
	// their environment.
	Opener func(connection []grpc.DialOption, env ...string) engine.Opener
}

// Validate refuses an empty or senseless configuration with backend.ErrInvalidInput.
func (c *Trace) Validate() error {
	if c.Opener == nil {
		return bench.Refused("a trace needs an opener of backends")
	}
	return c.validateKept()
}

// Sheet shows the parts of the proof.
func (c *Trace) Sheet() report.Sheet {
	return report.Sheet{
		Note: `Times are of whole proofs, from the witness on, keys loaded before. The parts are of the proof whose time is the median:
those of one kind are added up, and may run side by side. "request" is a plugin's, those that begin with "device" are its device's,
the others the prover's.`,
		Before: statementColumns(),
		After:  []report.Column{report.ColumnMillis("added up ms", 9, report.FigureTook)},
	}
}

// Measure proves on one backend after the other.
func (c *Trace) Measure(ctx context.Context, r *bench.Runner) (err error) {
	spans, err := telemetry.Collect()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, spans.Close(context.WithoutCancel(ctx))) }()
	r.Open = c.Opener(spans.Connection(), append(spans.Environment(), "PIPPIN_GPU_STAGES=1")...)
	observers := map[string]engine.Observer{}
	for _, name := range c.Backends {
		observers[name] = spans.Observer()
	}
	if err := r.Start(ctx, observers); err != nil {
		return err
	}
	return c.each(r, func(t *task, able bench.Engines) error {
		k, err := c.readKey(ctx, t, able)
		if err != nil {
			return err
		}
		for _, e := range able {
			if err := proveTraced(ctx, r, t, k, e, spans); err != nil {
				return fmt.Errorf("backend %s: %w", e.Name, err)
			}
		}
		return nil
	})
}

// proveTraced makes the proofs on one backend, and adds the runs.
func proveTraced(ctx context.Context, r *bench.Runner, t *task, k *key, e *bench.Single, spans *telemetry.Spans) (err error) {
	prover, err := k.NewProver(e.Engine, t.ccs, proofsystem.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, prover.Close()) }()
	var proof proofsystem.Proof
	var traces []string // of each proof, that to warm up too
	s := r.Series(e, t.run(string(t.system)), func() (time.Duration, error) {
		ctx, id, end := spans.Trace(ctx)
		defer end()
		traces = append(traces, id)
		return bench.Clock(func() (err error) {
			proof, err = prover.Prove(ctx, t.full)
			return err
		})()
	})
	s.Check = func() (int, error) { return t.refused(proof), nil }
	what := fmt.Sprintf("%s %v: proving on %s", t.Name, t.curve, e.Name)
	if err := r.Compare(ctx, r.Trial(what, s)); err != nil {
		return err
	}
	middle := slices.Sorted(slices.Values(s.Samples))[(len(s.Samples)-1)/2]
	r.Progress.Tell(what+": waiting for the spans", 0, 1)
	parts, err := spans.Of(ctx, traces[1+slices.Index(s.Samples, middle)])
	if err != nil {
		return err
	}
	r.Runs = append(r.Runs, partRuns(r.Runs[len(r.Runs)-1], parts)...)
	return nil
}

// partOf returns what a span is called in a record, "" for those that are not in it: the whole
// proof, and the prover's side of a request.
func partOf(s telemetry.Span) string {
	if !s.Plugin {
		switch kind := engine.PhaseKind(strings.TrimPrefix(s.Name, "pippin.")); kind {
		case engine.PhaseSolve, engine.PhaseCall, engine.PhaseWait, engine.PhaseLoad, engine.PhaseSpace, engine.PhaseMSM,
			engine.PhaseProgram, engine.PhaseCheck:
			return string(kind)
		}
		return ""
	}
	if stage, ok := strings.CutPrefix(s.Name, "pippin.stage."); ok {
		return report.DevicePart + stage
	}
	if path.Base(s.Name) == "Run" {
		return "request"
	}
	return ""
}

// partRuns returns a run for each kind of parts of a proof, in the order in which the first of
// each began.
func partRuns(proved report.Run, spans []telemetry.Span) (all []report.Run) {
	took, ends, leftOut := map[string][]time.Duration{}, map[string][]time.Duration{}, map[string]int{}
	var kinds []string
	var begin time.Time
	for _, s := range spans {
		kind := partOf(s)
		if kind == "" {
			continue
		}
		if begin.IsZero() {
			begin = s.Start
		}
		if took[kind] == nil {
			kinds = append(kinds, kind)
		}
		took[kind], ends[kind] = append(took[kind], s.End.Sub(s.Start)), append(ends[kind], s.End.Sub(begin))
		leftOut[kind] += s.LeftOut
	}
	for _, kind := range kinds {
		sum := time.Duration(0)
		for _, d := range took[kind] {
			sum += d
		}
		run := proved.Clone()
		run.Op, run.What = proved.Op+report.PhaseOf, kind
		run.Times, run.Checked, run.Oracle = record.Times{}, false, ""
		run.Figures = map[string]report.Figure{
			report.FigureConstraints: proved.Figures[report.FigureConstraints],
			report.FigureTook:        {Value: record.Millis(sum), Unit: report.Milliseconds, Samples: record.AllMillis(took[kind])},
			report.FigureEnd: {Value: record.Millis(slices.Max(ends[kind])), Unit: report.Milliseconds,
				Samples: record.AllMillis(ends[kind])},
		}
		run.Figure(report.FigureLeftOut, "", float64(leftOut[kind]))
		all = append(all, run)
	}
	return all
}
