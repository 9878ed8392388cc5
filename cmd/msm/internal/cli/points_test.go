package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/record"
)

func TestBenchPoints(t *testing.T) {
	status, out, errs := cli(t, &App{}, "bench", "points", "--curve", "bn254,bls12-377", "--group",
		"all", "--size", "2^4", "--count", "2", "--stock", "--format", "json")
	var r record.Record[report.Run]
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != ExitOK || errs != "" || len(r.Runs) != 16 {
		t.Fatalf("status %d, %v, %s%s", status, err, errs, out)
	}
	for _, run := range r.Runs {
		// gnark-crypto has no Lagrange form of G2.
		if !run.Checked || run.Count != 2 || run.Min <= 0 || run.N != 16 ||
			(run.Value("stock") > 0) != (run.What != "lagrange" || run.Group == "g1") {
			t.Errorf("%+v", run)
		}
	}
	if status, out, errs = cli(t, &App{}, "bench", "points", "--step", "subgroup", "--size", "2^4",
		"--count", "1"); status != ExitOK || !strings.Contains(out, "16 right") {
		t.Errorf("status %d, %s%s", status, errs, out)
	}
	for _, args := range [][]string{{"--step", "sum"}, {"--size", "20"}, {"--size", "2^2"}, {"--count", "0"},
		{"--curve", "p256"}, {"--format", "gobench"}} {
		if status, out, errs := cli(t, &App{Open: clitest.NothingOpens(t)},
			append([]string{"bench", "points"}, args...)...); status != ExitUsage || out != "" || errs == "" {
			t.Errorf("%q: status %d, %s%s", args, status, errs, out)
		}
	}
}
