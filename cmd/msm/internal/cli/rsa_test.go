package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/record"
)

func TestBenchRSA(t *testing.T) {
	rsa := func(args ...string) []string { return append([]string{"bench", "rsa", "--openssl", ""}, args...) }
	status, out, errs := cli(t, &App{}, rsa("--bits", "1024", "--batch", "1,2", "--count", "1", "--format", "json")...)
	var r record.Record[report.Run]
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != ExitOK || errs != "" || len(r.Runs) != 4 {
		t.Fatalf("status %d, %v, %s%s", status, err, errs, out)
	}
	for _, run := range r.Runs {
		if run.Op != "rsa" || !run.Checked || run.Value("signatures") <= 0 {
			t.Errorf("%+v", run)
		}
	}
	if status, out, errs = cli(t, &App{}, rsa("--bits", "1024", "--batch", "1", "--count", "1")...); status != ExitOK ||
		!strings.Contains(out, "signatures/s") {
		t.Errorf("status %d, %s%s", status, errs, out)
	}
	for _, args := range [][]string{{"--bits", "7"}, {"--batch", "0"}, {"--in-flight", "0"},
		{"--backend", ""}, {"--format", "xml"}, {"--bits", "many"}} {
		if status, out, errs := cli(t, &App{Open: clitest.NothingOpens(t)}, rsa(args...)...); status != ExitUsage || out != "" || errs == "" {
			t.Errorf("%q: status %d, %s%s", args, status, errs, out)
		}
	}
}
