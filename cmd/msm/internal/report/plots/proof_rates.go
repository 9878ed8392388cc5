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
)

// The measures of a plot of proofs, which is read at half of a page's width, too.
const (
	proofsWidth = 7 * vg.Inch
	proofsEdge  = 1.3 * vg.Inch // axis, and title without the devices
	proofsRow   = 0.25 * vg.Inch
	proofsBar   = 0.17 * vg.Inch
	proofsFont  = 13
	proofsGap   = 0.4 // rows between two circuits
)

// proofGroup is a circuit that was proved beside gnark: a run for each backend.
type proofGroup struct {
	title string
	stock float64 // gnark's median in milliseconds
	runs  map[string]report.Run
}

// proofGroups returns the circuits of records in their order, with all backends in order of
// first appearance and where and when the proofs were made, a line for each device. Of runs that merge and runs that
// never do it takes the former.
func proofGroups(records []io.Reader) (groups []*proofGroup, backends []string, where string, err error) {
	device := map[string]string{} // by backend
	var devices, days []string
	for _, from := range records {
		r, err := report.Read(from)
		if err != nil {
			return nil, nil, "", err
		}
		var drawn []string // devices
		for _, run := range r.Runs {
			if run.Op != "groth16" && run.Op != "plonk" || run.Inputs[report.InputMerge] == string(report.MergeNever) ||
				run.Value(report.FigureSpeedup) <= 0 {
				continue
			}
			if first := cmp.Or(device[run.Backend], run.Device); first != run.Device {
				return nil, nil, "", fmt.Errorf("%w: %s was measured on %s and on %s: draw records of one device",
					backend.ErrInvalidInput, run.Backend, first, run.Device)
			}
			device[run.Backend] = run.Device
			stock := run.Value(report.FigureStock)
			title := fmt.Sprintf("%s, %s on %s, %s: gnark %s", circuitTitle(run.What), systemTitle(run.Op), strings.ToUpper(run.Curve),
				constraintsTitle(run.Value(report.FigureConstraints)), proofTime(stock))
			i := slices.IndexFunc(groups, func(g *proofGroup) bool { return g.title == title })
			if i < 0 {
				i = len(groups)
				groups = append(groups, &proofGroup{title, stock, map[string]report.Run{}})
			}
			groups[i].runs[run.Backend] = run
			if !slices.Contains(backends, run.Backend) {
				backends = append(backends, run.Backend)
			}
			drawn = append(drawn, run.Device)
		}
		if len(drawn) == 0 {
			continue
		}
		// gnark's proofs are of the processor, whatever pippin's are of.
		for name := range strings.SplitSeq(computedOn(r.Machine, append(drawn, r.Machine.CPU)), "; ") {
			if !slices.Contains(devices, name) {
				devices = append(devices, name)
			}
		}
		day, _, _ := strings.Cut(r.Machine.Time, "T")
		if !slices.Contains(days, day) {
			days = append(days, day)
		}
	}
	if len(groups) == 0 {
		return nil, nil, "", ErrNoRuns
	}
	slices.Sort(devices)
	slices.Reverse(devices)
	return groups, backends, strings.Join(devices, "\n") + "; " + strings.Join(days, "; "), nil
}

// PlotProofs draws how many times as fast as gnark's own prover proofs are, in one of
// PlotFormats: for each circuit of the records of proofs, in their order, a bar for each
// backend. Beside a bar stand the median and the number of proofs; a line at the bar's end goes
// from the slowest to the fastest proof. A backend that proved some circuits and not others is
// named with these.
//
// Figures of different devices do not belong beside each other: they are
// backend.ErrInvalidInput, as is what is no record. Without anything to draw it is ErrNoRuns.
func PlotProofs(w io.Writer, format string, records ...io.Reader) error {
	groups, backends, where, err := proofGroups(records)
	if err != nil {
		return err
	}
	p := plot.New()
	p.Title.Text = "Proofs, and gnark's own prover on the same machine\n" + where + "\na line goes from the slowest proof to the fastest"
	p.Title.TextStyle.Font.Variant, p.Title.TextStyle.Font.Size = "Sans", proofsFont
	p.Title.Padding = 0.1 * vg.Inch
	p.HideY()
	p.X.Label.Text = "times as fast as gnark, by medians"
	p.X.Label.TextStyle.Font.Variant, p.X.Label.TextStyle.Font.Size = "Sans", proofsFont-1
	p.X.Min, p.X.Tick.Marker = 0, plot.TickerFunc(timesTicks)
	p.X.Tick.Label.Font.Variant, p.X.Tick.Label.Font.Size = "Sans", proofsFont-2
	var labels plotter.XYLabels
	label := func(x, y float64, text string) {
		labels.XYs, labels.Labels = append(labels.XYs, plotter.XY{X: x, Y: y}), append(labels.Labels, text)
	}
	y := 0.0 // of the row, downwards
	for i, g := range groups {
		if i > 0 {
			y -= proofsGap
		}
		label(0, y, g.title)
		y--
		for _, name := range backends {
			run, ok := g.runs[name]
			if !ok {
				label(0, y, processorTitle(name)+" not measured")
				y--
				continue
			}
			speedup := run.Value(report.FigureSpeedup)
			bar, err := plotter.NewBarChart(plotter.Values{speedup}, proofsBar)
			if err != nil {
				return err
			}
			bar.Horizontal, bar.XMin, bar.LineStyle.Width = true, y, 0
			bar.Color = plotColors[0]
			if run.Device == "" || run.Backend == "cpu" {
				bar.Color = plotColors[4]
			}
			p.Add(bar)
			end := speedup
			if len(run.Samples) > 1 {
				slowest, fastest := g.stock/slices.Max(run.Samples), g.stock/slices.Min(run.Samples)
				spread := proofSpread{
					XYs:     plotter.XYs{{X: speedup, Y: y}},
					XErrors: plotter.XErrors{{Low: speedup - slowest, High: fastest - speedup}},
				}
				whisker, err := plotter.NewXErrorBars(spread)
				if err != nil {
					return err
				}
				p.Add(whisker)
				end = max(end, fastest)
			}
			p.X.Max = max(p.X.Max, end)
			label(end, y, fmt.Sprintf("%s %s, median of %d", processorTitle(name), proofTime(run.Median), run.Count))
			y--
		}
	}
	text, err := plotter.NewLabels(labels)
	if err != nil {
		return err
	}
	for i := range text.TextStyle {
		text.TextStyle[i].Font.Variant, text.TextStyle[i].Font.Size = "Sans", proofsFont
		text.TextStyle[i].YAlign = draw.YCenter
	}
	text.Offset.X = 0.06 * vg.Inch
	p.Add(roomyLabels{text})
	p.X.Max *= 1.02
	p.Y.Min, p.Y.Max = y+0.5, 0.5

	devices := proofsFont * vg.Length(1+strings.Count(where, "\n"))
	canvas, err := newCanvas(format, proofsWidth, proofsEdge+devices+proofsRow*vg.Length(p.Y.Max-p.Y.Min))
	if err != nil {
		return err
	}
	all := draw.New(canvas)
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	p.Draw(draw.Crop(all, plotMargin, -plotMargin, plotMargin, -plotMargin))
	_, err = canvas.WriteTo(w)
	return err
}

// constraintsTitle returns a number of constraints with two digits or three.
func constraintsTitle(n float64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.2f M constraints", n/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.0f k constraints", n/1e3)
	}
	return fmt.Sprintf("%.0f constraints", n)
}

// proofSpread is one median with what was measured beside it.
type proofSpread struct {
	plotter.XYs
	plotter.XErrors
}

// roomyLabels have room for a wider font, as the legend of other plots has.
type roomyLabels struct{ *plotter.Labels }

func (l roomyLabels) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	boxes := l.Labels.GlyphBoxes(p)
	for i := range boxes {
		boxes[i].Max.X *= widerFont
	}
	return boxes
}

// processorTitle returns what computes, for somebody who knows no names of backends.
func processorTitle(name string) string {
	switch strings.TrimPrefix(name, "plugin:") {
	case "cpu":
		return "CPU"
	case "cuda":
		return "GPU"
	}
	return name
}

// proofTime returns a time with two or three digits.
func proofTime(ms float64) string {
	switch {
	case ms >= 9950:
		return fmt.Sprintf("%.0f s", ms/1e3)
	case ms >= 999.5:
		return fmt.Sprintf("%.1f s", ms/1e3)
	case ms >= 9.95:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f ms", ms)
}

// timesTicks returns ticks from 0 to hi such as "20".
func timesTicks(_, hi float64) (ticks []plot.Tick) {
	step := 1.0
	for hi/step > 8 {
		step *= 2
		if hi/step > 8 {
			step *= 2.5
		}
	}
	for v := 0.0; v <= hi; v += step {
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%g", v)})
	}
	return ticks
}

func systemTitle(op string) string {
	if op == "plonk" {
		return "PLONK"
	}
	return "Groth16"
}

// circuitTitle returns a circuit's name as documents have it.
func circuitTitle(circuit string) string {
	switch {
	case circuit == "ecdsa":
		return "ECDSA"
	case circuit == "sha256-2k":
		return "SHA-256 of 2 KB"
	case circuit == "recursion":
		return "Recursion"
	}
	if n, ok := strings.CutPrefix(circuit, "mimc-"); ok {
		return n + " MiMC hashes"
	}
	return circuit
}
