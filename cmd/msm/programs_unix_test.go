//go:build unix

package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
	"github.com/pippin-zk/pippin/cmd/msm/internal/clusters"
	"github.com/pippin-zk/pippin/cmd/msm/internal/proving"
)

// runAsMsm makes the test binary the program that its file is named after.
const runAsMsm = "PIPPIN_TEST_AS_MSM"

func TestMain(m *testing.M) {
	if os.Getenv(runAsMsm) == "" {
		os.Exit(m.Run())
	}
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	switch filepath.Base(self) {
	case "msm-prove":
		cli.Main(proving.Link)
	case "msm-cluster":
		cli.Main(clusters.Link)
	}
	main()
}

// programs makes a folder with some of msm's programs.
func programs(t *testing.T, names ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, text, 0o755), os.Chmod(path, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// started returns a command line of the msm in a folder, as a process to be.
func started(t *testing.T, dir string, args ...string) *exec.Cmd {
	c := exec.CommandContext(t.Context(), filepath.Join(dir, "msm"), args...)
	c.Env = append(os.Environ(), runAsMsm+"=1", "PATH=/nowhere", "PIPPIN_CACHE="+dir)
	return c
}

// run runs it.
func run(t *testing.T, c *exec.Cmd) (status int, stdout, stderr string) {
	t.Helper()
	return clitest.Output(func(out, errs io.Writer) int {
		c.Stdout, c.Stderr = out, errs
		err := c.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return c.ProcessState.ExitCode()
	})
}

// TestPrograms: msm does what it is not linked with by becoming the program that is, with its
// help, completion, output and exit statuses.
func TestPrograms(t *testing.T) {
	dir := programs(t, "msm", "msm-prove", "msm-cluster")
	svg := filepath.Join(t.TempDir(), "p.svg")
	for _, c := range []struct {
		line   string
		status int
		out    string // is in the output
		errs   string // is all that is said, or begins it
	}{
		{"help bench prove", cli.ExitOK, "msm bench prove --circuit mimc", ""},
		{"bench prove --help", cli.ExitOK, "msm bench prove --circuit mimc", ""},
		{"-v bench prove -h", cli.ExitOK, "msm bench prove --circuit mimc", ""},
		{"bench prove --nonsense", cli.ExitUsage, "", "msm: unknown flag: --nonsense, see msm bench prove --help"},
		{"bench prove --hashes 0", cli.ExitUsage, "", "msm: "},
		{"__complete bench prove --circuit ", cli.ExitOK, "sha256-2k\n", "Completion ended"},
		{"__complete key ", cli.ExitOK, "convert\t", "Completion ended"},
		{"__complete plan --card h200,", cli.ExitOK, "h200,h100 80gb hbm3\n", "Completion ended"},
		{"help key convert", cli.ExitOK, "msm key convert FILE", ""},
		{"key info /nowhere", cli.ExitUsage, "", "msm: open /nowhere: "},
		{"plan --memory 8GiB", cli.ExitOK, "unknown card", ""},
		{"cluster", cli.ExitOK, "msm cluster [command]", ""},
		{"cluster status --ticket /nowhere", cli.ExitUsage, "", "msm: invalid input: no ticket /nowhere"},
		{"bench --size 8 --count 1 --plot " + svg, cli.ExitOK, "median ms", ""},
		{"bench --size 8 --count 1 --plot p.gif", cli.ExitUsage, "", "msm: --plot \"gif\": "},
	} {
		status, out, errs := run(t, started(t, dir, strings.Split(c.line, " ")...))
		if status != c.status || !strings.Contains(out, c.out) || (out == "") != (c.out == "") || !strings.HasPrefix(errs, c.errs) ||
			(errs == "") != (c.errs == "") {
			t.Errorf("%s: status %d, %s%s", c.line, status, errs, out)
		}
	}
	if text, err := os.ReadFile(svg); err != nil || !strings.Contains(string(text), "<svg") {
		t.Errorf("no plot: %v", err)
	}
}

// TestSignalReachesProgram: the process that was started is the one that does the work, and it
// ends in order.
func TestSignalReachesProgram(t *testing.T) {
	c := started(t, programs(t, "msm", "msm-cluster"), "cluster", "up", "--dir", filepath.Join(t.TempDir(), "c"),
		"--listen", "127.0.0.1:0", "--room", "64MiB")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = t.Output()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(said, "the cluster is up at ") {
		t.Errorf("%q, %v", said, err)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	var exit *exec.ExitError
	if err := c.Wait(); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 128+int(syscall.SIGTERM)) {
		t.Error(err)
	}
}

// TestProgramThatIsMissing: one line says what to do, whatever was asked of the program.
func TestProgramThatIsMissing(t *testing.T) {
	dir, svg := programs(t, "msm"), filepath.Join(t.TempDir(), "p.svg")
	for _, line := range []string{"bench prove", "bench prove --help", "help bench prove", "key info x", "plan",
		"bench --size 8 --plot " + svg, "bench numbers --plot " + svg,
		"bench numbers --tables ../../bench/results/h200/table-karatsuba.json --plot " + svg} {
		status, out, errs := run(t, started(t, dir, strings.Fields(line)...))
		if status != cli.ExitFailed || out != "" || strings.Count(errs, "\n") != 1 ||
			!strings.HasPrefix(errs, "msm: this command is in the program msm-prove, which is neither beside this one nor in PATH: \"make build\"") {
			t.Errorf("%s: status %d, %s%s", line, status, errs, out)
		}
	}
	if status, out, errs := run(t, started(t, dir, "cluster", "status")); status != cli.ExitFailed || out != "" ||
		!strings.Contains(errs, "the program msm-cluster") {
		t.Errorf("status %d, %s%s", status, errs, out)
	}
	if status, out, _ := run(t, started(t, dir, "__complete", "bench", "prove", "")); status != cli.ExitOK || out != ":4\n" {
		t.Errorf("completion: status %d, %s", status, out)
	}
	// What msm has by itself needs neither.
	if status, out, errs := run(t, started(t, dir, "bench", "--size", "8", "--count", "1")); status != cli.ExitOK || errs != "" {
		t.Errorf("status %d, %s%s", status, errs, out)
	}
}

// TestProgramInPath: beside msm is looked first, then in PATH, of which relative folders do not
// count. A program that others can write to is refused, though a good one is in a later place.
func TestProgramInPath(t *testing.T) {
	there, here := programs(t, "msm-prove"), programs(t, "msm")
	help := func(path string) (int, string) {
		c := started(t, here, "help", "bench", "prove")
		c.Dir, c.Env = there, append(c.Env, "PATH="+path)
		status, _, errs := run(t, c)
		return status, errs
	}
	if status, errs := help(there); status != cli.ExitOK || errs != "" {
		t.Errorf("in PATH: status %d, %s", status, errs)
	}
	if status, errs := help("."); status != cli.ExitFailed || !strings.Contains(errs, "nor in PATH") {
		t.Errorf("in the folder where one stands: status %d, %s", status, errs)
	}
	open := filepath.Join(here, "msm-prove")
	if err := errors.Join(os.WriteFile(open, []byte("#!/bin/sh\necho open\n"), 0o700), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	if status, errs := help(there); status != cli.ExitFailed || !strings.Contains(errs, "others can write to "+open) {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestHelpIsTheSame: msm lists what is elsewhere as the programs do that have it.
func TestHelpIsTheSame(t *testing.T) {
	for _, line := range []string{"help", "help bench", "help bench numbers", "help cache"} {
		light := &cli.App{Getenv: clitest.Getenv}
		_, want, _ := clitest.Output(func(out, errs io.Writer) int {
			light.Stdout, light.Stderr = out, errs
			return cli.Run(t.Context(), light, strings.Fields(line))
		})
		if status, got, errs := msm(t, &cli.App{}, strings.Fields(line)...); status != cli.ExitOK || errs != "" || got != want || got == "" {
			t.Errorf("%s: status %d, %s%s\n%s", line, status, errs, got, want)
		}
	}
}
