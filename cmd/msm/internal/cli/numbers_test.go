package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/record"
)

// A committed record of a table, its plot, and a record without tables.
const (
	tableRecord = "../../../../bench/results/h200/table-karatsuba.json"
	tablePlot   = "../../../../bench/results/h200/table-karatsuba.svg"
	otherRecord = "../../../../bench/results/h200/msm-g1.json"
)

func TestBenchNumbers(t *testing.T) {
	status, out, errs := cli(t, &App{}, "bench", "numbers", "--op", "mulmod,add", "--bits", "64", "--n",
		"8", "--count", "2", "--check", "--format", "json")
	var r record.Record[report.Run]
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != ExitOK || errs != "" || len(r.Runs) < 2 {
		t.Fatalf("status %d, %v, %s%s", status, err, errs, out)
	}
	for _, run := range r.Runs {
		if !run.Checked || run.Count != 2 || run.Min <= 0 {
			t.Errorf("%+v", run)
		}
	}
	svg := filepath.Join(t.TempDir(), "n.svg")
	status, out, errs = cli(t, &App{}, "bench", "numbers", "--op", "mulmod,add", "--bits", "64,96", "--n", "8", "--count", "1", "--plot", svg)
	plot, err := os.ReadFile(svg)
	if status != ExitOK || errs != "" || err != nil || !strings.Contains(out, "mulmod") {
		t.Fatalf("status %d, %v, %s%s", status, err, errs, out)
	}
	for _, want := range []string{"elements a second", "cpu mulmod operands host", "cpu add operands resident", ">64<", ">96<"} {
		if !strings.Contains(string(plot), want) {
			t.Errorf("%q is not in the plot", want)
		}
	}
}

// TestVerifyNumbersRecord: what was compared is a record, beside the table.
func TestVerifyNumbersRecord(t *testing.T) {
	file := filepath.Join(t.TempDir(), "v.json")
	status, out, errs := cli(t, &App{}, "verify", "numbers", "--op", "mulmod", "--cases", "20", "--out", file, "--commit", "abc")
	text, err := os.ReadFile(file)
	if status != ExitOK || errs != "" || err != nil || !strings.Contains(out, "random programs") {
		t.Fatalf("status %d, %v, %s%s", status, err, errs, out)
	}
	var r record.Record[bench.Verified]
	if err := json.Unmarshal(text, &r); err != nil || r.Machine.Commit != "abc" || len(r.Runs) != 2 {
		t.Fatalf("%v: %s", err, text)
	}
	if last := r.Runs[1]; last.Op != bench.OpVerify || last.Backend != "cpu" || last.Cases != "random programs" ||
		last.Tried != 20 || last.Failed != 0 {
		t.Errorf("%+v", last)
	}
}

// TestNumbersTables: a record of a card's tables is shown, and drawn as it is committed.
func TestNumbersTables(t *testing.T) {
	dir := t.TempDir()
	svg, png, text := filepath.Join(dir, "k.svg"), filepath.Join(dir, "k.PNG"), filepath.Join(dir, "k.txt")
	show := []string{"bench", "numbers", "--tables", tableRecord}
	status, table, errs := cli(t, &App{Open: clitest.NothingOpens(t)}, show...)
	if status != ExitOK || errs != "" || !strings.Contains(table, "schoolbook") || !strings.Contains(table, "\n  2048") {
		t.Fatalf("status %d, %s%s", status, errs, table)
	}
	if err := errors.Join(os.WriteFile(svg, []byte("old"), 0o600),
		os.WriteFile(text, []byte(strings.Repeat("old", 1<<15)), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--plot", svg, "--out", text}, {"--plot", png}} {
		if status, out, errs := cli(t, &App{Open: clitest.NothingOpens(t)}, append(show, args...)...); status != ExitOK ||
			errs != "" || out != table {
			t.Errorf("%q: status %d, %s%s", args, status, errs, out)
		}
	}
	want, err := os.ReadFile(tablePlot)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(svg); err != nil || string(got) != string(want) {
		t.Errorf("%v: the plot is not the one that is committed", err)
	}
	if got, err := os.ReadFile(text); err != nil || string(got) != table {
		t.Errorf("%v: %s", err, got)
	}
	if got, err := os.ReadFile(png); err != nil || !strings.HasPrefix(string(got), "\x89PNG") {
		t.Errorf("%v: no picture", err)
	}
}

func TestNumbersTablesRefused(t *testing.T) {
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept.svg")
	if err := os.WriteFile(kept, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--table", tableRecord}, `did you mean "--tables"?`},
		{[]string{"--tables", filepath.Join(dir, "none")}, "open " + filepath.Join(dir, "none")},
		{[]string{"--tables", dir}, "no record of a table by kernels/internal/probe"},
		{[]string{"--tables", kept}, "no record of a table by kernels/internal/probe"},
		{[]string{"--tables", otherRecord, "--plot", kept}, "no record of a table by kernels/internal/probe"},
		{[]string{"--tables", tableRecord, "--plot", filepath.Join(dir, "x.gif")}, "choose one of svg, png: the ending of"},
		{[]string{"--tables", tableRecord, "--plot", filepath.Join(dir, "x.sgv")}, `did you mean "svg"?`},
		{[]string{"--tables", tableRecord, "--plot", dir}, "it is a folder"},
		{[]string{"--tables", tableRecord, "--plot", filepath.Join(dir, "no", "x.svg")}, "cannot write"},
		{[]string{"--tables", tableRecord, "--out", filepath.Join(kept, "x"), "--plot", kept}, "cannot write"},
		{[]string{"--tables", tableRecord, "--out", kept, "--plot", kept}, "are the same file"},
		{[]string{"--tables", tableRecord, "--format", "xml"}, "choose one of table"},
		{[]string{"--tables", tableRecord, "--format", "json"}, "the record of --tables is JSON"},
		{[]string{"--tables", tableRecord, "extra"}, "extra"},
	} {
		status, out, errs := cli(t, &App{Open: clitest.NothingOpens(t)}, append([]string{"bench", "numbers"}, c.args...)...)
		if status != ExitUsage || out != "" || !strings.Contains(errs, c.says) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: status %d, %s%s", c.args, status, errs, out)
		}
	}
	if got, err := os.ReadFile(kept); err != nil || string(got) != "kept" {
		t.Errorf("a refused file was written: %q, %v", got, err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
}
