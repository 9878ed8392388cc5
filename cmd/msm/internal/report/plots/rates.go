package plots

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/internal/units"
)

// rated returns the name of a run's line and its time in milliseconds, 0 for a run that is not
// compared with others: skewed scalars, or those that are copied on the host first. Old records
// of libraries have a minimum and no median.
func rated(r *report.Run) (name string, ms float64) {
	switch {
	case r.Op == report.OpPeer:
		return r.Inputs[report.InputLibrary], cmp.Or(r.Median, r.Min)
	case r.Op == report.OpMSM && r.Inputs[report.InputDistribution] == "uniform" &&
		(r.Inputs[report.InputPath] == string(report.Arena) || r.Notes["measure"] == report.EndToEnd):
		return "pippin, " + r.Backend, r.Median
	}
	return "", 0
}

// Rates says which MSMs PlotRates draws: those of a group, from so many points on.
type Rates struct {
	Curve backend.Curve
	Group backend.Group
	From  int
}

// PlotRates draws points a second against size in one of report.PlotFormats, both axes
// logarithmic, of the MSMs of records: of pippin's runs with
// uniform scalars the medians, through plugins with scalars in their arena, and of
// libraries the medians, or the minima where there are no others; bars go from
// the slowest to the fastest sample. A line is a
// backend or a library, with its fastest number of multiples at each size.
//
// Figures of different devices do not belong beside each other: they are
// backend.ErrInvalidInput, as is what is no record. Without anything to draw it is ErrNoRuns.
func PlotRates(w io.Writer, format string, which Rates, records ...io.Reader) error {
	var runs []report.Run // that are drawn
	var lines []*curveLine
	times, cut := "median of pippin's times", record.Cut("")
	for _, from := range records {
		r, err := report.Read(from)
		if err != nil {
			return err
		}
		cut = cmp.Or(cut, r.Cut)
		for _, run := range r.Runs {
			name, ms := rated(&run)
			if run.Curve != which.Curve.String() || run.Group != which.Group.String() || run.N < max(1, which.From) || ms <= 0 {
				continue
			}
			if runs = append(runs, run); run.Device != runs[0].Device {
				return fmt.Errorf("%w: %s %s was measured on %s and on %s: draw records of one device", backend.ErrInvalidInput,
					run.Curve, run.Group, runs[0].Device, run.Device)
			}
			switch {
			case run.Op == report.OpPeer && run.Median == 0:
				times = "median of pippin's times, minimum of the others'"
			case run.Op == report.OpPeer:
				times = "median times"
			}
			rate := func(ms float64) float64 { return float64(run.N) / ms / 1e3 }
			var best bool
			if lines, best = withBest(lines, name, float64(run.N), rate(ms)); best && len(run.Samples) > 1 {
				find(lines, name).withRange(float64(run.N), rate(slices.Max(run.Samples)), rate(slices.Min(run.Samples)))
			}
		}
	}
	if len(runs) == 0 {
		return fmt.Errorf("%w: %v %v from %s points on", ErrNoRuns, which.Curve, which.Group, units.FormatSize(max(1, which.From)))
	}
	title := fmt.Sprintf("Points a second in MSMs of %s, all on %s%s\n%s; scalars from host memory, bases resident",
		strings.ToUpper(which.Curve.String()+" "+which.Group.String()), runs[0].Device, cutInTitle(cut), times)
	return figure{title, "points", "million points a second", sizeTicks(runs), plot.TickerFunc(plainTicks), lines}.write(w, format)
}

// withBest does what withPoint does, and keeps the greater of two values at one x. It
// reports whether that is y.
func withBest(lines []*curveLine, name string, x, y float64) ([]*curveLine, bool) {
	if l := find(lines, name); l != nil {
		if i := slices.IndexFunc(l.at, func(p plotter.XY) bool { return p.X == x }); i >= 0 {
			best := y > l.at[i].Y
			l.at[i].Y = max(l.at[i].Y, y)
			return lines, best
		}
	}
	return withPoint(lines, name, x, y), true
}
