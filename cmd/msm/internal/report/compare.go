package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"golang.org/x/perf/benchmath"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
)

// Difference is one run of two records. Times are milliseconds.
type Difference struct {
	What  string  `json:"what"`
	Old   float64 `json:"old_ms"` // medians
	New   float64 `json:"new_ms"`
	Ratio float64 `json:"ratio"` // New / Old
	// P is the probability of such a difference between samples of one
	// distribution, by the U test; Significant is that it is below 0.05.
	P           float64 `json:"p"`
	Significant bool    `json:"significant"`

	old, new, delta string
}

// Slower tells a run that took significantly longer, by more than limit, a share of
// the old time.
func (d *Difference) Slower(limit float64) bool { return d.Significant && d.Ratio > 1+limit }

// confidence is that of the ranges of medians.
const confidence = 0.95

// Enough is the fewest samples whose median has a range at that confidence.
const Enough = 6

// Compare compares the runs that two records have in common, in the order of the new one.
// notes is what to think of beside. Records without a common run, or without samples, are
// backend.ErrInvalidInput.
func Compare(old, new io.Reader) (all []Difference, notes []string, err error) {
	before, err := Read(old)
	if err != nil {
		return nil, nil, err
	}
	after, err := Read(new)
	if err != nil {
		return nil, nil, err
	}
	if a, b := before.Machine, after.Machine; a.CPU != b.CPU || a.Cores != b.Cores {
		notes = append(notes, fmt.Sprintf("the machines differ: %s, %d cores; %s, %d cores", a.CPU, a.Cores, b.CPU, b.Cores))
	}
	if before.Cut != "" || after.Cut != "" {
		notes = append(notes, "a record was cut short")
	}
	had := map[string]Run{}
	for _, r := range before.Runs {
		had[r.Name()] = r
	}
	few := false
	for _, r := range after.Runs {
		o, ok := had[r.Name()]
		if !ok || len(o.Samples) == 0 || len(r.Samples) == 0 {
			continue
		}
		a, b := sampleOf(o.Samples), sampleOf(r.Samples)
		c := benchmath.AssumeNothing.Compare(a, b)
		few = few || len(c.Warnings) > 0 || math.IsInf(Uncertainty(o.Samples), 0) || math.IsInf(Uncertainty(r.Samples), 0)
		all = append(all, Difference{
			What: r.Name(), Old: o.Median, New: r.Median, Ratio: r.Median / o.Median,
			P: c.P, Significant: c.P < c.Alpha,
			old: FormatMillis(o.Median) + " " + rangeOf(a), new: FormatMillis(r.Median) + " " + rangeOf(b),
			delta: c.FormatDelta(o.Median, r.Median) + " (" + c.String() + ")",
		})
	}
	if few {
		notes = append(notes, fmt.Sprintf("some runs have too few samples for a range: measure with --count %d or more", Enough))
	}
	if len(all) == 0 {
		return nil, notes, fmt.Errorf("%w: the records have no run in common that has samples", backend.ErrInvalidInput)
	}
	return all, notes, nil
}

func sampleOf(ms []float64) *benchmath.Sample {
	return benchmath.NewSample(append([]float64(nil), ms...), &benchmath.DefaultThresholds)
}

func rangeOf(s *benchmath.Sample) string {
	return "± " + strings.TrimPrefix(benchmath.AssumeNothing.Summary(s, confidence).PctRangeString(), "±")
}

// Uncertainty returns how far the median may be off, with confidence, as a share of it; infinite
// where there are too few samples to tell.
func Uncertainty(ms []float64) float64 {
	s := benchmath.AssumeNothing.Summary(sampleOf(ms), confidence)
	return max(s.Hi-s.Center, s.Center-s.Lo) / s.Center
}

// WriteDifferences writes a line for each difference.
func WriteDifferences(w io.Writer, form table.Form, all []Difference) error {
	columns := []table.Column{
		{Head: "what", Keep: table.Never}, {Head: "old ms", Keep: 1}, {Head: "new ms", Keep: 1}, {Head: "difference", Keep: table.Never},
	}
	var rows [][]string
	logs := 0.0
	for _, d := range all {
		rows = append(rows, []string{d.What, d.old, d.new, d.delta})
		logs += math.Log(d.Ratio)
	}
	if err := table.Write(w, form, false, columns, rows); err != nil || form.Style == table.CSV {
		return err
	}
	_, err := fmt.Fprintf(w, "\nMedians with their ranges at %.0f %% confidence; ~ is no significant "+
		"difference (U test, p < 0.05).\nGeometric mean of all: %+.1f %%\n",
		100*confidence, 100*(math.Exp(logs/float64(len(all)))-1))
	return err
}
