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
	proofsEdge  = 1.3 * vg.Inch // title and axis
	proofsRow   = 0.5 * vg.Inch // a text above a bar
	proofsBar   = 0.17 * vg.Inch
	proofsFont  = 13
)

// PlotProofs draws how many times as fast as gnark's own prover proofs are, in one of
// PlotFormats: a bar for each circuit and backend of the records of proofs, in their order. The
// text above a bar has both times; a line at the bar's end
// goes from the slowest to the fastest proof on the backend. Of runs that merge and runs
// that never do, the former are drawn.
//
// Figures of different devices do not belong beside each other: they are
// backend.ErrInvalidInput, as is what is no record. Without anything to draw it is ErrNoRuns.
func PlotProofs(w io.Writer, format string, records ...io.Reader) error {
	var runs []report.Run
	device := map[string]string{} // by backend
	for _, from := range records {
		r, err := report.Read(from)
		if err != nil {
			return err
		}
		for _, run := range r.Runs {
			if run.Op != "groth16" && run.Op != "plonk" || run.Inputs[report.InputMerge] == string(report.MergeNever) ||
				run.Value(report.FigureSpeedup) <= 0 {
				continue
			}
			if first := cmp.Or(device[run.Backend], run.Device); first != run.Device {
				return fmt.Errorf("%w: %s was measured on %s and on %s: draw records of one device",
					backend.ErrInvalidInput, run.Backend, first, run.Device)
			}
			device[run.Backend] = run.Device
			runs = append(runs, run)
		}
	}
	if len(runs) == 0 {
		return ErrNoRuns
	}

	p := plot.New()
	p.Title.Text = "Proofs, and gnark's own prover on the same machine"
	p.Title.TextStyle.Font.Variant, p.Title.TextStyle.Font.Size = "Sans", proofsFont+1
	p.Title.Padding = 0.1 * vg.Inch
	p.HideY()
	p.X.Label.Text = "times as fast as gnark"
	p.X.Label.TextStyle.Font.Variant, p.X.Label.TextStyle.Font.Size = "Sans", proofsFont-1
	p.X.Min, p.X.Tick.Marker = 0, plot.TickerFunc(timesTicks)
	p.X.Tick.Label.Font.Variant, p.X.Tick.Label.Font.Size = "Sans", proofsFont-2
	var labels plotter.XYLabels
	slices.Reverse(runs) // the first bar is the highest
	for i, run := range runs {
		speedup, stock := run.Value(report.FigureSpeedup), run.Value(report.FigureStock)
		bar, err := plotter.NewBarChart(plotter.Values{speedup}, proofsBar)
		if err != nil {
			return err
		}
		bar.Horizontal, bar.XMin, bar.LineStyle.Width = true, float64(i), 0
		bar.Color = plotColors[0]
		if run.Device == "" || run.Backend == "cpu" {
			bar.Color = plotColors[4]
		}
		p.Add(bar)
		end := speedup
		if len(run.Samples) > 1 {
			slowest, fastest := stock/slices.Max(run.Samples), stock/slices.Min(run.Samples)
			spread := proofSpread{
				XYs:     plotter.XYs{{X: speedup, Y: float64(i)}},
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
		labels.XYs = append(labels.XYs, plotter.XY{Y: float64(i)})
		labels.Labels = append(labels.Labels, fmt.Sprintf("%s, %s, %s: %s, gnark %s", circuitTitle(run.What),
			systemTitle(run.Op), processorTitle(run.Backend), proofTime(run.Median), proofTime(stock)))
	}
	text, err := plotter.NewLabels(labels)
	if err != nil {
		return err
	}
	text.Offset.Y = proofsBar/2 + proofsFont*0.75
	for i := range text.TextStyle {
		text.TextStyle[i].Font.Variant, text.TextStyle[i].Font.Size = "Sans", proofsFont
		text.TextStyle[i].YAlign = draw.YCenter
	}
	p.Add(roomyLabels{text})
	p.X.Max *= 1.05
	p.Y.Min, p.Y.Max = -0.5, float64(len(runs))-0.5

	canvas, err := newCanvas(format, proofsWidth, proofsEdge+proofsRow*vg.Length(len(runs)))
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
		return "a proof verified"
	}
	if n, ok := strings.CutPrefix(circuit, "mimc-"); ok {
		return n + " MiMC hashes"
	}
	return circuit
}
