package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/record"
)

func TestBenchNTT(t *testing.T) {
	status, out, errs := cli(t, &App{}, "bench", "ntt", "--curve", "all", "--size", "2^4,2^9", "--batch",
		"3", "--count", "2", "--format", "json")
	var r record.Record[report.Run]
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != ExitOK || errs != "" || len(r.Runs) != 4*2*5 {
		t.Fatalf("status %d, %v, %s%s", status, err, errs, out)
	}
	for _, run := range r.Runs {
		if !run.Checked || run.Count != 2 || run.Min <= 0 || run.Value("cpu") <= 0 || run.Sizes["batch"] != 3 {
			t.Errorf("%+v", run)
		}
	}
	if status, out, errs = cli(t, &App{}, "bench", "ntt", "--way", "inverse-coset", "--size", "2^4", "--count",
		"1"); status != ExitOK || !strings.Contains(out, "reversed to natural, inverse, on a coset") || !strings.Contains(out, "yes") {
		t.Errorf("status %d, %s%s", status, errs, out)
	}
	for _, args := range [][]string{{"--way", "back"}, {"--size", "20"}, {"--size", "1"}, {"--count", "0"},
		{"--batch", "0"}, {"--curve", "p256"}, {"--format", "gobench"}} {
		if status, out, errs := cli(t, &App{Open: clitest.NothingOpens(t)},
			append([]string{"bench", "ntt"}, args...)...); status != ExitUsage || out != "" || errs == "" {
			t.Errorf("%q: status %d, %s%s", args, status, errs, out)
		}
	}
}
