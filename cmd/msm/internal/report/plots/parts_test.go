package plots

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
)

const partsRecord = `{"format": 2, "machine": {"cpu": "C", "cores": 16, "time": "2026-11-29T03:31:45Z"}, "runs": [
	{"op": "groth16", "what": "ecdsa", "curve": "bn254", "backend": "cuda", "device": "A card", "count": 1, "median_ms": 9,
		"figures": {"constraints": {"value": 185198}}},
	{"op": "groth16-phase", "what": "solve", "figures": {"took": {"value": 4, "samples": [4]}, "end": {"value": 4, "samples": [4]}}},
	{"op": "groth16-phase", "what": "call", "figures": {"took": {"value": 7, "samples": [3, 4]}, "end": {"value": 9, "samples": [7, 9]}}},
	{"op": "groth16-phase", "what": "device sort", "figures": {"took": {"value": 1, "samples": [1]}, "end": {"value": 6, "samples": [6]}}},
	{"op": "groth16-phase", "what": "device reduce", "figures": {"took": {"value": 2, "samples": [2]}, "end": {"value": 8, "samples": [8]}}},
	{"op": "groth16-phase", "what": "device Map", "figures": {"took": {"value": 0.5, "samples": [0.5]}, "end": {"value": 8.5, "samples": [8.5]}}},
	{"op": "groth16-phase", "what": "device idle", "figures": {"took": {"value": 3, "samples": [3]}, "end": {"value": 5, "samples": [5]}}},
	{"op": "groth16-phase", "what": "program", "figures": {"took": {"value": 3, "samples": [3]}, "end": {"value": 5, "samples": [5]}}}]}`

// TestPlotParts: each kind of work has a lane with what it took in all; a device that waits
// has none. What runs side by side is in two rows.
func TestPlotParts(t *testing.T) {
	var svg bytes.Buffer
	if err := PlotParts(&svg, "svg", strings.NewReader(partsRecord)); err != nil {
		t.Fatal(err)
	}
	got := texts(t, svg.Bytes())
	for _, want := range []string{"One proof: ECDSA, Groth16 on BN254, 185 k constraints, 9.0 ms", "C, 16 cores; A card; 2026-11-29",
		"solver, 4.0 ms", "calls of the engine, 7.0 ms", "device: MSMs, 3.0 ms", "device: vectors, 0.5 ms", "milliseconds"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if n := len(slices.DeleteFunc(got, func(s string) bool { return !strings.Contains(s, ", ") || !strings.HasSuffix(s, " ms") })); n != 5 {
		t.Errorf("%d lanes and a title, want 4: %q", n, got)
	}
	if n := strings.Count(svg.String(), "fill:#CC79A7"); n != 3 { // two calls, and a step over vectors
		t.Errorf("%d bars of calls and vectors, want 3", n)
	}
	svg.Reset()
	some := strings.Replace(partsRecord, `"figures": {"took": {"value": 1,`, `"figures": {"left_out": {"value": 5}, "took": {"value": 1,`, 1)
	if err := PlotParts(&svg, "svg", strings.NewReader(some)); err != nil ||
		!strings.Contains(svg.String(), "5 stages of the device are not drawn") {
		t.Errorf("%v: %s", err, svg.String())
	}
	for _, c := range []struct {
		record string
		is     error
	}{
		{`{"runs": []}`, ErrNoRuns}, {"x", backend.ErrInvalidInput},
		{strings.Replace(partsRecord, `"groth16-phase"`, `"groth16"`, 2), backend.ErrInvalidInput},
		{strings.Replace(partsRecord, `"samples": [3, 4]`, `"samples": [3]`, 1), backend.ErrInvalidInput},
		{partsRecord[:strings.Index(partsRecord, "},\n\t{\"op\": \"groth16-phase\"")] + "}]}", ErrNoRuns},
	} {
		if err := PlotParts(io.Discard, "svg", strings.NewReader(c.record)); !errors.Is(err, c.is) {
			t.Errorf("%v, want %v: %s", err, c.is, c.record)
		}
	}
	if err := PlotParts(io.Discard, "gif", strings.NewReader(partsRecord)); err == nil {
		t.Error("a GIF was made")
	}
}

// TestSideBySide: what began before another part ended is in another row.
func TestSideBySide(t *testing.T) {
	r, err := report.Read(strings.NewReader(partsRecord))
	if err != nil {
		t.Fatal(err)
	}
	rows, sum := sideBySide(r.Runs[2:4])
	want := [][]bar{{{4, 7}}, {{5, 6}}, {{5, 9}}}
	if len(rows) == 3 && rows[1][0].end == 9 {
		want[1], want[2] = want[2], want[1]
	}
	if !slices.EqualFunc(rows, want, slices.Equal[[]bar]) || sum != 8 {
		t.Errorf("%v of %v ms, want %v", rows, sum, want)
	}
	r.Runs[3].Figures[report.FigureEnd].Samples[0] += partsLess / 2 // as rounding may have it
	if rows, _ := sideBySide(r.Runs[3:5]); len(rows) != 1 {
		t.Errorf("%v: two rows for what ran one behind the other", rows)
	}
}
