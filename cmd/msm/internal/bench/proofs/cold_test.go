package proofs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench/benchtest"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/circuits"
	"github.com/pippin-zk/pippin/internal/proofsystem"
)

func coldConfig(t *testing.T) Cold {
	cfg := Cold{Statements: proveConfig(t, &benchtest.World{}, "a").Statements}
	cfg.Circuits, cfg.Squares = []string{circuits.Squares}, 20
	return cfg
}

func TestCold(t *testing.T) {
	for _, system := range proofsystem.Systems() {
		cfg := coldConfig(t)
		cfg.System, cfg.NoKeep, cfg.Stock = system, true, true
		runs, infos, err := bench.Measure(t.Context(), &cfg)
		if err != nil || len(runs) != 1 || len(infos) != 1 {
			t.Fatalf("%s: %d runs, %d backends, %v", system, len(runs), len(infos), err)
		}
		r := runs[0]
		if r.Op != "cold" || r.Inputs[report.InputSystem] != string(system) || r.What != "squares-20" ||
			r.Value(report.FigureConstraints) == 0 || r.Backend != "a" || r.Value("key") < 20*32 || !r.Checked || r.Value("start") != 0 {
			t.Errorf("%+v", r)
		}
		if r.Count != 2 || len(r.Samples) != 2 || r.Min <= 0 || r.Median < r.Min || r.Value(report.FigureStock) <= r.Value("stock_read") {
			t.Errorf("%+v", r)
		}
		benchtest.Positive(t, &r, "read", "load", "prove", "next", "stock_read")
		if left, err := os.ReadDir(cfg.CacheDir); err != nil || len(left) > 0 {
			t.Errorf("%d files are left, %v", len(left), err)
		}
	}
}

// TestColdStart: without a kept key there is no first proof; with one every part of the way
// to it takes time, and the parts are all of it.
func TestColdStart(t *testing.T) {
	for _, system := range proofsystem.Systems() {
		cfg := coldConfig(t)
		cfg.System, cfg.Start = system, true
		if _, _, err := bench.Measure(t.Context(), &cfg); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s without a key: %v", system, err)
		}
		cfg.Start = false
		if _, _, err := bench.Measure(t.Context(), &cfg); err != nil {
			t.Fatal(err)
		}
		cfg.Start = true
		runs, infos, err := bench.Measure(t.Context(), &cfg)
		if err != nil || len(runs) != 1 || len(infos) != 1 {
			t.Fatalf("%s: %d runs, %d backends, %v", system, len(runs), len(infos), err)
		}
		r := runs[0]
		sum := 0.0
		benchtest.Positive(t, &r, "start", "read_system", "open", "read", "load", "prove", "next")
		for _, part := range []string{"start", "read_system", "open", "read", "load", "prove"} {
			sum += r.Value(part)
		}
		if d := r.Samples[0] - sum; !r.Checked || r.Count != 1 || r.Value("key") < 20*32 || d > 0.01 || d < -0.01 {
			t.Errorf("%+v", r)
		}
	}
}

// swappedSums answers the sums of a program in the wrong order.
type swappedSums struct{ benchtest.Vectors }

func (b swappedSums) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	answers, err := b.Programs().Run(ctx, steps)
	if err != nil {
		return nil, err
	}
	var sums []int
	for i, s := range steps {
		if _, ok := s.(backend.Job); ok && (len(sums) == 0 || len(answers[i]) == len(answers[sums[0]])) {
			sums = append(sums, i)
		}
	}
	for i := range len(sums) / 2 {
		a, b := sums[i], sums[len(sums)-1-i]
		answers[a], answers[b] = answers[b], answers[a]
	}
	return answers, nil
}

func (b swappedSums) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	return b.Run(ctx, backend.Steps(jobs))
}

// TestColdDetectsBadProofs: proofs of a wrong backend are refused, in both ways.
func TestColdDetectsBadProofs(t *testing.T) {
	for _, system := range proofsystem.Systems() {
		cfg := coldConfig(t)
		cfg.System = system
		cfg.Open = func(context.Context, string) (backend.Backend, error) {
			return swappedSums{benchtest.Vectors{Backend: cpu.New(cpu.Options{})}}, nil
		}
		for _, cfg.Start = range []bool{false, true} {
			runs, _, err := bench.Measure(t.Context(), &cfg)
			if !errors.Is(err, bench.ErrWrong) || len(runs) != 1 || runs[0].Checked || runs[0].Wrong != 2*runs[0].Count {
				t.Errorf("%s, from the start %v: %+v, %v", system, cfg.Start, runs, err)
			}
		}
	}
}

// TestColdRefusesAnotherKey: a key that is kept for another circuit is not the circuit's.
func TestColdRefusesAnotherKey(t *testing.T) {
	for _, system := range proofsystem.Systems() {
		cfg := coldConfig(t)
		cfg.System = system
		var dirs []string
		for _, cfg.Squares = range []int{200, 20} {
			if _, _, err := bench.Measure(t.Context(), &cfg); err != nil {
				t.Fatal(err)
			}
			s, err := circuits.New(circuits.Squares, backend.BN254, 1, cfg.Squares)
			if err != nil {
				t.Fatal(err)
			}
			dirs = append(dirs, cfg.keyDir(s, backend.BN254))
		}
		other, err := os.ReadFile(filepath.Join(dirs[0], "proving"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dirs[1], "proving"), other, 0o600); err != nil {
			t.Fatal(err)
		}
		cfg.Start = true
		if runs, _, err := bench.Measure(t.Context(), &cfg); !errors.Is(err, backend.ErrInvalidInput) || len(runs) != 0 {
			t.Errorf("%s: %+v, %v", system, runs, err)
		}
		// Where digests are looked at another key takes its place.
		cfg.Start = false
		replaced := false
		cfg.Note = func(string) { replaced = true }
		if runs, _, err := bench.Measure(t.Context(), &cfg); err != nil || len(runs) != 1 || !replaced {
			t.Errorf("%s: %+v, %v", system, runs, err)
		}
	}
}

func TestColdRefuses(t *testing.T) {
	for what, spoil := range map[string]func(*Cold){
		"no circuit":   func(c *Cold) { c.Circuits = nil },
		"no count":     func(c *Cold) { c.Count = 0 },
		"two circuits": func(c *Cold) { c.Start, c.Circuits = true, []string{circuits.Squares, circuits.MiMC} },
		"two backends": func(c *Cold) { c.Start, c.Backends = true, []string{"a", "b"} },
	} {
		cfg := coldConfig(t)
		spoil(&cfg)
		if _, _, err := bench.Measure(t.Context(), &cfg); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
