package plots

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/units"
)

// ratesRecord and peersRecord are what TestPlotRates draws.
const (
	ratesRecord = `{"machine": {"cpu": "x"}, "runs": [
		{"op": "msm", "curve": "bn254", "group": "g1", "n": 1024, "backend": "cuda", "device": "A card", "distribution": "uniform", "path": "arena", "measure": "end-to-end through the plugin", "min_ms": 1, "median_ms": 2},
		{"op": "msm", "curve": "bn254", "group": "g1", "n": 65536, "backend": "cuda", "device": "A card", "distribution": "uniform", "path": "arena", "measure": "end-to-end through the plugin", "min_ms": 3, "median_ms": 4},
		{"op": "msm", "curve": "bn254", "group": "g1", "n": 512, "backend": "cuda", "device": "A card", "distribution": "uniform", "path": "copy", "measure": "end-to-end through the plugin", "min_ms": 5, "median_ms": 6},
		{"op": "msm", "curve": "bn254", "group": "g1", "n": 256, "backend": "cuda", "device": "A card", "distribution": "witness", "path": "arena", "measure": "end-to-end through the plugin", "min_ms": 5, "median_ms": 6},
		{"op": "msm", "curve": "bn254", "group": "g2", "n": 128, "backend": "cuda", "device": "A card", "distribution": "uniform", "path": "arena", "measure": "end-to-end through the plugin", "min_ms": 5, "median_ms": 6},
		{"op": "msm", "curve": "bls12-381", "group": "g1", "n": 64, "backend": "cpu", "device": "Another", "distribution": "uniform", "path": "copy", "measure": "end-to-end", "min_ms": 5, "median_ms": 6},
		{"op": "ntt", "curve": "bn254", "group": "g1", "n": 32, "device": "A card", "median_ms": 7}]}`
	peersRecord = `{"machine": {"gpu": "A card"}, "runs": [
		{"op": "peer", "library": "theirs", "device": "A card", "curve": "bn254", "group": "g1", "n": 16384, "min_ms": 9}]}`
)

// rates draws records as SVG.
func rates(which Rates, records ...string) ([]byte, error) {
	var from []io.Reader
	for _, r := range records {
		from = append(from, strings.NewReader(r))
	}
	var b bytes.Buffer
	err := PlotRates(&b, "svg", which, from...)
	return b.Bytes(), err
}

func TestPlotRates(t *testing.T) {
	which := Rates{Curve: backend.BN254, Group: backend.G1}
	whole, err := rates(which, ratesRecord, peersRecord)
	if err != nil {
		t.Fatal(err)
	}
	got := texts(t, whole)
	for _, want := range []string{"pippin, cuda", "theirs", "2¹⁰", "2¹⁴", "2¹⁶", "million points a second",
		"Points a second in MSMs of BN254 G1, all on A card"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	for _, no := range []string{"2⁵", "2⁶", "2⁷", "2⁸", "2⁹"} {
		if slices.Contains(got, no) {
			t.Errorf("%s is drawn, which is not compared: %q", no, got)
		}
	}
	// What is drawn are medians of pippin's times and minima of the others'.
	for _, c := range []struct {
		old, new string
		changes  bool
	}{
		{`"median_ms": 4`, `"median_ms": 4.1`, true}, {`"min_ms": 9`, `"min_ms": 9.1`, true}, {`"library": "theirs"`, `"library": "yours"`, true},
		{`"min_ms": 3`, `"min_ms": 3.9`, false}, {`"n": 512`, `"n": 2048`, false}, {`"n": 16384`, `"n": 32768`, true},
	} {
		text, err := rates(which, strings.Replace(ratesRecord, c.old, c.new, 1), strings.Replace(peersRecord, c.old, c.new, 1))
		if err != nil || bytes.Equal(text, whole) == c.changes {
			t.Errorf("%s: %v, the plot is the same: %v", c.new, err, !c.changes)
		}
	}
	// A comparison has medians, pippin's among them, and several multiples: the fastest is drawn.
	comparison := `{"machine": {"cpu": "x"}, "runs": [
		{"op": "peer", "library": "pippin", "device": "A card", "curve": "bn254", "group": "g1", "n": 16384, "min_ms": 1, "median_ms": 2},
		{"op": "peer", "library": "theirs", "device": "A card", "curve": "bn254", "group": "g1", "n": 16384, "multiples": 1, "min_ms": 3, "median_ms": 4},
		{"op": "peer", "library": "theirs", "device": "A card", "curve": "bn254", "group": "g1", "n": 16384, "multiples": 8, "min_ms": 2, "median_ms": 3}]}`
	fastest, err := rates(which, comparison)
	if got := texts(t, fastest); err != nil ||
		!slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "median times;") }) || !slices.Contains(got, "pippin") {
		t.Errorf("%v, %q", err, got)
	}
	for change, same := range map[[2]string]bool{{`"median_ms": 4`, `"median_ms": 5`}: true, {`"median_ms": 3`, `"median_ms": 3.1`}: false} {
		if text, err := rates(which, strings.Replace(comparison, change[0], change[1], 1)); err != nil || bytes.Equal(text, fastest) != same {
			t.Errorf("%s: %v", change[1], err)
		}
	}
	alone, err := rates(Rates{Curve: backend.BLS12381, Group: backend.G1}, ratesRecord, peersRecord)
	if got := texts(t, alone); err != nil || !slices.Contains(got, "pippin, cpu") ||
		slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "others") }) {
		t.Errorf("%v, %q", err, got)
	}
	cut, err := rates(which, strings.Replace(ratesRecord, `"runs"`, `"cut": "interrupt", "runs"`, 1), peersRecord)
	if got := texts(t, cut); err != nil || !slices.ContainsFunc(got,
		func(s string) bool { return strings.HasSuffix(s, "on A card, cut short by an interrupt") }) {
		t.Errorf("%v, %q", err, got)
	}
	if large, err := rates(Rates{backend.BN254, backend.G1, 1 << 14}, ratesRecord, peersRecord); err != nil ||
		slices.Contains(texts(t, large), "2¹⁰") {
		t.Errorf("%v, from 2^14 on:\n%s", err, large)
	}

	for says, c := range map[string]struct {
		which   Rates
		records []string
		is      error
	}{
		"A card and on B": {which,
			[]string{ratesRecord, strings.Replace(peersRecord, `"A card", "curve"`, `"B", "curve"`, 1)}, backend.ErrInvalidInput},
		"no record":                    {which, []string{ratesRecord, "nothing"}, backend.ErrInvalidInput},
		"bw6-761 g1 from 1 points on":  {Rates{backend.BW6761, backend.G1, 0}, []string{ratesRecord, peersRecord}, ErrNoRuns},
		"bn254 g1 from 2^17 points on": {Rates{backend.BN254, backend.G1, 1 << 17}, []string{ratesRecord, peersRecord}, ErrNoRuns},
	} {
		if _, err := rates(c.which, c.records...); !errors.Is(err, c.is) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %v: %s", err, c.is, says)
		}
	}
	if err := PlotRates(io.Discard, "gif", which, strings.NewReader(ratesRecord)); err == nil {
		t.Error("a GIF was made")
	}
}

// The command of docs/bench-protocol.md that makes the plots of every curve, as far as
// its records and flags go.
var plotCommand = regexp.MustCompile(`for curve in (.+); do\n\s+msm bench plot --curve \$curve --from ` +
	`(\S+) --plot (bench/results/\S+/peers-)\$curve\.svg \\\n\s+(bench/results/\S+/)\{(\S+)\}\.json\n`)

var proofsCommand = regexp.MustCompile(`msm bench plot --proofs --plot (\S+\.svg) (bench/results/\S+/)\{(\S+)\}\.json\n`)

// TestPlotProofs: the plot names each circuit with its constraints, the number of proofs, the
// machine, the day and what was not measured. What is no proof, or of another device, is
// refused by name.
func TestPlotProofs(t *testing.T) {
	const one = `{"machine": {"cpu": "C", "cores": 16, "time": "2026-11-29T03:31:45Z"}, "runs": [
		{"op": "groth16", "circuit": "ecdsa", "curve": "bn254", "constraints": 185198,
			"backend": "cuda", "device": "A", "count": 7, "median_ms": 1, "stock_ms": 2, "speedup": 2},
		{"op": "groth16", "circuit": "ecdsa", "curve": "bn254", "constraints": 185198,
			"backend": "cuda", "device": "A", "merge": "never", "median_ms": 3, "stock_ms": 9, "speedup": 3},
		{"op": "plonk", "circuit": "mimc-9", "curve": "bn254", "constraints": 1294045,
			"backend": "cpu", "device": "C", "count": 3, "median_ms": 4, "stock_ms": 8, "speedup": 2},
		{"op": "plonk", "circuit": "mimc-9", "curve": "bn254", "constraints": 1294045,
			"backend": "cuda", "device": "A", "count": 3, "median_ms": 2, "stock_ms": 8, "speedup": 4},
		{"op": "msm", "backend": "cuda", "device": "B"}]}`
	var svg bytes.Buffer
	if err := PlotProofs(&svg, "svg", strings.NewReader(one)); err != nil {
		t.Fatal(err)
	}
	want := []string{"Proofs, and gnark's own prover on the same machine", "C, 16 cores", "A; 2026-11-29",
		"a line goes from the slowest proof to the fastest",
		"ECDSA, Groth16 on BN254, 185 k constraints: gnark 2.0 ms", "GPU 1.0 ms, median of 7", "CPU not measured",
		"9 MiMC hashes, PLONK on BN254, 1.29 M constraints: gnark 8.0 ms", "GPU 2.0 ms, median of 3", "CPU 4.0 ms, median of 3"}
	got := texts(t, svg.Bytes())
	got = slices.DeleteFunc(got, func(s string) bool { return len(s) < 5 || strings.HasPrefix(s, "times as fast") })
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("texts %q, want %q", got, want)
	}
	other := strings.NewReplacer(`"A"`, `"B"`).Replace(one)
	for _, c := range []struct {
		records []string
		is      error
	}{
		{nil, ErrNoRuns}, {[]string{`{"runs": []}`}, ErrNoRuns}, {[]string{one, "x"}, backend.ErrInvalidInput},
		{[]string{one, other}, backend.ErrInvalidInput},
	} {
		var read []io.Reader
		for _, r := range c.records {
			read = append(read, strings.NewReader(r))
		}
		if err := PlotProofs(io.Discard, "svg", read...); !errors.Is(err, c.is) {
			t.Errorf("%v, want %v", err, c.is)
		}
	}
	for ms, want := range map[float64]string{0.25: "0.2 ms", 9.96: "10 ms", 999.4: "999 ms", 1871: "1.9 s", 30556: "31 s"} {
		if got := proofTime(ms); got != want {
			t.Errorf("%g ms: %q, want %q", ms, got, want)
		}
	}
}

// TestCommittedPlots: plots are what their records give, those with other libraries by
// the command that the documents have, and their texts fit.
func TestCommittedPlots(t *testing.T) {
	text, err := os.ReadFile("../../../../../docs/bench-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	command := plotCommand.FindStringSubmatch(string(text))
	if command == nil {
		t.Fatal("docs/bench-protocol.md has no command for the plots")
	}
	from, err := units.ParseSize(command[2])
	if err != nil {
		t.Fatal(err)
	}
	var records []string
	for name := range strings.SplitSeq(command[5], ",") {
		files, err := filepath.Glob("../../../../../" + command[4] + name + ".json")
		if err != nil || len(files) == 0 {
			t.Fatalf("no records %s, %v", name, err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, string(text))
		}
	}
	plots := map[string]func() ([]byte, error){}
	for name := range strings.SplitSeq(command[1], " ") {
		c, err := backend.ParseCurve(name)
		if err != nil {
			t.Fatal(err)
		}
		plots[fmt.Sprintf("../../../../../%s%v.svg", command[3], c)] = func() ([]byte, error) {
			return rates(Rates{c, backend.G1, from}, records...)
		}
	}
	proofs := proofsCommand.FindAllStringSubmatch(string(text), -1)
	if proofs == nil {
		t.Fatal("docs/bench-protocol.md has no command for the plots of proofs")
	}
	for _, command := range proofs {
		plots["../../../../../"+command[1]] = func() ([]byte, error) {
			var read []io.Reader
			for name := range strings.SplitSeq(command[3], ",") {
				f, err := os.Open("../../../../../" + command[2] + name + ".json")
				if err != nil {
					return nil, err
				}
				defer f.Close()
				read = append(read, f)
			}
			var b bytes.Buffer
			err := PlotProofs(&b, "svg", read...)
			return b.Bytes(), err
		}
	}
	tables, err := filepath.Glob("../../../../../bench/results/*/table-*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range tables {
		plots[strings.TrimSuffix(path, ".json")+".svg"] = func() ([]byte, error) {
			f, err := os.Open(path)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			table, err := report.ReadCardTable(f)
			if err != nil {
				return nil, err
			}
			var b bytes.Buffer
			err = PlotCardTable(&b, "svg", table)
			return b.Bytes(), err
		}
	}
	traces, err := filepath.Glob("../../../../../bench/results/*/trace-*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range traces {
		plots[strings.TrimSuffix(path, ".json")+".svg"] = func() ([]byte, error) {
			f, err := os.Open(path)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			var b bytes.Buffer
			err = PlotParts(&b, "svg", f)
			return b.Bytes(), err
		}
	}
	numbers, err := filepath.Glob("../../../../../bench/results/*/product-*.svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range numbers {
		plots[path] = func() ([]byte, error) {
			f, err := os.Open(strings.TrimSuffix(path, ".svg") + ".json")
			if err != nil {
				return nil, err
			}
			defer f.Close()
			r, err := report.Read(f)
			if err != nil {
				return nil, err
			}
			var b bytes.Buffer
			err = PlotNumbers(&b, "svg", r)
			return b.Bytes(), err
		}
	}
	committed, err := filepath.Glob("../../../../../bench/results/*/*.svg")
	if err != nil || len(committed) != len(plots) {
		t.Errorf("%d plots, want %d (%v)", len(committed), len(plots), err)
	}
	for path, draw := range plots {
		want, err := draw()
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what its records give (%v): go test ./cmd/msm/internal/report/plots -run CommittedPlots -update", path, err)
		}
		if err := textsFit(string(want)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

var (
	svgWidth = regexp.MustCompile(`viewBox="0 0 ([0-9.]+) `)
	svgText  = regexp.MustCompile(`<text x="([0-9.]+)"[^>]*transform="scale\(1, -1\)"[^>]*font-size:([0-9.]+)px">([^<]*)<`)
)

// textsFit returns an error if a level text of an SVG goes beyond its right edge, in a wider font too.
func textsFit(svg string) error {
	width := svgWidth.FindStringSubmatch(svg)
	texts := svgText.FindAllStringSubmatch(svg, -1)
	if width == nil || len(texts) == 0 {
		return errors.New("no width or no texts")
	}
	most, err := strconv.ParseFloat(width[1], 64)
	for _, text := range texts {
		x, wrong := strconv.ParseFloat(text[1], 64)
		size, no := strconv.ParseFloat(text[2], 64)
		err = errors.Join(err, wrong, no)
		face := font.DefaultCache.Lookup(font.Font{Typeface: "Liberation", Variant: "Sans"}, vg.Length(size))
		if end := x + widerFont*float64(face.Width(html.UnescapeString(text[3]))); end > most {
			err = errors.Join(err, fmt.Errorf("%q ends at %.0f of %.0f", text[3], end, most))
		}
	}
	return err
}
