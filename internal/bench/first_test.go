package bench

import (
	"os"
	"testing"

	"github.com/pippin-zk/pippin/internal/proofsystem"
)

func TestFirst(t *testing.T) {
	for _, system := range proofsystem.Systems() {
		cfg := FirstConfig{ProveConfig: proveConfig(t, &world{}, "a"), Stock: true}
		cfg.System, cfg.NoKeep, cfg.Circuits = system, true, []string{circuitSquares}
		cfg.Squares = 20
		runs, infos, err := First(t.Context(), cfg)
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
