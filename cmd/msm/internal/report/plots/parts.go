package plots

import (
	"cmp"
	"fmt"
	"image/color"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/engine"
)

// The measures of a plot of a proof's parts.
const (
	partsEdge = 1.4 * vg.Inch // title and axis
	partsRow  = 0.3 * vg.Inch
	partsBar  = 0.4  // of a row, above its middle and below
	partsLess = 1e-3 // milliseconds that rounding may have parts overlap
)

// lane is a line of a plot of parts: what is in it, and a place in plotColors.
type lane struct {
	name  string
	color int
	has   func(part string) bool
}

// oneOf returns what tells parts by their names.
func oneOf[S ~string](names ...S) func(string) bool {
	return func(part string) bool { return slices.Contains(names, S(part)) }
}

// onDevice returns what tells a device's parts by their names.
func onDevice(names ...string) func(string) bool {
	return func(part string) bool {
		name, ok := strings.CutPrefix(part, report.DevicePart)
		return ok && slices.Contains(names, name)
	}
}

// lanes are all there are, from the top; a part is in the first that has it.
var lanes = []lane{
	{"solver", 4, oneOf(engine.PhaseSolve)},
	{"calls of the engine", 3, oneOf(engine.PhaseCall)},
	{"answers checked", 3, oneOf(engine.PhaseCheck)},
	{"requests in the plugin", 5, oneOf("request")},
	{"device: copies", 1, onDevice("copy", "Write", "Read")},
	{"device: transforms", 2, onDevice("Transform")},
	{"device: MSMs", 0, onDevice("digits", "sort", "buckets", "direct", "pairs", "affine", "accumulate", "fold", "reduce", "Job")},
	{"device: wiping", 5, onDevice("wipe")},
	{"device: vectors", 3, func(part string) bool {
		return strings.HasPrefix(part, report.DevicePart) && !onDevice("idle", "pause", "start")(part)
	}},
}

// PlotParts draws what the prover, a plugin and its device did in one proof, in one of
// PlotFormats: a lane for each kind of work of a record of msm bench trace, all on one axis of
// time.
//
// A record of several proofs is backend.ErrInvalidInput, as is what is no record. Without any
// parts it is ErrNoRuns.
func PlotParts(w io.Writer, format string, from io.Reader) error {
	r, err := report.Read(from)
	if err != nil {
		return err
	}
	var proved *report.Run
	leftOut := 0.0
	parts := map[int][]report.Run{} // by lane
	for i, run := range r.Runs {
		switch {
		case !run.IsPhase() && proved != nil:
			return fmt.Errorf("%w: parts of several proofs: draw a record of one circuit and backend", backend.ErrInvalidInput)
		case !run.IsPhase():
			proved = &r.Runs[i]
		case len(run.Figures[report.FigureTook].Samples) != len(run.Figures[report.FigureEnd].Samples):
			return fmt.Errorf("%w: %s has other times than ends", backend.ErrInvalidInput, run.Name())
		default:
			leftOut += run.Value(report.FigureLeftOut)
			at := slices.IndexFunc(lanes, func(l lane) bool { return l.has(run.What) })
			if at >= 0 && len(run.Figures[report.FigureEnd].Samples) > 0 {
				parts[at] = append(parts[at], run)
			}
		}
	}
	if proved == nil || len(parts) == 0 {
		return fmt.Errorf("%w: no parts of a proof, as msm bench trace records them", ErrNoRuns)
	}

	p := plot.New()
	day, _, _ := strings.Cut(r.Machine.Time, "T")
	p.Title.Text = fmt.Sprintf("One proof: %s, %s on %s, %s, %s\n%s; %s%s", circuitTitle(proved.What), systemTitle(proved.Op),
		strings.ToUpper(proved.Curve), constraintsTitle(proved.Value(report.FigureConstraints)), proofTime(proved.Median),
		computedOn(r.Machine, []string{r.Machine.CPU, proved.Device}), day, cutInTitle(r.Cut))
	if leftOut > 0 {
		p.Title.Text += fmt.Sprintf("; %.0f stages of the device are not drawn", leftOut)
	}
	p.Title.Padding = 0.1 * vg.Inch
	p.X.Label.Text = "milliseconds"
	p.X.Min = 0
	p.Title.TextStyle.Font.Variant, p.X.Label.TextStyle.Font.Variant = "Sans", "Sans"
	p.X.Tick.Label.Font.Variant, p.Y.Tick.Label.Font.Variant = "Sans", "Sans"
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Transparent, color.Gray{0xdd}
	p.Add(grid)
	var ticks []plot.Tick
	y := 0.0 // of a row; the axis goes upwards
	for at := len(lanes) - 1; at >= 0; at-- {
		if parts[at] == nil {
			continue
		}
		rows, sum := sideBySide(parts[at])
		for i := len(rows) - 1; i >= 0; i-- {
			for _, b := range rows[i] {
				bar, err := plotter.NewPolygon(plotter.XYs{{X: b.begin, Y: y - partsBar}, {X: b.end, Y: y - partsBar},
					{X: b.end, Y: y + partsBar}, {X: b.begin, Y: y + partsBar}})
				if err != nil {
					return err
				}
				// The line shows what is narrower than a point, too.
				bar.Color, bar.LineStyle.Color, bar.LineStyle.Width = plotColors[lanes[at].color], plotColors[lanes[at].color], vg.Points(0.25)
				p.Add(bar)
			}
			y++
		}
		middle := y - 1 - float64(len(rows)-1)/2
		ticks = append(ticks, plot.Tick{Value: middle, Label: fmt.Sprintf("%s, %s", lanes[at].name, proofTime(sum))})
	}
	p.Y.Min, p.Y.Max = -0.5, y-0.5
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Tick.Length, p.Y.LineStyle.Width = 0, 0

	canvas, err := newCanvas(format, plotWidth, partsEdge+partsRow*vg.Length(y))
	if err != nil {
		return err
	}
	all := draw.New(canvas)
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	p.Draw(draw.Crop(all, plotMargin, -2*plotMargin, plotMargin, -plotMargin))
	_, err = canvas.WriteTo(w)
	return err
}

// bar is when a part began and ended, in milliseconds.
type bar struct{ begin, end float64 }

// sideBySide returns the parts of a lane in rows, those that ran at the same time in different
// ones, and what all took together.
func sideBySide(parts []report.Run) (rows [][]bar, sum float64) {
	var all []bar
	for _, part := range parts {
		took := part.Figures[report.FigureTook]
		sum += took.Value
		for i, end := range part.Figures[report.FigureEnd].Samples {
			all = append(all, bar{end - took.Samples[i], end})
		}
	}
	slices.SortFunc(all, func(a, b bar) int { return cmp.Compare(a.begin, b.begin) })
	for _, b := range all {
		i := slices.IndexFunc(rows, func(row []bar) bool { return row[len(row)-1].end <= b.begin+partsLess })
		if i < 0 {
			i, rows = len(rows), append(rows, nil)
		}
		rows[i] = append(rows[i], b)
	}
	return rows, sum
}
