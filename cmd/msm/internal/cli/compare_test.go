package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/record"
)

func TestBenchCompare(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, median float64) string {
		var samples []string
		for i := range 8 {
			samples = append(samples, fmt.Sprint(median+0.01*float64(i)))
		}
		path := filepath.Join(dir, name)
		text := fmt.Sprintf(`{"runs": [{"op": "groth16", "circuit": "ecdsa", "curve": "bn254", "backend": `+
			`"cuda", "median_ms": %v, "samples_ms": [%s]}]}`, median, strings.Join(samples, ", "))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	old, new := write("old.json", 100), write("new.json", 107)
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{old, new}, ExitOK, ""},
		{[]string{old, new, "--limit", "10%"}, ExitOK, ""},
		{[]string{old, new, "--limit", "5%"}, ExitFailed, "msm: slower by 7.0 %: groth16 ecdsa bn254 auto cuda\n"},
		{[]string{new, old, "--limit", "0.1%"}, ExitOK, ""},
		{[]string{old}, ExitUsage, "msm: 1 records, want two, see msm bench compare --help\n"},
		{[]string{old, new, "--limit", "much"}, ExitUsage, "msm: --limit \"much\": write a share such as 3%\n"},
		{[]string{old, new, "--limit", "-1%"}, ExitUsage, "msm: --limit \"-1%\": write a share such as 3%\n"},
		{[]string{old, filepath.Join(dir, "none")}, ExitUsage, "msm: open " + filepath.Join(dir, "none") + ": "},
	} {
		status, out, errs := cli(t, &App{}, append([]string{"bench", "compare"}, c.args...)...)
		if status != c.status || !strings.HasPrefix(errs, c.says) || c.says == "" && errs != "" ||
			strings.Contains(out, "groth16 ecdsa bn254 auto cuda") != (status != ExitUsage) {
			t.Errorf("%q: status %d, %s%s", c.args, status, out, errs)
		}
	}
	status, out, errs := cli(t, &App{}, "bench", "compare", old, new, "--format", "json")
	var all []report.Difference
	if err := json.Unmarshal([]byte(out), &all); err != nil || status != ExitOK || len(all) != 1 || !all[0].Significant {
		t.Errorf("status %d, %v, %s%s", status, err, out, errs)
	}
	status, out, errs = cli(t, &App{}, tiny(t, "--until", "1000%", "--within", "1m", "--format", "json")...)
	if status != ExitUsage {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
	status, out, errs = cli(t, &App{}, tiny(t, "--until", "900%", "--within", "1m", "--format", "json")...)
	var r record.Record[report.Run]
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != ExitOK || len(r.Runs) != 2 || r.Runs[0].Count <= 2 {
		t.Errorf("status %d, %v, %s%s", status, err, out, errs)
	}
}
