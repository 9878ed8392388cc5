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

func TestBenchCeremony(t *testing.T) {
	status, out, errs := msm(t, &cli.App{}, "bench", "ceremony", "--size", "2^3", "--count", "1", "--stock", "--format", "json")
	var r record.Record[report.Run]
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil || status != cli.ExitOK || errs != "" || len(r.Runs) != 8 {
		t.Fatalf("status %d, %v, %s%s", status, err, errs, out)
	}
	for _, run := range r.Runs {
		if run.Op != "setup" || !run.Checked || run.Count != 1 || run.Min <= 0 || run.Value("stock") <= 0 {
			t.Errorf("%+v", run)
		}
	}
	for _, args := range [][]string{{"--size", "12"}, {"--count", "0"}, {"--backend", ""}, {"--format", "gobench"}} {
		if status, out, errs := msm(t, &cli.App{Open: clitest.NothingOpens(t)},
			append([]string{"bench", "ceremony"}, args...)...); status != cli.ExitUsage || out != "" || errs == "" {
			t.Errorf("%q: status %d, %s%s", args, status, errs, out)
		}
	}
}
