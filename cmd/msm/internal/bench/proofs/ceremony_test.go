package proofs

import (
	"context"
	"errors"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench/benchtest"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
)

func TestCeremony(t *testing.T) {
	open := func(context.Context, string) (backend.Backend, error) { return cpu.New(cpu.Options{}), nil }
	cfg := Ceremony{Common: bench.Common{Open: open, Backends: []string{"cpu"}, Count: 2}, Sizes: []int{16}, Stock: true}
	runs, infos, err := bench.Measure(t.Context(), &cfg)
	if err != nil || len(runs) != len(ceremonyParts) || len(infos) != 1 {
		t.Fatalf("%d runs, %d backends, %v", len(runs), len(infos), err)
	}
	for i, r := range runs {
		if r.Op != "setup" || r.Inputs[report.InputSystem] != ceremonyParts[i].system ||
			r.What != ceremonyParts[i].name || r.Curve != "bn254" || r.N != 16 ||
			!r.Checked || r.Count != 2 || len(r.Samples) != 2 || r.Min <= 0 || r.Median < r.Min || r.Value(report.FigureStock) <= 0 {
			t.Errorf("%+v", r)
		}
	}
	cfg.Sizes = []int{12}
	if _, _, err := bench.Measure(t.Context(), &cfg); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("12 constraints: %v", err)
	}
	// A backend whose products are wrong: a verification refuses its contribution.
	cfg.Sizes, cfg.Open = []int{16}, func(context.Context, string) (backend.Backend, error) {
		return oddSums{benchtest.Vectors{Backend: cpu.New(cpu.Options{})}}, nil
	}
	if runs, _, err := bench.Measure(t.Context(), &cfg); !errors.Is(err, backend.ErrInvalidInput) || len(runs) != 0 {
		t.Errorf("wrong products: %d runs, %v", len(runs), err)
	}
}
