package proving

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/record"
)

func TestBenchSetup(t *testing.T) {
	status, out, errs := msm(t, &cli.App{}, "bench", "setup", "--system", "plonk", "--hashes", "2", "--count", "1",
		"--stock", "--format", "json")
	var r record.Record[report.Run]
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil || status != cli.ExitOK || errs != "" || len(r.Runs) != 1 {
		t.Fatalf("status %d, %v, %s%s", status, err, errs, out)
	}
	if run := r.Runs[0]; run.Op != "setup" || run.Inputs["system"] != "plonk" || !run.Checked ||
		run.Count != 1 || run.Min <= 0 || run.Value("stock") <= 0 {
		t.Errorf("%+v", run)
	}
	if status, out, errs = msm(t, &cli.App{}, "bench", "setup", "--hashes", "2", "--count", "1"); status != cli.ExitOK ||
		!strings.Contains(out, "  yes\n") {
		t.Errorf("status %d, %s%s", status, errs, out)
	}
	for _, args := range [][]string{{"--system", "stark"}, {"--count", "0"}, {"--circuit", "x"}, {"--format", "gobench"}} {
		if status, out, errs := msm(t, &cli.App{Open: clitest.NothingOpens(t)},
			append([]string{"bench", "setup"}, args...)...); status != cli.ExitUsage || out != "" || errs == "" {
			t.Errorf("%q: status %d, %s%s", args, status, errs, out)
		}
	}
}
