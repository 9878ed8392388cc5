package proofs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/pippin-zk/pippin/cmd/internal/telemetry"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench/benchtest"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/proofsystem"
)

// TestTrace: behind the proofs stand the parts of the one whose time is the median, none of
// which lasts beyond it, and no other proof's.
func TestTrace(t *testing.T) {
	for _, system := range proofsystem.Systems() {
		w := &benchtest.World{}
		var variables []string
		cfg := Trace{Statements: proveConfig(t, w, "a").Statements}
		cfg.System, cfg.Count = system, 3
		cfg.Opener = func(connection []grpc.DialOption, env ...string) engine.Opener {
			if len(connection) == 0 {
				t.Error("requests to plugins are not traced")
			}
			variables = env
			return w.Opener
		}
		runs, _, err := bench.Measure(t.Context(), &cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"PIPPIN_GPU_STAGES=1", "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:", "OTEL_BSP_SCHEDULE_DELAY="} {
			if !slices.ContainsFunc(variables, func(v string) bool { return strings.HasPrefix(v, want) }) {
				t.Errorf("plugins get %q, not %s", variables, want)
			}
		}
		proved := runs[0]
		if proved.Op != string(system) || proved.Count != 3 || !proved.Checked {
			t.Errorf("%+v", proved)
		}
		solved := 0
		for _, r := range runs[1:] {
			took, end := r.Figures[report.FigureTook], r.Figures[report.FigureEnd]
			if r.Op != string(system)+report.PhaseOf || r.Count != 0 || len(took.Samples) == 0 || len(took.Samples) != len(end.Samples) {
				t.Errorf("%+v", r)
			}
			if slices.Max(end.Samples) > proved.Median || slices.Max(took.Samples) > slices.Max(end.Samples) {
				t.Errorf("%s lasts until %v ms of %v", r.What, end.Samples, proved.Median)
			}
			if r.What == string(engine.PhaseSolve) {
				solved += len(took.Samples)
			}
		}
		if solved != 1 {
			t.Errorf("%s: %d solvers in one proof: %+v", system, solved, runs)
		}
	}
	if _, _, err := bench.Measure(t.Context(), &Trace{}); err == nil {
		t.Error("a trace without an opener is begun")
	}
}

// TestParts: parts of a kind are one run, with when each ended after the first part began.
func TestParts(t *testing.T) {
	at := time.Now()
	span := func(name string, plugin bool, from, to int) telemetry.Span {
		return telemetry.Span{Name: name, Plugin: plugin, Start: at.Add(time.Duration(from) * time.Millisecond),
			End: at.Add(time.Duration(to) * time.Millisecond)}
	}
	request := span("pippin.plugin.v4.Backend/Run", true, 21, 59)
	request.LeftOut = 3
	var proved report.Run
	proved.Op, proved.Checked = "plonk", true
	proved.Figure(report.FigureConstraints, "", 7)
	runs := partRuns(proved, []telemetry.Span{
		span("trace", false, 0, 100), span("pippin.prove", false, 1, 99), span("pippin.solve", false, 10, 30),
		span("pippin.plugin.v4.Backend/Run", false, 20, 60), request,
		span("pippin.stage.sort", true, 22, 25), span("pippin.stage.sort", true, 30, 31),
		span("pippin.plugin.v4.Backend/LoadBases", true, 40, 41),
	})
	var got []string
	for _, r := range runs {
		got = append(got, fmt.Sprint(r.Op, " ", r.What, " ", r.Figures[report.FigureTook].Samples, r.Figures[report.FigureEnd].Samples))
		if r.Checked || r.Value(report.FigureConstraints) != 7 || (r.Value(report.FigureLeftOut) == 3) != (r.What == "request") {
			t.Errorf("%+v", r)
		}
	}
	want := []string{"plonk-phase solve [20] [20]", "plonk-phase request [38] [49]", "plonk-phase device sort [3 1] [15 21]"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
