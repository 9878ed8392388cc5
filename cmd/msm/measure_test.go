package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
)

// TestMeasurements: every measurement is in the documents, and refuses what none can do before
// it opens a backend.
func TestMeasurements(t *testing.T) {
	c, _, err := whole(&cli.App{}).Root().Find([]string{"bench"})
	if err != nil {
		t.Fatal(err)
	}
	measurements := map[string]*cobra.Command{"bench": c}
	for _, sub := range c.Commands() {
		if sub.Flag("count") != nil {
			measurements["bench "+sub.Name()] = sub
		}
	}
	if len(measurements) < 11 {
		t.Errorf("only %d", len(measurements))
	}
	for name, c := range measurements {
		for _, document := range []string{"../../docs/command.md", "../../docs/bench-protocol.md"} {
			if text, err := os.ReadFile(document); err != nil || !strings.Contains(string(text), "msm "+name) {
				t.Errorf("%s does not name msm %s (%v)", document, name, err)
			}
		}
		for _, args := range [][]string{{"--count", "0"}, {"--backend", ""}, {"--backend", "cpu,,cpu"},
			{"--format", "xml"}, {"x"}, {"--out", filepath.Join(t.TempDir(), "no", "r.json")}} {
			line := append(strings.Fields(name), args...)
			if c.Flag("cache") != nil {
				line = append(line, "--cache", t.TempDir())
			}
			if status, out, errs := msm(t, &cli.App{Open: clitest.NothingOpens(t)}, line...); status != cli.ExitUsage ||
				out != "" || strings.Count(errs, "\n") != 1 {
				t.Errorf("%q: status %d, %s%s", line, status, errs, out)
			}
		}
	}
}
