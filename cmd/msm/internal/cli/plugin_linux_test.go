package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
	"github.com/pippin-zk/pippin/cmd/msm/internal/inventory"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/record"
)

// TestThroughThePlugin drives the CPU plugin by the command line.
func TestThroughThePlugin(t *testing.T) {
	dir := clitest.BuildPlugin(t)
	path := filepath.Join(dir, "msm-backend-cpu")

	status, out, errs := cli(t, &App{}, tiny(t, "--plugin-dir", dir, "--backend", "cpu,plugin:cpu",
		"--path", "both", "--check", "--format", "json")...)
	if status != ExitOK || errs != "" {
		t.Fatalf("status %d, %s", status, errs)
	}
	var r record.Record[report.Run]
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	var series []string
	for _, run := range r.Runs {
		if !run.Checked {
			t.Errorf("%+v", run)
		}
		series = append(series, run.Backend+" "+run.Inputs["path"]+" "+run.Notes["measure"])
	}
	one := "cpu copy end-to-end, plugin:cpu copy end-to-end through the plugin, plugin:cpu arena end-to-end through the plugin"
	if got := strings.Join(series, ", "); got != one+", "+one {
		t.Errorf("runs %s", got)
	}

	status, out, errs = cli(t, &App{}, "verify", "--plugin-dir", dir, "--backend", "plugin:cpu",
		"--curve", "bls12-377", "--size", "70", "--cases", "3")
	if status != ExitOK || !strings.Contains(out, "shared memory") || strings.Contains(out, "FAILED") {
		t.Errorf("status %d, %s\n%s", status, errs, out)
	}

	status, out, errs = cli(t, &App{}, "doctor", "--plugin-dir", dir, "--backend", "plugin:cpu", "--curve", "bls12-381")
	if status != ExitOK || errs != "" || !strings.Contains(out, "SHA-256 ") || !strings.Contains(out, "200 points right") {
		t.Errorf("status %d, %s\n%s", status, errs, out)
	}

	status, out, errs = cli(t, &App{}, "backends", "--plugin-dir", dir, "--format", "json")
	var states []inventory.Backend
	if err := json.Unmarshal([]byte(out), &states); status != ExitOK || err != nil {
		t.Fatalf("status %d, %v, %s", status, err, errs)
	}
	found := false
	for _, s := range states {
		found = found || s.Name == "plugin:cpu" && s.Opens && s.Path == path && len(s.Curves) == 4
	}
	if !found {
		t.Errorf("%s is not listed as opening: %+v", path, states)
	}
}

// TestOpenPlugin: a plugin that others can replace stops every command alike, though there is
// a good one of its name in a later place.
func TestOpenPlugin(t *testing.T) {
	good, open := clitest.BuildPlugin(t), t.TempDir()
	if err := os.Chmod(open, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(open, "msm-backend-cpu")
	text, err := os.ReadFile(filepath.Join(good, "msm-backend-cpu"))
	if err == nil {
		err = os.WriteFile(path, text, 0o700)
	}
	if err == nil {
		err = os.Chmod(path, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range [][]string{
		tiny(t, "--backend", "plugin:cpu"), {"verify", "--backend", "plugin:cpu", "--cases", "1"},
		{"bench", "numbers", "--backend", "plugin:cpu"},
		{"doctor", "--backend", "plugin:cpu"}, {"backends"}, {"devices"},
	} {
		status, out, errs := cli(t, &App{}, append(line, "--plugin-dir", open+","+good)...)
		if status != ExitFailed || !strings.Contains(errs+out, "others can write to "+path) {
			t.Errorf("%s: status %d, %s%s", line, status, errs, out)
		}
		if line[0] == "backends" && (!strings.Contains(out, "plugin:"+good) || strings.Count(out, "does not open") != 1) {
			t.Errorf("the good one:\n%s", out)
		}
	}
}
