package proving

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/record"
)

// TestCellsThroughThePlugin has the CPU plugin compute cells, with the engine's phases.
func TestCellsThroughThePlugin(t *testing.T) {
	dir := clitest.BuildPlugin(t)
	file := filepath.Join(t.TempDir(), "cells.json")
	status, out, errs := msm(t, &cli.App{}, "bench", "cells", "--plugin-dir", dir, "--backend", "plugin:cpu",
		"--blobs", "1,2", "--count", "1", "--phases", "--format", "json", "--out", file)
	text, err := os.ReadFile(file)
	if status != cli.ExitOK || err != nil || !strings.Contains(out, "1 right") || !strings.Contains(out, "2 right") {
		t.Errorf("status %d, %v, %s\n%s", status, err, errs, out)
	}
	var cells record.Record[report.Run]
	if err := json.Unmarshal(text, &cells); err != nil || len(cells.Runs) < 6 {
		t.Fatalf("%v, %s", err, text)
	}
	var whole report.Run // of which the next ones are phases
	took := map[string]float64{}
	for _, run := range cells.Runs {
		switch run.Op {
		case "cells":
			if !run.Checked || run.Compared != run.N || run.Count != 1 || run.Min <= 0 || run.Value("stock") <= 0 || run.Value("load") <= 0 {
				t.Errorf("%+v", run)
			}
			whole = run
		case "cells" + report.PhaseOf:
			if run.Median <= 0 || run.Median > whole.Median || run.N != whole.N {
				t.Errorf("%s takes %v ms of %v", run.What, run.Median, whole.Median)
			}
			took[run.What] = run.Median
		}
	}
	if took["space"] <= 0 || took["program"] <= took["space"] {
		t.Errorf("phases %v", took)
	}
}

// TestTraceThroughThePlugin: the record of a trace has the requests in the plugin's process,
// and is drawn.
func TestTraceThroughThePlugin(t *testing.T) {
	dir := clitest.BuildPlugin(t)
	file := filepath.Join(t.TempDir(), "parts.json")
	status, out, errs := msm(t, &cli.App{}, "bench", "trace", "--plugin-dir", dir, "--backend", "plugin:cpu", "--hashes", "2", "--count", "1",
		"--cache", t.TempDir(), "--format", "json", "--out", file)
	if status != cli.ExitOK {
		t.Fatalf("status %d, %s\n%s", status, errs, out)
	}
	for _, want := range []string{"groth16-phase", "solve", "request"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	status, out, errs = msm(t, &cli.App{}, "bench", "plot", "--parts", file)
	if status != cli.ExitOK || !strings.Contains(out, "requests in the plugin, ") {
		t.Errorf("status %d, %s\n%s", status, errs, out)
	}
	for _, args := range [][]string{{file, file}, {"--proofs", file}} {
		if status, _, _ := msm(t, &cli.App{}, append([]string{"bench", "plot", "--parts"}, args...)...); status != cli.ExitUsage {
			t.Errorf("%q: status %d", args, status)
		}
	}
}
