package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
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
		"plot.svg":    func(w io.Writer) error { return WritePlot(w, "svg", r) },
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
		"plot":  func(w io.Writer) error { return WritePlot(w, "svg", r) },
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

// texts returns the texts of an SVG.
func texts(t *testing.T, svg []byte) (all []string) {
	t.Helper()
	in := false
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			in = tok.Name.Local == "text"
		case xml.CharData:
			if in {
				all = append(all, string(tok))
			}
		}
	}
}

// TestPlot: a plot with many lines lost its legend, one curve was named nowhere,
// one size got a second tick that nothing was measured at.
func TestPlot(t *testing.T) {
	var b bytes.Buffer
	r := sample()
	if err := WritePlot(&b, "svg", r); err != nil {
		t.Fatal(err)
	}
	lines, _ := series(r.Runs)
	got := texts(t, b.Bytes())
	for _, l := range lines {
		if !slices.Contains(got, l.name) {
			t.Errorf("no legend for %q in %q", l.name, got)
		}
	}
	if len(lines) != 5 {
		t.Errorf("%d lines, want 5", len(lines))
	}
	if err := WritePlot(io.Discard, "svg", record.Record[Run]{}); !errors.Is(err, ErrNoRuns) {
		t.Errorf("plot of nothing: %v", err)
	}
	if err := WritePlot(io.Discard, "gif", r); err == nil {
		t.Error("a GIF was made")
	}

	one := []Run{{Curve: "bls12-377", Group: "g2", Backend: "cuda", N: 1 << 20, Times: record.Times{Median: 5},
		Inputs: map[string]string{InputDistribution: "witness", InputPath: string(Arena)}}}
	b.Reset()
	if err := WritePlot(&b, "svg", record.Record[Run]{Machine: r.Machine, Runs: one}); err != nil {
		t.Fatal(err)
	}
	got = texts(t, b.Bytes())
	if !strings.Contains(strings.Join(got, "\n"), "bls12-377, g2, witness, arena") || !slices.Contains(got, "2²⁰") {
		t.Errorf("%q", got)
	}

	// The title names what computed, the axis what was measured.
	one[0].Device, one[0].N = "A GPU", 1000000
	b.Reset()
	if err := WritePlot(&b, "svg", record.Record[Run]{Machine: r.Machine, Runs: one}); err != nil {
		t.Fatal(err)
	}
	if got = texts(t, b.Bytes()); !slices.Contains(got, "A GPU") || !slices.Contains(got, "1000000") ||
		slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "2²") }) {
		t.Errorf("%q", got)
	}
	if got, want := computedOn(r.Machine, []string{one[0].Device, r.Machine.CPU, one[0].Device}), "A GPU; Some CPU <4>, 4 cores"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for want, sizes := range map[string][]int{"1000 2^20": {1 << 20, 1000, 1000}, "2^10 2^11": {1 << 10, 1<<10 + 1, 1 << 11}} {
		var runs []Run
		for _, n := range sizes {
			runs = append(runs, Run{N: n})
		}
		var labels []string
		for _, tick := range sizeTicks(runs).Ticks(float64(slices.Min(sizes)), float64(slices.Max(sizes))) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != want {
			t.Errorf("%v has ticks %q, want %q", sizes, got, want)
		}
	}

	var many []Run
	for i := range 60 {
		run := one[0]
		run.Backend, run.Median = fmt.Sprintf("plugin:number-%d", i), float64(i+1)
		many = append(many, run)
	}
	b.Reset()
	if err := WritePlot(&b, "png", record.Record[Run]{Machine: r.Machine, Runs: many}); err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	// The last line of the legend is drawn, above a margin that is white, and beside room
	// for a wider font.
	size, last, right := picture.Bounds().Size(), 0, 0
	for y := range size.Y {
		for x := size.X * 3 / 4; x < size.X; x++ {
			if r, g, b, _ := picture.At(x, y).RGBA(); r+g+b < 3*0xffff {
				last, right = y, max(right, x)
			}
		}
	}
	if last < size.Y/2 || last > size.Y-10 {
		t.Errorf("the legend ends at %d of %d", last, size.Y)
	}
	if right > size.X*97/100 {
		t.Errorf("the legend is drawn until %d of %d", right, size.X)
	}
}

func TestRound(t *testing.T) {
	for _, c := range []struct{ v, down, up float64 }{{1, 1, 1}, {1.5, 1, 2}, {3, 2, 5}, {7, 5, 10},
		{0.07, 0.05, 0.1}, {2000, 2000, 2000}, {9999, 5000, 10000}} {
		down, up := round(c.v, math.Floor), round(c.v, math.Ceil)
		if math.Abs(down/c.down-1) > 1e-9 || math.Abs(up/c.up-1) > 1e-9 {
			t.Errorf("%v: %v, %v", c.v, down, up)
		}
	}
}
