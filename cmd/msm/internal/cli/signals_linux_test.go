package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
)

// runAsMsm makes the test binary the command itself.
const runAsMsm = "PIPPIN_TEST_AS_MSM"

func TestMain(m *testing.M) {
	if os.Getenv(runAsMsm) != "" {
		Main()
	}
	os.Exit(m.Run())
}

// TestSignalsLeaveNothing: a signal ends a bench in order, with its own exit
// status and nothing left in TMPDIR or beside the result.
func TestSignalsLeaveNothing(t *testing.T) {
	plugins := clitest.BuildPlugin(t)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		for _, lines := range []int{1, 3} { // of the log: while the plugin starts, and later
			t.Run(fmt.Sprintf("%v after %d", s, lines), func(t *testing.T) {
				if signal.Ignored(s) {
					t.Skip("ignored by whoever started the tests, as under nohup, and so by msm")
				}
				t.Parallel()
				endedBy(t, plugins, s, lines)
			})
		}
	}
}

func endedBy(t *testing.T, plugins string, s syscall.Signal, lines int) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tmp, dir := t.TempDir(), t.TempDir()
	out := filepath.Join(dir, "record.json")
	c := exec.CommandContext(ctx, os.Args[0], "bench", "--plugin-dir", plugins, "--backend", "plugin:cpu", "--size", "40",
		"--count", "1000000", "--cache", t.TempDir(), "--format", "json", "--out", out, "--verbose")
	c.Env = append(os.Environ(), runAsMsm+"=1", "TMPDIR="+tmp)
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	for scan := bufio.NewScanner(stderr); scan.Scan(); {
		fmt.Fprintln(&log, scan.Text())
		if lines--; lines == 0 {
			if err := c.Process.Signal(s); err != nil {
				t.Error(err)
			}
		}
	}
	err = c.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 128+int(s) {
		t.Errorf("%v, want status %d\n%s", err, 128+int(s), log.String())
	}
	for _, d := range []string{tmp, dir} {
		left, err := os.ReadDir(d)
		if err != nil {
			t.Error(err)
		}
		for _, f := range left {
			if path := filepath.Join(d, f.Name()); path != out {
				t.Errorf("left behind: %s", path)
			}
		}
	}
}

// TestClosedPipe: a command whose results nobody reads ends in silence, as others do.
func TestClosedPipe(t *testing.T) {
	for _, line := range []string{"version", "backends --format json", "cache", "doctor --backend cpu"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		var errs strings.Builder
		c := exec.Command(os.Args[0], strings.Fields(line)...)
		c.Env = append(os.Environ(), runAsMsm+"=1", "PIPPIN_CACHE="+t.TempDir())
		c.Stdout, c.Stderr = w, &errs
		err = c.Run()
		w.Close()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != ExitPipe || errs.Len() > 0 {
			t.Errorf("%s: %v, %s", line, err, errs.String())
		}
	}
}
