package proofs

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench/benchtest"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/proofsystem"
)

func TestSetup(t *testing.T) {
	for _, system := range proofsystem.Systems() {
		cfg := Setup{Statements: proveConfig(t, &benchtest.World{}, "a").Statements, Stock: true}
		cfg.System, cfg.CacheDir = system, ""
		runs, infos, err := bench.Measure(t.Context(), &cfg)
		if err != nil || len(runs) != 1 || len(infos) != 1 {
			t.Fatalf("%s: %d runs, %d backends, %v", system, len(runs), len(infos), err)
		}
		r := runs[0]
		if r.Op != "setup" || r.Inputs[report.InputSystem] != string(system) || r.What != "mimc-2" ||
			r.Curve != "bn254" || r.Value(report.FigureConstraints) == 0 || r.Backend != "a" || r.Device == "" {
			t.Errorf("%+v", r)
		}
		if !r.Checked || r.Wrong != 0 || r.Count != 2 || len(r.Samples) != 2 || r.Min <= 0 || r.Median < r.Min ||
			r.Value(report.FigureStock) <= 0 {
			t.Errorf("%+v", r)
		}
	}
}

// oddSums has wrong products of points, and the sums of a call of one group in the wrong
// order.
type oddSums struct{ benchtest.Vectors }

func (b oddSums) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	for i, s := range steps {
		if m, ok := s.(backend.MultiplyPoints); ok {
			steps[i] = backend.MultiplyPoints{Dst: m.Dst, Src: m.Src} // ones
		}
	}
	return b.Programs().Run(ctx, steps)
}

func (b oddSums) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	answers, err := b.Backend.MSM(ctx, jobs)
	if err == nil && !slices.ContainsFunc(answers, func(a []byte) bool { return len(a) != len(answers[0]) }) {
		slices.Reverse(answers)
	}
	return answers, err
}

// TestSetupDetectsBadKeys: proofs with keys of a wrong backend are refused.
func TestSetupDetectsBadKeys(t *testing.T) {
	for _, system := range proofsystem.Systems() {
		cfg := Setup{Statements: proveConfig(t, &benchtest.World{}, "odd").Statements}
		cfg.System = system
		cfg.Open = func(context.Context, string) (backend.Backend, error) {
			return oddSums{benchtest.Vectors{Backend: cpu.New(cpu.Options{})}}, nil
		}
		runs, _, err := bench.Measure(t.Context(), &cfg)
		if !errors.Is(err, bench.ErrWrong) || len(runs) != 1 || runs[0].Checked || runs[0].Wrong != 1+cfg.Count {
			t.Errorf("%s: %+v, %v", system, runs, err)
		}
	}
}

// TestProveWithOwnSetup: the first backend makes the keys. gnark's own proofs with those of
// a wrong backend are refused.
func TestProveWithOwnSetup(t *testing.T) {
	for _, system := range proofsystem.Systems() {
		for _, odd := range []bool{false, true} {
			cfg := proveConfig(t, &benchtest.World{}, "a")
			cfg.System, cfg.Count, cfg.OwnSetup = system, 1, true
			if odd {
				cfg.Open = func(context.Context, string) (backend.Backend, error) {
					return oddSums{benchtest.Vectors{Backend: cpu.New(cpu.Options{})}}, nil
				}
			}
			runs, _, err := bench.Measure(t.Context(), &cfg)
			if len(runs) != 1 || errors.Is(err, bench.ErrWrong) != odd || (runs[0].Value(figureStockRefused) > 0) != odd || !odd && err != nil {
				t.Errorf("%s, wrong backend %v: %+v, %v", system, odd, runs, err)
			}
		}
	}
}

func TestSetupRefuses(t *testing.T) {
	for what, spoil := range map[string]func(*Setup){
		"no circuit": func(c *Setup) { c.Circuits = nil },
		"no count":   func(c *Setup) { c.Count = 0 },
		"a system":   func(c *Setup) { c.System = "stark" },
	} {
		cfg := Setup{Statements: proveConfig(t, &benchtest.World{}, "a").Statements}
		spoil(&cfg)
		if _, _, err := bench.Measure(t.Context(), &cfg); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", what, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if runs, _, err := bench.Measure(ctx, &Setup{Statements: proveConfig(t, &benchtest.World{}, "a").Statements}); !errors.Is(err,
		context.Canceled) || len(runs) != 0 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}
