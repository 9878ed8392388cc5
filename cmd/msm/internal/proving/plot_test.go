package proving

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
)

// TestBenchPlot: records are drawn as they are committed, into a file and to stdout.
func TestBenchPlot(t *testing.T) {
	const results = "../../../../bench/results/"
	records := []string{results + "h100/peers-g1.json"}
	want, err := os.ReadFile(results + "h100/peers-bn254.svg")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	svg := filepath.Join(dir, "p.svg")
	draw := append([]string{"bench", "plot", "--from", "2^16"}, records...)
	if status, out, errs := msm(t, &cli.App{}, append(draw, "--plot", svg)...); status != cli.ExitOK || out != "" || errs != "" {
		t.Fatalf("status %d, %s%s", status, errs, out)
	}
	if got, err := os.ReadFile(svg); err != nil || string(got) != string(want) {
		t.Errorf("%v: the plot is not the one that is committed", err)
	}
	if status, out, errs := msm(t, &cli.App{}, draw...); status != cli.ExitOK || errs != "" || out != string(want) {
		t.Errorf("status %d, %s%s", status, errs, out)
	}

	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "no record is named"},
		{[]string{filepath.Join(dir, "none")}, "open " + filepath.Join(dir, "none")},
		{[]string{svg}, "no record"},
		{[]string{records[0], "--curve", "bw6-761"}, "no runs to plot: bw6-761 g1 from 1 points on"},
		{[]string{records[0], "--curve", "bn255"}, `did you mean "bn254"?`},
		{[]string{records[0], "--curve", "all"}, "one --curve and one --group"},
		{[]string{records[0], "--group", "g1,g2"}, "one --curve and one --group"},
		{[]string{records[0], "--from", "much"}, "--from: "},
		{[]string{records[0], "--plot", filepath.Join(dir, "p.gif")}, "choose one of svg, png"},
		{[]string{records[0], "--plot", dir}, "it is a folder"},
		{[]string{records[0], results + "h200/msm-cpu.json"}, "draw records of one device"},
	} {
		status, out, errs := msm(t, &cli.App{}, append([]string{"bench", "plot"}, c.args...)...)
		if status != cli.ExitUsage || out != "" || !strings.Contains(errs, c.says) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: status %d, %s%s", c.args, status, errs, out)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
}
