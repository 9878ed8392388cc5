package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
	"github.com/pippin-zk/pippin/cmd/msm/internal/clusters"
	"github.com/pippin-zk/pippin/cmd/msm/internal/proving"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
)

// whole gives a command all that the programs behind msm have.
func whole(a *cli.App) *cli.App {
	proving.Link(a)
	clusters.Link(a)
	if a.Getenv == nil {
		a.Getenv = clitest.Getenv
	}
	return a
}

// msm runs one command line in this process, with all that the programs behind msm have.
func msm(t *testing.T, a *cli.App, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	whole(a)
	return clitest.Output(func(out, errs io.Writer) int {
		a.Stdout, a.Stderr = out, errs
		return cli.Run(t.Context(), a, args)
	})
}

// TestHelpExplainsStatus: the exit statuses are in the help of every command.
func TestHelpExplainsStatus(t *testing.T) {
	var all func(c *cobra.Command)
	all = func(c *cobra.Command) {
		args := append(strings.Fields(c.CommandPath())[1:], "--help")
		if status, out, errs := msm(t, &cli.App{}, args...); status != cli.ExitOK || errs != "" || !strings.Contains(out, "exit status is") {
			t.Errorf("%q: status %d, %s%s", args, status, errs, out)
		}
		for _, sub := range c.Commands() {
			all(sub)
		}
	}
	all(whole(&cli.App{}).Root())
}

// TestStatusOfMistakes: what was mistyped has one status, whichever command it was given.
func TestStatusOfMistakes(t *testing.T) {
	for _, line := range []string{
		"bench --backend nonsense", "bench prove --backend nonsense --hashes 1", "bench numbers --backend nonsense",
		"verify --backend nonsense", "verify numbers --backend nonsense",
		"tune --backend nonsense", "doctor --backend nonsense", "serve --backend nonsense",
		"completion tcsh", "help nonsense", "help bench nonsense", "top a b", "version extra", "version --format xml",
	} {
		status, out, errs := msm(t, &cli.App{}, strings.Fields(line)...)
		if status != cli.ExitUsage || out != "" || !strings.HasPrefix(errs, "msm: ") {
			t.Errorf("%s: status %d, %s%s", line, status, errs, out)
		}
	}
	for _, line := range []string{"help", "help bench", "help bench prove", "completion bash", "completion"} {
		if status, out, errs := msm(t, &cli.App{}, strings.Fields(line)...); status != cli.ExitOK || out == "" || errs != "" {
			t.Errorf("%s: status %d, %s", line, status, errs)
		}
	}
}

// TestCountIsEnough: a record by the defaults has what compare needs.
func TestCountIsEnough(t *testing.T) {
	var samples []float64
	for i := range report.Enough {
		samples = append(samples, float64(100+i))
	}
	if u := report.Uncertainty(samples); math.IsInf(u, 0) {
		t.Error("the range of a median is not known by", report.Enough)
	}
	if u := report.Uncertainty(samples[1:]); !math.IsInf(u, 0) {
		t.Error("fewer would do")
	}
	root := whole(&cli.App{}).Root()
	for _, line := range []string{"bench", "bench prove", "bench numbers"} {
		c, _, err := root.Find(strings.Fields(line))
		if err != nil || c.Flag("count").DefValue != fmt.Sprint(report.Enough) {
			t.Errorf("%s: %v", line, err)
		}
	}
}
