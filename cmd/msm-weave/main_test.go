package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain runs the command itself where a test has started this program as it.
func TestMain(m *testing.M) {
	if os.Getenv("MSM_WEAVE_TEST") == "1" {
		main()
	}
	os.Exit(m.Run())
}

// TestCommand has a tool of Go's run as another, its exit status passed on, and what is no
// tool refused.
func TestCommand(t *testing.T) {
	run := func(args ...string) (out string, status int) {
		t.Helper()
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), "MSM_WEAVE_TEST=1")
		b, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(b), cmd.ProcessState.ExitCode()
	}
	tools, err := exec.Command("go", "env", "GOTOOLDIR").Output()
	if err != nil {
		t.Fatal(err)
	}
	compiler := filepath.Join(strings.TrimSpace(string(tools)), "compile")
	if out, status := run(compiler, "-V=full"); status != 0 || !strings.HasPrefix(out, "compile version ") ||
		!strings.Contains(out, "pippin-weave-") {
		t.Errorf("status %d, %s", status, out)
	}
	if out, status := run(compiler, "-no-such-flag"); status != 2 {
		t.Errorf("status %d, %s", status, out)
	}
	for _, args := range [][]string{nil, {filepath.Join(t.TempDir(), "compile"), "-h"}} {
		if out, status := run(args...); status != 1 || !strings.HasPrefix(out, "msm-weave: ") {
			t.Errorf("%v: status %d, %s", args, status, out)
		}
	}
}
