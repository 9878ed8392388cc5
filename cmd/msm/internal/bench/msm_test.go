package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench/benchtest"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/internal/units"
)

func config(t *testing.T, w *benchtest.World, backends ...string) MSM {
	t.Cleanup(func() {
		if w.Opened != 0 || w.Arenas != 0 {
			t.Errorf("%d backends and %d buffers left open", w.Opened, w.Arenas)
		}
	})
	return MSM{
		Common:        Common{Open: w.Opener, Backends: backends, Count: 3, Seed: 1, CacheDir: t.TempDir()},
		Curves:        []backend.Curve{backend.BN254},
		Groups:        []backend.Group{backend.G1},
		Sizes:         []int{40},
		Distributions: []fixtures.Distribution{fixtures.Uniform},
		Paths:         []report.Path{report.Copy},
		Check:         true,
	}
}

func TestMSMAllGroups(t *testing.T) {
	w := &benchtest.World{}
	cfg := config(t, w, "cpu")
	cfg.Curves, cfg.Groups, cfg.Distributions = backend.Curves(), backend.Groups(), fixtures.Distributions()
	cfg.Sizes, cfg.Count = []int{70, 33}, 1
	runs, infos, err := Measure(t.Context(), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	key := func(r report.Run) string { return fmt.Sprint(r.Workload(), r.Seed) }
	var got, want []string
	for _, r := range runs {
		got = append(got, key(r))
		if !r.Checked || r.Oracle != discreteLogarithms || r.Wrong != 0 || r.Op != report.OpMSM ||
			r.Inputs[report.InputPath] != string(report.Copy) || r.Notes["measure"] != report.EndToEnd {
			t.Errorf("run %+v", r)
		}
		if r.Count != 1 || len(r.Samples) != 1 || r.Min <= 0 || r.Median < r.Min || r.Device == "" || r.Version == "" {
			t.Errorf("run %+v", r)
		}
	}
	for _, c := range backend.Curves() {
		for _, g := range backend.Groups() {
			for _, n := range []int{70, 33} {
				for _, d := range fixtures.Distributions() {
					want = append(want, key(report.Run{Op: report.OpMSM, Curve: c.String(), Group: g.String(), N: n,
						Inputs: map[string]string{report.InputDistribution: d.String()}, Seed: 1}))
				}
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("workloads %v\nwant %v", got, want)
	}
	if len(infos) != 1 || infos[0].Name != "cpu" || len(infos[0].Curves) != 4 || len(infos[0].Devices) == 0 {
		t.Errorf("backends %+v", infos)
	}
}

func TestMSMAlternates(t *testing.T) {
	w := &benchtest.World{}
	cfg := config(t, w, "a", "arena", "c")
	cfg.Paths, cfg.Warmup = []report.Path{report.Copy, report.Arena}, 2
	runs, _, err := Measure(t.Context(), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	round := []string{"a", "arena", "arena", "c"}
	if got, want := w.Recorded(), slices.Repeat(round, 2+cfg.Count); !slices.Equal(got, want) {
		t.Errorf("order %v\nwant  %v", got, want)
	}
	var series []string
	for _, r := range runs {
		series = append(series, r.Backend+" "+r.Inputs[report.InputPath])
		if r.Count != cfg.Count || len(r.Samples) != cfg.Count {
			t.Errorf("%d samples of %d: the warm-up must not count", len(r.Samples), cfg.Count)
		}
	}
	if want := []string{"a copy", "arena copy", "arena arena", "c copy"}; !slices.Equal(series, want) {
		t.Errorf("runs %v, want %v", series, want)
	}
}

// TestPhases: a run of each phase that took time follows its MSMs' run, a sample for
// every call that was timed; who has none is named.
func TestPhases(t *testing.T) {
	var notes []string
	cfg := config(t, &benchtest.World{}, "cpu", "phased")
	cfg.Phases, cfg.Count, cfg.Note = true, 3, func(s string) { notes = append(notes, s) }
	runs, _, err := Measure(t.Context(), &cfg)
	if err != nil || len(runs) != 4 || runs[0].Backend != "cpu" || runs[1].Op != report.OpMSM {
		t.Fatalf("%v, %+v", err, runs)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "cpu counted no phases") {
		t.Errorf("%q", notes)
	}
	for i, want := range []struct {
		phase   string
		samples []float64 // of the second call to the fourth
	}{{"sort", []float64{1e3, 1e3, 1e3}}, {"wipe", []float64{0, 6e4, 0}}} {
		r := runs[2+i]
		if r.Op != report.OpMSM+report.PhaseOf || r.What != want.phase || !slices.Equal(r.Samples, want.samples) ||
			r.Count != 3 || !r.Checked || r.Backend != "phased" || r.N != cfg.Sizes[0] || r.Figures != nil {
			t.Errorf("%+v, want %+v", r, want)
		}
	}
	cfg.Phases = false
	if runs, _, err = Measure(t.Context(), &cfg); err != nil || len(runs) != 2 {
		t.Errorf("not asked for: %v, %+v", err, runs)
	}
}

// TestSharedCards: a backend that holds fewer multiples than another one with the same card is named, with both figures.
func TestSharedCards(t *testing.T) {
	var notes []string
	cfg := config(t, &benchtest.World{}, "card", "cards", "arena")
	cfg.Note, cfg.Paths = func(s string) { notes = append(notes, s) }, []report.Path{report.Copy, report.Arena}
	runs, _, err := Measure(t.Context(), &cfg)
	if err != nil || len(runs) != 4 {
		t.Fatalf("%v, %+v", err, runs)
	}
	for i, want := range []float64{8 << 20, 6 << 20, 0, 0} {
		if got := runs[i].Value(report.FigureMultiplesHeld); got != want {
			t.Errorf("%s: %g bytes of multiples, want %g", runs[i].Backend, got, want)
		}
	}
	const want = "cards holds 6.0 MiB of multiples on a card and card 8.0 MiB: they share one"
	if len(notes) != 1 || !strings.Contains(notes[0], want) {
		t.Errorf("%q, want one with %q", notes, want)
	}
}

// TestUntil: rounds go on until medians are known, or time is over.
func TestUntil(t *testing.T) {
	cfg := config(t, &benchtest.World{}, "a", "b")
	cfg.Count, cfg.Until, cfg.Within = 2, 1e6, time.Hour // six samples are enough for that
	runs, _, err := Measure(t.Context(), &cfg)
	if err != nil || len(runs) != 2 || runs[0].Count != runs[1].Count || runs[0].Count < 3 || report.Uncertainty(runs[0].Samples) > 1e6 {
		t.Errorf("%v, %+v", err, runs)
	}
	var notes []string
	cfg.Until, cfg.Within, cfg.Note = 1e-12, time.Nanosecond, func(s string) { notes = append(notes, s) }
	if runs, _, err = Measure(t.Context(), &cfg); err != nil || runs[0].Count != 2 || len(notes) != 1 ||
		!strings.Contains(notes[0], "not known") {
		t.Errorf("%v, %q, %+v", err, notes, runs)
	}
	if got := report.Uncertainty([]float64{100, 100, 100, 100, 100, 100, 102, 98, 100, 100}); !(got < 0.03) {
		t.Errorf("%v", got)
	}
	if got := report.Uncertainty([]float64{1, 2}); got < 1e6 {
		t.Errorf("two samples: %v", got)
	}
}

// TestBackToBack: rows of calls in turn after the rounds, one call more a row.
func TestBackToBack(t *testing.T) {
	for _, callers := range []int{0, 3} {
		t.Run(fmt.Sprint(callers), func(t *testing.T) { backToBack(t, callers) })
	}
}

func backToBack(t *testing.T, callers int) {
	w := &benchtest.World{}
	cfg := config(t, w, "a", "wrong")
	cfg.Count, cfg.BackToBack, cfg.Callers = 2, 3, callers
	runs, _, err := Measure(t.Context(), &cfg)
	if !errors.Is(err, ErrWrong) || len(runs) != 2 {
		t.Fatalf("%d runs, error %v", len(runs), err)
	}
	rounds := slices.Repeat([]string{"a", "wrong"}, 1+cfg.Count)
	row := append(slices.Repeat([]string{"a"}, 1+cfg.BackToBack), slices.Repeat([]string{"wrong"}, 1+cfg.BackToBack)...)
	if got, want := w.Recorded(), append(rounds, slices.Repeat(row, cfg.Count)...); !slices.Equal(got, want) {
		t.Errorf("order %v\nwant  %v", got, want)
	}
	for _, r := range runs {
		if b := r.Figures[report.FigureBackToBack]; r.Count != cfg.Count || r.Value(report.FigureCalls) != 3 ||
			r.Value(report.FigureCallers) != float64(callers) ||
			r.Value("devices") != 1 || len(b.Samples) != 2 || b.Value <= 0 {
			t.Errorf("%+v", r)
		}
	}
	if all := 1 + cfg.Count + cfg.Count*(1+cfg.BackToBack); runs[0].Wrong != 0 || runs[1].Wrong != all {
		t.Errorf("%d and %d wrong answers, want 0 and %d", runs[0].Wrong, runs[1].Wrong, all)
	}
}

// TestBatch: a row is one call of MSMs with scalars that differ, each compared with
// its own answer.
func TestBatch(t *testing.T) {
	w := &benchtest.World{}
	cfg := config(t, w, "arena", "wrong")
	cfg.Count, cfg.BackToBack, cfg.Batch, cfg.Paths = 2, 3, true, []report.Path{report.Arena}
	runs, _, err := Measure(t.Context(), &cfg)
	if !errors.Is(err, ErrWrong) || len(runs) != 2 {
		t.Fatalf("%d runs, error %v", len(runs), err)
	}
	rounds := slices.Repeat([]string{"arena", "wrong"}, 1+cfg.Count)
	if got, want := w.Recorded(), append(rounds, slices.Repeat([]string{"arena", "arena", "wrong", "wrong"},
		cfg.Count)...); !slices.Equal(got, want) {
		t.Errorf("order %v\nwant  %v", got, want)
	}
	for _, r := range runs {
		if b := r.Figures[report.FigureBatch]; r.Value(report.FigureCalls) != 3 || len(b.Samples) != 2 || b.Value <= 0 {
			t.Errorf("%+v", r)
		}
	}
	if all := 1 + cfg.Count + cfg.Count*(1+cfg.BackToBack); runs[0].Wrong != 0 || runs[1].Wrong != all {
		t.Errorf("%d and %d wrong answers, want 0 and %d", runs[0].Wrong, runs[1].Wrong, all)
	}
	if w.Arenas != 0 {
		t.Errorf("%d buffers were not freed", w.Arenas)
	}
}

// TestEnergy: that of rows, divided by their calls, where the backend knows.
func TestEnergy(t *testing.T) {
	w := &benchtest.World{}
	cfg := config(t, w, "arena", "a")
	cfg.Count, cfg.BackToBack, cfg.Paths = 3, 4, []report.Path{report.Arena}
	runs, _, err := Measure(t.Context(), &cfg)
	if err != nil || len(runs) != 2 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	// The engine may ping too, which adds to a row's 2 J.
	if e := runs[0].Value(report.FigureEnergy); e < 0.5 || e > 5 {
		t.Errorf("%g J a call", e)
	}
	if e := runs[1].Value(report.FigureEnergy); e != 0 {
		t.Errorf("%g J of a backend that does not count", e)
	}
	var text bytes.Buffer
	if err := cfg.Sheet().Write(&text, table.Form{}, record.Record[report.Run]{Machine: record.ThisMachine(""), Runs: runs}); err != nil ||
		!strings.Contains(text.String(), "J a call") {
		t.Errorf("%v\n%s", err, &text)
	}
}

func TestMSMDetectsWrongAnswers(t *testing.T) {
	w := &benchtest.World{}
	cfg := config(t, w, "cpu", "wrong")
	runs, _, err := Measure(t.Context(), &cfg)
	if !errors.Is(err, ErrWrong) || len(runs) != 2 {
		t.Fatalf("%d runs, error %v", len(runs), err)
	}
	if r := runs[0]; !r.Checked || r.Wrong != 0 {
		t.Errorf("the right backend: %+v", r)
	}
	if r := runs[1]; r.Checked || r.Wrong != 1+cfg.Count {
		t.Errorf("the wrong backend: %+v", r)
	}

	cfg.Check = false
	runs, _, err = Measure(t.Context(), &cfg)
	if err != nil || runs[0].Checked || runs[1].Checked || runs[0].Oracle != "" {
		t.Errorf("without a check: %+v, %v", runs, err)
	}
}

func TestMSMDistrustsTheOracle(t *testing.T) {
	w := &benchtest.World{}
	cfg := config(t, w, "cpu")
	cfg.Open = func(ctx context.Context, name string) (backend.Backend, error) {
		if name == "reference" {
			name = "wrong"
		}
		return w.Opener(ctx, name)
	}
	if runs, _, err := Measure(t.Context(), &cfg); !errors.Is(err, ErrWrong) || len(runs) != 0 {
		t.Errorf("%d runs, error %v", len(runs), err)
	}
}

func TestMSMKeepsWhatWasMeasured(t *testing.T) {
	t.Run("interrupt", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := &benchtest.World{}
		cfg := config(t, w, "a", "b")
		cfg.Check = false
		w.OnCall = func(before int) {
			if before == 5 { // b's second timed run
				cancel()
			}
		}
		runs, _, err := Measure(ctx, &cfg)
		if !errors.Is(err, context.Canceled) || len(runs) != 2 || runs[0].Count != 2 || runs[1].Count != 1 {
			t.Errorf("%v, %+v", err, runs)
		}
	})
	t.Run("failure", func(t *testing.T) {
		cfg := config(t, &benchtest.World{}, "cpu", "broken")
		runs, _, err := Measure(t.Context(), &cfg)
		if !errors.Is(err, backend.ErrOutOfMemory) || !strings.Contains(err.Error(), "broken") || len(runs) != 0 {
			t.Errorf("%v, %+v", err, runs)
		}
	})
}

func TestMSMLeavesOutWhatABackendHasNot(t *testing.T) {
	cfg := config(t, &benchtest.World{}, "bn254", "cpu")
	cfg.Curves = []backend.Curve{backend.BN254, backend.BLS12377}
	var notes []string
	cfg.Note = func(s string) { notes = append(notes, s) }
	runs, _, err := Measure(t.Context(), &cfg)
	if err != nil || len(runs) != 3 || len(notes) != 1 || !strings.Contains(notes[0], "bls12-377") {
		t.Errorf("%d runs, notes %q, error %v", len(runs), notes, err)
	}
	cfg.Backends, cfg.Curves = []string{"bn254"}, []backend.Curve{backend.BLS12377}
	if _, _, err := Measure(t.Context(), &cfg); !errors.Is(err, backend.ErrUnsupported) {
		t.Errorf("nothing to do: %v", err)
	}
}

func TestMSMProgress(t *testing.T) {
	cfg := config(t, &benchtest.World{}, "cpu")
	last := map[string][2]int{}
	cfg.Progress = func(stage string, done, total int) {
		if before, ok := last[stage]; ok && (done < before[0] || total != before[1]) || done > total {
			t.Errorf("%s: %d of %d after %v", stage, done, total, before)
		}
		last[stage] = [2]int{done, total}
	}
	if _, _, err := Measure(t.Context(), &cfg); err != nil {
		t.Fatal(err)
	}
	if len(last) < 4 {
		t.Errorf("stages %v", last)
	}
	for stage, at := range last {
		if at[0] != at[1] {
			t.Errorf("%s ended at %v", stage, at)
		}
	}
}

func TestMSMRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*MSM){
		"no backend":         func(c *MSM) { c.Backends = nil },
		"no curve":           func(c *MSM) { c.Curves = nil },
		"no size":            func(c *MSM) { c.Sizes = nil },
		"size 0":             func(c *MSM) { c.Sizes = []int{0} },
		"size 2^28 + 1":      func(c *MSM) { c.Sizes = []int{1<<28 + 1} },
		"count 0":            func(c *MSM) { c.Count = 0 },
		"until -1":           func(c *MSM) { c.Until = -1 },
		"callers of no row":  func(c *MSM) { c.Callers = 2 },
		"batch of no row":    func(c *MSM) { c.Batch = true },
		"callers of a batch": func(c *MSM) { c.BackToBack, c.Callers, c.Batch = 2, 2, true },
		"row of -1":          func(c *MSM) { c.BackToBack = -1 },
		"path":               func(c *MSM) { c.Paths = []report.Path{"x"} },
		"twice":              func(c *MSM) { c.Backends = []string{"a", "a"} },
		"no cache":           func(c *MSM) { c.CacheDir = "" },
	} {
		cfg := config(t, &benchtest.World{}, "cpu")
		spoil(&cfg)
		if _, _, err := Measure(t.Context(), &cfg); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := measured(t, config(t, &benchtest.World{}, "cpu", "absent")); !errors.Is(err, backend.ErrUnavailable) {
		t.Error("a backend that is not there is not noticed")
	}
}

func TestNeeds(t *testing.T) {
	cfg := MSM{
		Common: Common{Backends: []string{"cpu"}},
		Curves: []backend.Curve{backend.BN254},
		Groups: []backend.Group{backend.G1},
		Sizes:  []int{1 << 10, 1 << 26},
		Paths:  []report.Path{report.Copy, report.Arena},
	}
	const points, scalars = 64 << 26, 32 << 26
	alone := Sum(cfg.Needs())
	if alone < points+scalars || alone > points+scalars+3<<30 {
		t.Errorf("%s for the CPU, points and scalars are %s", units.FormatBytes(alone), units.FormatBytes(points+scalars))
	}
	if alone > 24<<30 {
		t.Errorf("2^26 needs %s", units.FormatBytes(alone))
	}
	cfg.Backends = []string{"cpu", "plugin:cpu"}
	both := Sum(cfg.Needs())
	if both < alone+points+2*scalars {
		t.Errorf("%s with a plugin that holds %s of points and two buffers of %s", units.FormatBytes(both),
			units.FormatBytes(points), units.FormatBytes(scalars))
	}
	if err := cfg.CheckMemory(both); err != nil {
		t.Errorf("enough memory: %v", err)
	}
	err := cfg.CheckMemory(both - 1)
	if !errors.Is(err, ErrMemory) || !strings.Contains(err.Error(), units.FormatBytes(both)) {
		t.Errorf("one byte less: %v", err)
	}
}

// TestCutBy: wrong answers cut nothing short.
func TestCutBy(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	if CutBy(ctx, nil) != "" || CutBy(ctx, ErrWrong) != "" || CutBy(ctx, errors.New("x")) != record.CutByError {
		t.Error("without an interrupt")
	}
	if cancel(); CutBy(ctx, nil) != "" || CutBy(ctx, ErrWrong) != record.CutByInterrupt {
		t.Error("with one")
	}
}

// measured measures what a configuration says.
func measured[C any, W interface {
	*C
	Workload
}](t *testing.T, cfg C) ([]report.Run, []record.BackendInfo, error) {
	t.Helper()
	return Measure(t.Context(), W(&cfg))
}
