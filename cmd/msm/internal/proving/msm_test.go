package proving

import (
	"io"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
)

// msm runs one command line in this process.
func msm(t *testing.T, a *cli.App, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	Link(a)
	if a.Getenv == nil {
		a.Getenv = clitest.Getenv
	}
	return clitest.Output(func(out, errs io.Writer) int {
		a.Stdout, a.Stderr = out, errs
		return cli.Run(t.Context(), a, args)
	})
}

// TestMeant: circuits that are misspelt are asked after.
func TestMeant(t *testing.T) {
	status, _, errs := msm(t, &cli.App{}, "bench", "prove", "--circuit", "ecsda")
	if status != cli.ExitUsage || !strings.Contains(errs, `did you mean "ecdsa"?`) || strings.Count(errs, "\n") != 1 {
		t.Errorf("status %d, %s", status, errs)
	}
}
