package bench

import (
	"errors"
	"os"
	"testing"

	"github.com/pippin-zk/pippin/internal/proofsystem"
)

func TestCold(t *testing.T) {
	for _, system := range proofsystem.Systems() {
		cfg := ColdConfig{ProveConfig: proveConfig(t, &world{}, "a"), Stock: true}
		cfg.System, cfg.NoKeep, cfg.Circuits = system, true, []string{circuitSquares}
		cfg.Squares = 20
		runs, infos, err := Cold(t.Context(), cfg)
		if err != nil || len(runs) != 1 || len(infos) != 1 {
			t.Fatalf("%s: %d runs, %d backends, %v", system, len(runs), len(infos), err)
		}
		r := runs[0]
		if r.Op != "cold" || r.System != string(system) || r.Circuit != "squares-20" || r.Constraints == 0 || r.Backend != "a" || r.Bytes < 20*32 || !r.Verified {
			t.Errorf("%+v", r)
		}
		if r.Count != 2 || len(r.Samples) != 2 || r.Min <= 0 || r.Median < r.Min || r.Read <= 0 || r.Load <= 0 || r.Prove <= 0 || r.Stock <= r.StockRead || r.StockRead <= 0 {
			t.Errorf("%+v", r)
		}
		if left, err := os.ReadDir(cfg.CacheDir); err != nil || len(left) > 0 {
			t.Errorf("%d files are left, %v", len(left), err)
		}
	}
}

// TestColdDetectsBadProofs: a backend with wrong sums makes proofs that gnark refuses.
func TestColdDetectsBadProofs(t *testing.T) {
	cfg := ColdConfig{ProveConfig: proveConfig(t, &world{}, "wrong")}
	cfg.System = proofsystem.PLONK
	cfg.NoKeep, cfg.Circuits, cfg.Squares = true, []string{circuitSquares}, 20
	runs, _, err := Cold(t.Context(), cfg)
	if !errors.Is(err, ErrWrong) || len(runs) != 1 || runs[0].Verified || runs[0].Refused != cfg.Count {
		t.Errorf("%+v, %v", runs, err)
	}
}
