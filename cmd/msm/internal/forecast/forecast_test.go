package forecast

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
)

var update = flag.Bool("update", false, "fit cards.json to the records in bench/results")

// bound is the error that no fit may exceed, as a part of the measured time. One line is fitted
// through small MSMs without buckets and large ones with them.
// The shortest MSMs themselves differ by a fifth from one machine to another.
const bound = 0.25

// point is a measured MSM of uniform scalars in shared memory.
type point struct {
	curve backend.Curve
	group backend.Group
	n     int
	hints backend.Hints
}

func (p point) compare(q point) int {
	return cmp.Or(p.n-q.n, p.hints.Multiples-q.hints.Multiples, strings.Compare(fmt.Sprint(p.hints), fmt.Sprint(q.hints)))
}

// tuning is that of the card that was measured.
func tuning(t *testing.T) msmplan.Tuning {
	t.Helper()
	of, err := msmplan.TuningFor("NVIDIA H200", "9.0", 132, nil)
	if err != nil {
		t.Fatal(err)
	}
	return of
}

// outline plans what was measured.
func (p *point) outline(t *testing.T, card *Card) msmplan.Outline {
	t.Helper()
	o, err := msmplan.Outlined(tuning(t), p.curve, p.group, p.n, p.hints, int64(card.Memory))
	if err != nil || !o.Resident {
		t.Fatalf("%+v: %+v, %v", p, o, err)
	}
	return o
}

// measured are the medians of the committed records of MSMs on cards, by card, and
// the memory that the backend used of it. Of several records of one thing it is the
// least: kernels become faster.
func measured(t *testing.T) (points map[string]map[point]float64, memory map[string]uint64) {
	t.Helper()
	points, memory = map[string]map[point]float64{}, map[string]uint64{}
	files, err := filepath.Glob("../../../../bench/results/*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		// Forecasts are of whole cards, and of sizes at which the way to the card is not most.
		if strings.Contains(name, "h200-memory") || strings.Contains(name, "msm-small") {
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := report.Read(f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found := false
		for _, run := range r.Runs {
			if run.Op != report.OpMSM || run.Backend != "cuda" || !run.Checked ||
				run.Inputs[report.InputDistribution] != "uniform" || run.Inputs[report.InputPath] != string(report.Arena) {
				continue
			}
			c, err1 := backend.ParseCurve(run.Curve)
			g, err2 := backend.ParseGroup(run.Group)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			if points[run.Device] == nil {
				points[run.Device] = map[point]float64{}
			}
			found = true
			if run.N <= msmplan.DirectPoints && run.Value("multiples") < 512 {
				continue // from before few points had a kernel of their own, which needs all multiples
			}
			at := point{c, g, run.N, backend.Hints{Multiples: max(1, int(run.Value("multiples"))), Uniform: run.Notes["hint"] == "uniform"}}
			if known, ok := points[run.Device][at]; !ok || run.Median < known {
				points[run.Device][at] = run.Median
			}
		}
		for _, b := range r.Machine.Backends {
			if found && b.Name == "cuda" && len(b.Devices) == 1 {
				d := b.Devices[0]
				if m := memory[d.Name]; m == 0 || d.Memory < m {
					memory[d.Name] = d.Memory
				}
			}
		}
	}
	return points, memory
}

// fitted is the cards of the records.
func fitted(t *testing.T) []Card {
	t.Helper()
	points, memory := measured(t)
	var cards []Card
	for name, all := range points {
		card := Card{Name: name, Memory: memory[name]}
		for _, of := range backend.CurveGroups() {
			for _, prepared := range []bool{false, true} {
				var cost, millis []float64
				f := Fit{Curve: of.Curve.String(), Group: of.Group.String(), Prepared: prepared, From: math.MaxInt}
				for _, p := range slices.SortedFunc(maps.Keys(all), point.compare) {
					if p.curve != of.Curve || p.group != of.Group {
						continue
					}
					if o := p.outline(t, &card); prepared == (o.Rows > 0) {
						cost, millis = append(cost, o.Cost), append(millis, all[p])
						f.From, f.To = min(f.From, p.n), max(f.To, p.n)
					}
				}
				if f.From < f.To { // a line needs two sizes
					f.fit(cost, millis)
					card.Fits = append(card.Fits, f)
				}
			}
		}
		cards = append(cards, card)
	}
	slices.SortFunc(cards, func(a, b Card) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	return cards
}

// fit is by least squares of relative errors.
func (f *Fit) fit(cost, millis []float64) {
	var w, x, xx, y, xy float64
	for i, c := range cost {
		weight := 1 / (millis[i] * millis[i])
		w, x, xx, y, xy = w+weight, x+weight*c, xx+weight*c*c, y+weight*millis[i], xy+weight*c*millis[i]
	}
	d := w*xx - x*x
	fixed, unit := (y*xx-xy*x)/d, (w*xy-x*y)/d
	f.Fixed, f.UnitNS = round(fixed, 1e3), round(unit*1e6, 1e4)
	for i, c := range cost {
		f.Within = max(f.Within, math.Abs((f.Fixed+f.UnitNS*1e-6*c)/millis[i]-1))
	}
	f.Within = math.Ceil(f.Within*100) / 100
}

func round(v, places float64) float64 { return math.Round(v*places) / places }

// TestCards: the table is what the records and the planner give, so that neither
// changes without it.
func TestCards(t *testing.T) {
	text, err := json.MarshalIndent(fitted(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		if err := os.WriteFile("cards.json", text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(text, table) {
		t.Errorf("cards.json is not what the records give (go test ./cmd/msm/internal/forecast -update writes it):\n%s", text)
	}
}

// TestErrors compares every forecast with its record.
func TestErrors(t *testing.T) {
	points, _ := measured(t)
	compared := 0
	for name, all := range points {
		card := Find(name)
		if card == nil {
			t.Errorf("no card %q", name)
			continue
		}
		for p, took := range all {
			o := p.outline(t, card)
			got, ok := card.Of(p.curve, p.group, p.n, &o)
			off := math.Abs(got.Millis/took - 1)
			if !ok || got.Outside || off > got.Within || got.Within > bound {
				t.Errorf("%s, %+v: %.2f ms for %.2f, off by %.1f %% of %.0f %%", name, p, got.Millis, took, 100*off, 100*got.Within)
			}
			compared++
		}
	}
	if compared < 40 {
		t.Errorf("only %d records", compared)
	}
}

func TestFind(t *testing.T) {
	if c := Find("h200"); c == nil || c.Name != "NVIDIA H200" || Find(" NVIDIA H200") != c {
		t.Errorf("%v", c)
	}
	for _, name := range []string{"", "h100", "H200 NVL", "nvidia"} {
		if c := Find(name); c != nil {
			t.Errorf("%q is %s", name, c.Name)
		}
	}
}

// TestNothingLikeIt: sizes beyond the records are marked, and bases that do not
// stay on the card have no forecast.
func TestNothingLikeIt(t *testing.T) {
	card := Find("h200")
	o, err := msmplan.Outlined(tuning(t), backend.BN254, backend.G2, 100, backend.Hints{Multiples: 1}, 1<<35)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := card.Of(backend.BN254, backend.G2, 100, &o); !ok || !got.Outside {
		t.Errorf("%+v, %v", got, ok)
	}
	o, err = msmplan.Outlined(tuning(t), backend.BN254, backend.G1, 1<<24, backend.Hints{}, 1<<30)
	if err != nil || o.Resident {
		t.Fatalf("%+v, %v", o, err)
	}
	if got, ok := card.Of(backend.BN254, backend.G1, 1<<24, &o); ok {
		t.Errorf("%+v", got)
	}
}
