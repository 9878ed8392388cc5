package bench

import (
	"errors"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench/benchtest"
)

// TestTransformsAreCompared: a wrong element ends the measurement.
func TestTransformsAreCompared(t *testing.T) {
	cfg := Transforms{Common: Common{Open: new(benchtest.World).Opener, Count: 1, Seed: 1}, Ways: []string{"forward"},
		Curves: []backend.Curve{backend.BN254}, Sizes: []int{64}, Batch: 1}
	for _, name := range []string{"wrong", "cpu"} {
		cfg.Backends = []string{name}
		runs, _, err := Measure(t.Context(), &cfg)
		if wrong := errors.Is(err, ErrWrong); wrong != (name == "wrong") || !wrong && (err != nil || len(runs) != 1) {
			t.Errorf("%s: %v, %v", name, runs, err)
		}
	}
}
