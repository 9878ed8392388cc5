package cli

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestWeave(t *testing.T) {
	for _, args := range [][]string{{"weave"}, {"weave", "--help"}, {"weave", "-h"}} {
		status, out, errs := cli(t, &App{}, args...)
		if status != ExitOK || errs != "" || !strings.Contains(out, "-toolexec") {
			t.Errorf("%v: status %d, %s\n%s", args, status, errs, out)
		}
	}
	root, err := exec.Command("go", "env", "GOTOOLDIR").Output()
	if err != nil {
		t.Fatal(err)
	}
	// Everything after the tool is the tool's, whatever it looks like.
	compiler := filepath.Join(strings.TrimSpace(string(root)), "compile")
	status, out, errs := cli(t, &App{}, "weave", compiler, "-V=full")
	if status != ExitOK || errs != "" || !strings.HasPrefix(out, "compile version ") || !strings.Contains(out, "pippin-weave-") {
		t.Errorf("status %d, %s\n%s", status, errs, out)
	}
	if status, _, errs = cli(t, &App{}, "weave", filepath.Join(t.TempDir(), "compile"), "-h"); status != ExitFailed || errs == "" {
		t.Errorf("a tool that is not there: status %d, %s", status, errs)
	}
	for _, args := range [][]string{{"weave", "build"}, {"weave", "go", "build", "./..."}} {
		if status, _, errs = cli(t, &App{}, args...); status != ExitUsage || !strings.Contains(errs, `go build -toolexec="msm weave"`) {
			t.Errorf("%v: status %d, %s", args, status, errs)
		}
	}
}
