package bench

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sample is a record with every case that the writers tell apart.
func sample() Record[Run] {
	run := func(curve, backend string, path Path, n int, samples ...time.Duration) Run {
		r := Run{Op: "msm", Curve: curve, Group: "g1", N: n, Bases: "9f86d081", Backend: backend, Version: "1.2", Device: "Some CPU",
			Distribution: "uniform", Seed: 1, Path: path, Measure: EndToEnd, LoadBase: 0.5, Checked: true, Oracle: Oracle}
		if isPlugin(backend) {
			r.Measure = EndToEndPlugin
		}
		r.setSamples(samples)
		return r
	}
	row := run("bn254", "plugin:cpu", Arena, 1<<16, 251*time.Millisecond, 252*time.Millisecond)
	row.setRows(8, []time.Duration{2080 * time.Millisecond, 2040 * time.Millisecond})
	wrong := run("bw6-761", "cpu", Copy, 1000, 3*time.Millisecond)
	wrong.Checked, wrong.Wrong = false, 2
	unchecked := run("bw6-761", "plugin:/opt/my plugins/msm-backend-x", Copy, 1000, 9*time.Millisecond)
	unchecked.Checked, unchecked.Oracle = false, ""
	return Record[Run]{
		Machine: Machine{CPU: "Some CPU <4>", Cores: 4, Memory: 24 << 30, OS: "linux", Arch: "amd64", Kernel: "6.1",
			Go: "go1.26.0", GnarkCrypto: "v0.21.0", Commit: "0123456789abcdef", Time: "2026-01-02T03:04:05Z",
			Backends: []BackendInfo{
				{Name: "cpu", Version: "1.2", Curves: []string{"bn254"}, Devices: []DeviceInfo{{Name: "Some CPU", Memory: 24 << 30}}},
				{Name: "cuda", Version: "0.1", Curves: []string{"bn254"}, Devices: []DeviceInfo{{Name: "A GPU", Memory: 1 << 30, Detail: "driver 1"}, {Name: "B"}}},
			}},
		Runs: []Run{
			run("bn254", "cpu", Copy, 1<<16, 251*time.Millisecond, 250*time.Millisecond, 262*time.Millisecond),
			run("bn254", "plugin:cpu", Copy, 1<<16, 255*time.Millisecond, 258*time.Millisecond, 257*time.Millisecond),
			row,
			run("bn254", "cpu", Copy, 1<<18, 1100*time.Millisecond),
			run("bn254", "plugin:cpu", Copy, 1<<18, 123456*time.Nanosecond),
			wrong, unchecked,
		},
	}
}

func TestWritersGolden(t *testing.T) {
	r := sample()
	for name, write := range map[string]func(io.Writer) error{
		"record.json": r.WriteJSON,
		"table.txt":   func(w io.Writer) error { return WriteTable(w, 0, r.Machine, r.Runs) },
		"gobench.txt": func(w io.Writer) error { return WriteGobench(w, r.Machine, r.Runs) },
		"plot.svg":    func(w io.Writer) error { return WritePlot(w, r.Machine, r.Runs) },
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
	var got Record[Run]
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read back %+v, want %+v", got, want)
	}
	b.Reset()
	if err := (Record[Run]{}).WriteJSON(&b); err != nil || !strings.Contains(b.String(), `"runs": []`) {
		t.Errorf("a record without runs is %q, %v", b.String(), err)
	}
}

func TestGobenchLines(t *testing.T) {
	var b bytes.Buffer
	r := sample()
	if err := WriteGobench(&b, r.Machine, r.Runs); err != nil {
		t.Fatal(err)
	}
	samples := 0
	for _, run := range r.Runs {
		samples += len(run.Samples)
		if run.BackToBack != nil {
			samples += len(run.BackToBack.Samples)
		}
	}
	lines := 0
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "Benchmark") {
			continue
		}
		lines++
		f := strings.Fields(line)
		if len(f) != 4 || f[1] != "1" && (f[1] != "8" || !strings.HasPrefix(f[0], "BenchmarkMSMBackToBack/")) || f[3] != "ns/op" || strings.Count(f[0], "/") != 6 || !strings.HasSuffix(f[0], "-4") {
			t.Errorf("line %q", line)
		}
	}
	if lines != samples {
		t.Errorf("%d lines for %d samples", lines, samples)
	}
}

func TestPlotIsWellFormed(t *testing.T) {
	var b bytes.Buffer
	r := sample()
	if err := WritePlot(&b, r.Machine, r.Runs); err != nil {
		t.Fatal(err)
	}
	lines := 0
	for d := xml.NewDecoder(&b); ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "polyline" {
			lines++
		}
	}
	if want := len(series(r.Runs)); lines != want || want != 5 {
		t.Errorf("%d lines drawn, %d series, want 5", lines, want)
	}
	if err := WritePlot(io.Discard, r.Machine, nil); !errors.Is(err, ErrNoRuns) {
		t.Errorf("plot of nothing: %v", err)
	}
}

func TestPlotStaysInside(t *testing.T) {
	p := newPlot([]*curveLine{{at: []xy{{1, 0.001}, {1000, 3}, {1 << 28, 123456}}}})
	for _, q := range []xy{{1, 0.001}, {1 << 28, 123456}} {
		if x := p.x(q.n); x < plotLeft || x > plotWidth-plotRight {
			t.Errorf("x(%v) = %v", q.n, x)
		}
		if y := p.y(q.ms); y < plotTop || y > plotHeight-plotBottom {
			t.Errorf("y(%v) = %v", q.ms, y)
		}
	}
}
