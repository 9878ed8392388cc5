package clusters

import (
	"io"
	"os"
	"testing"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
)

// runAsMsm makes the test binary the command itself.
const runAsMsm = "PIPPIN_TEST_AS_MSM"

func TestMain(m *testing.M) {
	if os.Getenv(runAsMsm) != "" {
		cli.Main(Link)
	}
	os.Exit(m.Run())
}

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
