package proving

import (
	"testing"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
)

func TestBenchCellsRefuses(t *testing.T) {
	for _, args := range [][]string{{"--blobs", "0"}, {"--blobs", "x"}, {"--blobs", "9999"},
		{"--count", "0"}, {"--format", "gobench"}, {"--backend", ""}} {
		if status, out, errs := msm(t, &cli.App{Open: clitest.NothingOpens(t)},
			append([]string{"bench", "cells"}, args...)...); status != cli.ExitUsage || out != "" || errs == "" {
			t.Errorf("%q: status %d, %s%s", args, status, errs, out)
		}
	}
}
