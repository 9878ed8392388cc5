package plots

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
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/record"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// sample returns the record that package report's tests write, with every case that the
// writers tell apart.
func sample(t *testing.T) record.Record[report.Run] {
	t.Helper()
	f, err := os.Open("../testdata/record.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := report.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPlotGolden: the plot of the sample stays as it is, byte for byte.
func TestPlotGolden(t *testing.T) {
	var got bytes.Buffer
	if err := WritePlot(&got, "svg", sample(t)); err != nil {
		t.Fatal(err)
	}
	const path = "testdata/plot.svg"
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
	r := sample(t)
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
	if err := WritePlot(io.Discard, "svg", record.Record[report.Run]{}); !errors.Is(err, ErrNoRuns) {
		t.Errorf("plot of nothing: %v", err)
	}
	if err := WritePlot(io.Discard, "gif", r); err == nil {
		t.Error("a GIF was made")
	}

	one := []report.Run{{Curve: "bls12-377", Group: "g2", Backend: "cuda", N: 1 << 20, Times: record.Times{Median: 5},
		Inputs: map[string]string{report.InputDistribution: "witness", report.InputPath: string(report.Arena)}}}
	b.Reset()
	if err := WritePlot(&b, "svg", record.Record[report.Run]{Machine: r.Machine, Runs: one}); err != nil {
		t.Fatal(err)
	}
	got = texts(t, b.Bytes())
	if !strings.Contains(strings.Join(got, "\n"), "bls12-377, g2, witness, arena") || !slices.Contains(got, "2²⁰") {
		t.Errorf("%q", got)
	}

	// The title names what computed, the axis what was measured.
	one[0].Device, one[0].N = "A GPU", 1000000
	b.Reset()
	if err := WritePlot(&b, "svg", record.Record[report.Run]{Machine: r.Machine, Runs: one}); err != nil {
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
		var runs []report.Run
		for _, n := range sizes {
			runs = append(runs, report.Run{N: n})
		}
		var labels []string
		for _, tick := range sizeTicks(runs).Ticks(float64(slices.Min(sizes)), float64(slices.Max(sizes))) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != want {
			t.Errorf("%v has ticks %q, want %q", sizes, got, want)
		}
	}

	var many []report.Run
	for i := range 60 {
		run := one[0]
		run.Backend, run.Median = fmt.Sprintf("plugin:number-%d", i), float64(i+1)
		many = append(many, run)
	}
	b.Reset()
	if err := WritePlot(&b, "png", record.Record[report.Run]{Machine: r.Machine, Runs: many}); err != nil {
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

// TestCutShort: the plot of a record that an interrupt ended says so.
func TestCutShort(t *testing.T) {
	r := sample(t)
	r.Cut = record.CutByInterrupt
	var b strings.Builder
	if err := WritePlot(&b, "svg", r); err != nil || !strings.Contains(b.String(), "interrupt") {
		t.Errorf("%v\n%s", err, b.String())
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

// TestPlotCardTable: a table's plot has its card, methods, axes and ticks.
func TestPlotCardTable(t *testing.T) {
	read, err := report.ReadCardTable(strings.NewReader(`{"machine": {"gpu": "a card", "cuda_driver": "13.0", "toolkit": "13.5"}, "runs": [
		{"op": "table", "table": "karatsuba", "method": "schoolbook", "bits": 64, "x": 64, "gops": 1234.5678, "checked": true},
		{"op": "table", "table": "karatsuba", "method": "Karatsuba", "bits": 64, "x": 64, "gops": 321, "checked": true},
		{"op": "table", "table": "karatsuba", "method": "schoolbook", "bits": 2048, "x": 2048, "gops": 0.25, "checked": true}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := PlotCardTable(&b, "svg", read); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a card", "schoolbook", "Karatsuba", ">bits<", "10⁹ operations a second", ">2¹¹<"} {
		if !strings.Contains(b.String(), text) {
			t.Errorf("the plot does not have %q", text)
		}
	}
}

// TestPanels: more lines than there are colours are drawn in panels, where their names say so;
// each line's last name is in the one legend, and a panel that lacks a line would have another's
// colours.
func TestPanels(t *testing.T) {
	line := func(name string) *curveLine {
		return &curveLine{name: name, at: plotter.XYs{{X: 1, Y: 2}, {X: 2, Y: 3}}}
	}
	var lines []*curveLine
	for _, head := range []string{"one, of 2", "two, of 2"} {
		for _, tail := range []string{"a", "b", "c", "d"} {
			lines = append(lines, line(head+", "+tail))
		}
	}
	f := figure{"a title", "places", "rates", plot.TickerFunc(powerTicks), plot.TickerFunc(plainTicks), lines}
	var b bytes.Buffer
	if err := f.write(&b, "svg"); err != nil {
		t.Fatal(err)
	}
	got := texts(t, b.Bytes())
	for text, want := range map[string]int{"a title": 1, "one, of 2": 1, "two, of 2": 1, "a": 1, "d": 1, "places": 2, "rates": 1} {
		n := 0
		for _, s := range got {
			if s == text {
				n++
			}
		}
		if n != want {
			t.Errorf("%q stands there %d times, want %d: %q", text, n, want, got)
		}
	}
	for why, lines := range map[string][]*curveLine{
		"enough colours": lines[:6], "a panel without a line": lines[:7], "no comma": append(slices.Clone(lines), line("e")),
	} {
		if parts := (figure{lines: lines}).panels(); len(parts) != 1 || len(parts[0].lines) != len(lines) {
			t.Errorf("%s: %d panels", why, len(parts))
		}
	}
}
