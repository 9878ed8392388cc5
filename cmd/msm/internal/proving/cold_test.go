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

func TestBenchCold(t *testing.T) {
	args := []string{"bench", "cold", "--circuit", "squares", "--squares", "20", "--keep=false", "--cache", t.TempDir(), "--count", "1"}
	status, out, errs := msm(t, &cli.App{}, append(args, "--stock", "--format", "json")...)
	var r record.Record[report.Run]
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil || status != cli.ExitOK || len(r.Runs) != 1 {
		t.Fatalf("status %d, %v, %s%s", status, err, errs, out)
	}
	if run := r.Runs[0]; run.Op != "cold" || !run.Checked || run.Count != 1 || run.Value("read") <= 0 || run.Value("stock") <= 0 {
		t.Errorf("%+v", run)
	}
	if status, out, errs = msm(t, &cli.App{}, args...); status != cli.ExitOK || !strings.Contains(out, "  yes\n") {
		t.Errorf("status %d, %s%s", status, errs, out)
	}
	for _, args := range [][]string{{"--system", "stark"}, {"--count", "0"}, {"--start", "--circuit", "mimc,ecdsa"},
		{"--circuit", "x"}, {"--circuit", "squares", "--squares", "1"}} {
		if status, out, errs := msm(t, &cli.App{Open: clitest.NothingOpens(t)},
			append([]string{"bench", "cold"}, args...)...); status != cli.ExitUsage || out != "" || errs == "" {
			t.Errorf("%q: status %d, %s%s", args, status, errs, out)
		}
	}
}

// TestBenchColdStart: what a run has kept the next one starts with.
func TestBenchColdStart(t *testing.T) {
	args := []string{"bench", "cold", "--circuit", "squares", "--squares", "20", "--cache", t.TempDir(), "--count", "1"}
	if status, _, errs := msm(t, &cli.App{}, append(args, "--start")...); status == cli.ExitOK || !strings.Contains(errs, "without --start") {
		t.Errorf("status %d, %s", status, errs)
	}
	if status, _, errs := msm(t, &cli.App{}, args...); status != cli.ExitOK {
		t.Fatal(errs)
	}
	status, out, errs := msm(t, &cli.App{}, append(args, "--start")...)
	if status != cli.ExitOK || !strings.Contains(out, "start ms") || !strings.Contains(out, "  yes\n") {
		t.Errorf("status %d, %s%s", status, errs, out)
	}
}
