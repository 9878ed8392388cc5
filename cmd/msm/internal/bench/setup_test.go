package bench

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/internal/proofsystem"
)

func TestSetup(t *testing.T) {
	for _, system := range proofsystem.Systems() {
		cfg := SetupConfig{ProveConfig: proveConfig(t, &world{}, "a"), Stock: true}
		cfg.System, cfg.CacheDir = system, ""
		runs, infos, err := Setup(t.Context(), cfg)
		if err != nil || len(runs) != 1 || len(infos) != 1 {
			t.Fatalf("%s: %d runs, %d backends, %v", system, len(runs), len(infos), err)
		}
		r := runs[0]
		if r.Op != "setup" || r.System != string(system) || r.Circuit != "mimc-2" || r.Curve != "bn254" || r.Constraints == 0 || r.Backend != "a" || r.Device == "" {
			t.Errorf("%+v", r)
		}
		if !r.Verified || r.Refused != 0 || r.Count != 2 || len(r.Samples) != 2 || r.Min <= 0 || r.Median < r.Min || r.Stock <= 0 {
			t.Errorf("%+v", r)
		}
	}
}

// oddSums has wrong products of points, and the sums of a call of one group in the wrong
// order.
type oddSums struct{ oddNumbers }

func (b oddSums) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	for i, s := range steps {
		if m, ok := s.(backend.MultiplyPoints); ok {
			steps[i] = backend.MultiplyPoints{Dst: m.Dst, Src: m.Src} // ones
		}
	}
	return b.vectors().Run(ctx, steps)
}

func (b oddSums) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	answers, err := b.oddNumbers.MSM(ctx, jobs)
	if err == nil && !slices.ContainsFunc(answers, func(a []byte) bool { return len(a) != len(answers[0]) }) {
		slices.Reverse(answers)
	}
	return answers, err
}

// TestSetupDetectsBadKeys: proofs with keys of a wrong backend are refused.
func TestSetupDetectsBadKeys(t *testing.T) {
	for _, system := range proofsystem.Systems() {
		cfg := SetupConfig{ProveConfig: proveConfig(t, &world{}, "odd")}
		cfg.System = system
		cfg.Open = func(context.Context, string) (backend.Backend, error) {
			return oddSums{oddNumbers{cpu.New(cpu.Options{})}}, nil
		}
		runs, _, err := Setup(t.Context(), cfg)
		if !errors.Is(err, ErrWrong) || len(runs) != 1 || runs[0].Verified || runs[0].Refused != 1+cfg.Count {
			t.Errorf("%s: %+v, %v", system, runs, err)
		}
	}
}

// TestProveWithOwnSetup: the first backend makes the keys. gnark's own proofs with those of
// a wrong backend are refused.
func TestProveWithOwnSetup(t *testing.T) {
	for _, system := range proofsystem.Systems() {
		for _, odd := range []bool{false, true} {
			cfg := proveConfig(t, &world{}, "a")
			cfg.System, cfg.Count, cfg.OwnSetup = system, 1, true
			if odd {
				cfg.Open = func(context.Context, string) (backend.Backend, error) {
					return oddSums{oddNumbers{cpu.New(cpu.Options{})}}, nil
				}
			}
			runs, _, err := Prove(t.Context(), cfg)
			if len(runs) != 1 || errors.Is(err, ErrWrong) != odd || (runs[0].StockRefused > 0) != odd || !odd && err != nil {
				t.Errorf("%s, wrong backend %v: %+v, %v", system, odd, runs, err)
			}
		}
	}
}

func TestSetupRefuses(t *testing.T) {
	for what, spoil := range map[string]func(*SetupConfig){
		"no circuit": func(c *SetupConfig) { c.Circuits = nil },
		"no count":   func(c *SetupConfig) { c.Count = 0 },
		"a system":   func(c *SetupConfig) { c.System = "stark" },
	} {
		cfg := SetupConfig{ProveConfig: proveConfig(t, &world{}, "a")}
		spoil(&cfg)
		if _, _, err := Setup(t.Context(), cfg); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", what, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if runs, _, err := Setup(ctx, SetupConfig{ProveConfig: proveConfig(t, &world{}, "a")}); !errors.Is(err, context.Canceled) || len(runs) != 0 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}
