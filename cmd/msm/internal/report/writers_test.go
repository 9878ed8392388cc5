package report

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/record"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sample returns a record with every case that the writers tell apart.
func sample() record.Record[Run] {
	run := func(curve, backend string, path Path, n int, samples ...time.Duration) Run {
		r := Run{Op: OpMSM, Curve: curve, Group: "g1", N: n, Backend: backend, Version: "1.2", Device: "Some CPU", Seed: 1,
			Times: record.TimesOf(samples), Checked: true, Oracle: "discrete logarithms"}
		r.Input(InputDistribution, "uniform")
		r.Input(InputPath, string(path))
		r.Note("bases", "9f86d081")
		r.Took("load_bases", 500*time.Microsecond)
		measure := EndToEnd
		if strings.HasPrefix(backend, "plugin:") {
			measure = EndToEndPlugin
		}
		r.Note("measure", measure)
		return r
	}
	row := run("bn254", "plugin:cpu", Arena, 1<<16, 251*time.Millisecond, 252*time.Millisecond)
	row.Sampled(FigureBackToBack, []time.Duration{260 * time.Millisecond, 255 * time.Millisecond}, true)
	row.Figure(FigureCalls, "", 8)
	sorted := run("bn254", "plugin:cpu", Arena, 1<<16, 4*time.Millisecond, 9*time.Millisecond)
	sorted.Op, sorted.What = OpMSM+PhaseOf, "sort"
	wrong := run("bw6-761", "cpu", Copy, 1000, 3*time.Millisecond)
	wrong.Checked, wrong.Wrong = false, 2
	unchecked := run("bw6-761", "plugin:/opt/my plugins/msm-backend-x", Copy, 1000, 9*time.Millisecond)
	unchecked.Checked, unchecked.Oracle = false, ""
	return record.Record[Run]{
		Format: Format,
		Machine: record.Machine{CPU: "Some CPU <4>", Cores: 4, Memory: 24 << 30, OS: "linux", Arch: "amd64", Kernel: "6.1",
			Go: "go1.26.0", GnarkCrypto: "v0.21.0", Commit: "0123456789abcdef", Time: "2026-01-02T03:04:05Z",
			Backends: []record.BackendInfo{
				{Name: "cpu", Version: "1.2", Curves: []string{"bn254"}, Devices: []record.DeviceInfo{{Name: "Some CPU", Memory: 24 << 30}}},
				{Name: "cuda", Version: "0.1", Curves: []string{"bn254"}, Devices: []record.DeviceInfo{
					{Name: "A GPU", Memory: 1 << 30, Detail: "driver 1"}, {Name: "B"},
				}},
			}},
		Runs: []Run{
			run("bn254", "cpu", Copy, 1<<16, 251*time.Millisecond, 250*time.Millisecond, 262*time.Millisecond),
			run("bn254", "plugin:cpu", Copy, 1<<16, 255*time.Millisecond, 258*time.Millisecond, 257*time.Millisecond),
			row, sorted,
			run("bn254", "cpu", Copy, 1<<18, 1100*time.Millisecond),
			run("bn254", "plugin:cpu", Copy, 1<<18, 123456*time.Nanosecond),
			wrong, unchecked,
		},
	}
}

// sheet shows every kind of column.
var sheet = Sheet{Note: "A note.", Notes: func(runs []Run) string { return fmt.Sprintf(" It is of %d runs.", len(runs)) },
	Before: []Column{ColumnCurve(7), ColumnGroup(4), ColumnN("n", Stays), ColumnInput("scalars", 5, InputDistribution),
		ColumnBackend(8), ColumnInput("path", 3, InputPath)},
	After: []Column{ColumnSize("not there", 1, "bits"), ColumnMillis("back to back ms", 5, FigureBackToBack),
		ColumnFigure("calls", 5, FigureCalls, "%.0f")},
}

func TestWritersGolden(t *testing.T) {
	r := sample()
	for name, write := range map[string]func(io.Writer) error{
		"record.json": r.WriteJSON,
		"table.txt":   func(w io.Writer) error { return sheet.Write(w, table.Form{}, r) },
		"gobench.txt": func(w io.Writer) error { return WriteGobench(w, r) },
	} {
		var got bytes.Buffer
		if err := write(&got); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s differs; go test -update rewrites it\n%s", path, got.String())
		}
	}
}

func TestRecordFields(t *testing.T) {
	var b bytes.Buffer
	want := sample()
	if err := want.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	if problems := checkRecord(b.Bytes()); len(problems) > 0 {
		t.Error(problems)
	}
	if got, err := Read(&b); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v: read back %+v, want %+v", err, got, want)
	}
	b.Reset()
	if err := (record.Record[Run]{}).WriteJSON(&b); err != nil || !strings.Contains(b.String(), `"runs": []`) {
		t.Errorf("a record without runs is %q, %v", b.String(), err)
	}
}

// TestNames: runs of one input have one workload, and a name that says who computed it.
func TestNames(t *testing.T) {
	runs := sample().Runs
	if a, b := runs[0].Workload(), runs[2].Workload(); a != "msm bn254 g1 2^16 uniform" || a != b {
		t.Errorf("%q, %q", a, b)
	}
	if got := runs[2].Name(); got != "msm bn254 g1 2^16 uniform plugin:cpu arena" {
		t.Errorf("%q", got)
	}
	r := Run{Op: "numbers", What: "mulmod", N: 1000, Backend: "cpu"}
	r.Size("steps", 3)
	r.Size("bits", 256)
	r.Size("nothing", 0)
	r.Input(InputPath, Resident)
	if got := r.Name(); got != "numbers mulmod 1000 256 bits 3 steps cpu resident" {
		t.Errorf("%q", got)
	}
	other := r.Clone()
	if other.Size("bits", 1); r.Sizes["bits"] != 256 {
		t.Error("a clone shares its sizes")
	}
}

// TestSlowest: a table shows the slowest of a row's times, which neither the median nor the
// spread has.
func TestSlowest(t *testing.T) {
	r := sample()
	r.Runs = []Run{{Op: "plonk", Times: record.TimesOf([]time.Duration{
		278 * time.Millisecond, 283 * time.Millisecond, 281 * time.Millisecond, 498 * time.Millisecond, 284 * time.Millisecond,
	})}}
	var b strings.Builder
	if err := sheet.Write(&b, table.Form{}, r); err != nil || !strings.Contains(b.String(), "  498.0   0.7 %  ") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// TestNoiseNote: runs whose samples are far apart are counted, without their phases.
func TestNoiseNote(t *testing.T) {
	run := func(op string, spread float64) Run { return Run{Op: op, Times: record.Times{Spread: spread}} }
	if s := noiseNote([]Run{run("msm", 0.01), run("msm", 0.05), run("msm-phase", 0.4)}); s != "" {
		t.Errorf("%s", s)
	}
	if s := noiseNote([]Run{run("msm", 0.2), run("msm", 0.01), run("msm-phase", 0.4), run("msm", 0.06)}); !strings.Contains(s, "2 of 3 runs") {
		t.Errorf("%q", s)
	}
}

// TestCutShort: every form of a record that an interrupt ended says so.
func TestCutShort(t *testing.T) {
	r := sample()
	r.Cut = record.CutByInterrupt
	for name, write := range map[string]func(io.Writer) error{
		"json":  r.WriteJSON,
		"table": func(w io.Writer) error { return sheet.Write(w, table.Form{}, r) },
		"go":    func(w io.Writer) error { return WriteGobench(w, r) },
	} {
		var b strings.Builder
		if err := write(&b); err != nil || !strings.Contains(strings.ToLower(b.String()), "cut") || !strings.Contains(b.String(), "interrupt") {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
	}
}

func TestGobenchLines(t *testing.T) {
	var b bytes.Buffer
	r := sample()
	if err := WriteGobench(&b, r); err != nil {
		t.Fatal(err)
	}
	samples := 0
	for _, run := range r.Runs {
		samples += len(run.Samples)
		samples += len(run.Figures[FigureBackToBack].Samples)
	}
	lines := 0
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "Benchmark") {
			continue
		}
		lines++
		f := strings.Fields(line)
		if len(f) != 4 || f[1] != "1" && (f[1] != "8" || !strings.HasPrefix(f[0], "BenchmarkMSMBackToBack/")) ||
			f[3] != "ns/op" || strings.Count(f[0], "/") != 6+strings.Count(f[0], "/phase=sort") || !strings.HasSuffix(f[0], "-4") {
			t.Errorf("line %q", line)
		}
	}
	if lines != samples {
		t.Errorf("%d lines for %d samples", lines, samples)
	}
}
