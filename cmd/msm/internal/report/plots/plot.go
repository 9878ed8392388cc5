package plots

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/internal/units"
)

// The plot's measures; one that has many lines is higher.
const (
	plotWidth, plotHeight = 10 * vg.Inch, 6 * vg.Inch
	plotMargin            = 0.15 * vg.Inch
	widerFont             = 1.2 // an SVG is shown with another one where there is no Liberation Sans
	legendLine            = 0.22 * vg.Inch
	panelHeight           = 3.5 * vg.Inch // of several
)

// plotColors are told apart by people with any colour vision (Okabe and Ito,
// without the second blue). Lines of one colour have other marks and dashes.
var plotColors = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff},
	{0xcc, 0x79, 0xa7, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x00, 0x00, 0x00, 0xff},
}

var plotMarks = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.BoxGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{},
	draw.SquareGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{},
}

// ErrNoRuns: there is nothing to draw.
var ErrNoRuns = errors.New("no runs to plot")

// WritePlot draws median time against size in one of report.PlotFormats, with bars from the
// least to the greatest sample, both axes logarithmic. A line is one backend, and one curve,
// group, distribution and path where the runs have several; the title has what they have in
// common.
func WritePlot(w io.Writer, format string, r record.Record[report.Run]) error {
	lines, common := series(r.Runs)
	if len(lines) == 0 {
		return ErrNoRuns
	}
	var devices []string
	for _, run := range r.Runs {
		devices = append(devices, run.Device)
	}
	title := "Multi-scalar multiplication, median time: " + common + "\n" + computedOn(r.Machine, devices) + cutInTitle(r.Cut)
	return figure{title, "points", "time of an MSM", sizeTicks(r.Runs), plot.TickerFunc(timeTicks), lines}.write(w, format)
}

// PlotNumbers draws elements a second against their width, or against the size of a batch
// where there are several, in one of report.PlotFormats, both axes logarithmic. A line is one backend,
// and one operation and place of the operands where the runs have several; the title has what
// they have in common.
func PlotNumbers(w io.Writer, format string, r record.Record[report.Run]) error {
	of := []func(report.Run) string{
		func(r report.Run) string { return r.What },
		func(r report.Run) string { return "operands " + r.Inputs[report.InputPath] },
	}
	x, place := "bits", func(r report.Run) int { return r.Sizes["bits"] }
	if sameWork(r.Runs) {
		x, place = "elements of a batch", func(r report.Run) int { return r.N }
		of = append(of, func(r report.Run) string { return fmt.Sprintf("%d bits", r.Sizes["bits"]) })
	}
	common, parts := shared(r.Runs, func(r report.Run) string { return r.Backend }, of...)
	var lines []*curveLine
	var places []int
	var devices []string
	for _, run := range r.Runs {
		if run.Median <= 0 {
			continue
		}
		lines = withPoint(lines, parts(run), float64(place(run)), run.Rate())
		places, devices = append(places, place(run)), append(devices, run.Device)
	}
	if len(lines) == 0 {
		return ErrNoRuns
	}
	if common != "" {
		common = ": " + common
	}
	title := "Operations on numbers, elements a second" + common + "\n" + computedOn(r.Machine, devices) + cutInTitle(r.Cut)
	return figure{title, x, "elements a second", widthTicks(places), plot.TickerFunc(plainTicks), lines}.write(w, format)
}

// PlotCardTable draws rates against the axis in one of report.PlotFormats, both logarithmic.
// A line is a method.
func PlotCardTable(w io.Writer, format string, t report.CardTable) error {
	var lines []*curveLine
	for _, run := range t.Runs {
		lines = withPoint(lines, run.Method, run.X, run.Rate)
	}
	return figure{t.String(), t.Axis(), "10^9 operations a second", plot.TickerFunc(powerTicks),
		plot.TickerFunc(plainTicks), lines}.write(w, format)
}

// cutInTitle returns how the title of a plot ends, "" for what is whole.
func cutInTitle(c record.Cut) string {
	if c == "" {
		return ""
	}
	return ", cut short by an " + string(c)
}

// sameWork reports whether two runs differ in the size of the batch and in nothing else.
func sameWork(runs []report.Run) bool {
	sizes := map[string]int{}
	for _, r := range runs {
		n := r.N
		r.N = 0
		if other, ok := sizes[r.Name()]; ok && other != n {
			return true
		}
		sizes[r.Name()] = n
	}
	return false
}

// figure is lines over two logarithmic axes.
type figure struct {
	title, x, y    string
	xTicks, yTicks plot.Ticker
	lines          []*curveLine
}

func (f figure) write(w io.Writer, format string) error {
	raise := raised
	if format != "svg" { // the font of pictures has no superscript zero
		raise = func(text string) string { return text }
	}
	legend := plot.NewLegend()
	legend.Top, legend.Left, legend.YOffs = true, true, -0.5*vg.Inch
	legend.Padding = 0.04 * vg.Inch
	legend.TextStyle.Font.Variant = "Sans"
	parts := f.panels()
	columns := min(2, len(parts))
	var plots [][]*plot.Plot // by row
	var all []*plot.Plot
	for i, part := range parts {
		p, err := f.panel(part.lines, raise, func(name string, of ...plot.Thumbnailer) {
			if i == 0 {
				legend.Add(name, of...)
			}
		})
		if err != nil {
			return err
		}
		p.Title.Text = raise(part.name)
		if i%columns == 0 {
			plots = append(plots, nil)
		}
		plots[i/columns], all = append(plots[i/columns], p), append(all, p)
	}
	xMin, xMax, yMin, yMax := all[0].X.Min, all[0].X.Max, all[0].Y.Min, all[0].Y.Max
	for _, p := range all[1:] {
		xMin, xMax, yMin, yMax = min(xMin, p.X.Min), max(xMax, p.X.Max), min(yMin, p.Y.Min), max(yMax, p.Y.Max)
	}
	if xMin == xMax { // some room, and no other tick
		xMin, xMax = xMin/1.9, xMax*1.9
	}
	for _, p := range all {
		p.X.Min, p.X.Max = xMin, xMax
		p.Y.Min, p.Y.Max = round(yMin, math.Floor), round(yMax*1.0001, math.Ceil)
	}

	height := max(plotHeight, legendLine*vg.Length(len(f.lines)+4))
	if len(parts) > 1 {
		height = panelHeight * vg.Length(len(plots))
	}
	canvas, err := newCanvas(format, plotWidth, height)
	if err != nil {
		return err
	}
	page := draw.New(canvas)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())
	page = draw.Crop(page, plotMargin, -plotMargin, plotMargin, -plotMargin)
	side := widerFont*legend.Rectangle(page).Size().X + 2*plotMargin
	left := draw.Crop(page, 0, -side, 0, 0)
	if len(parts) == 1 {
		all[0].Title.Text = raise(f.title)
		all[0].Draw(left)
	} else {
		style := all[0].Title.TextStyle
		style.XAlign, style.YAlign = draw.XCenter, draw.YTop
		left.FillText(style, vg.Point{X: left.Center().X, Y: left.Max.Y}, raise(f.title))
		left = draw.Crop(left, 0, 0, 0, -style.Height(f.title)-plotMargin)
		// One name of the axis for all: gonum makes room above each plot for a long one.
		for _, p := range all {
			p.Y.Label.Text = ""
		}
		style.Rotation = math.Pi / 2
		left.FillText(style, vg.Point{X: left.Min.X, Y: left.Center().Y}, raise(f.y))
		left = draw.Crop(left, style.Height(f.y)+plotMargin, 0, 0, 0)
		tiles := draw.Tiles{Rows: len(plots), Cols: columns, PadX: 2 * plotMargin, PadY: 2 * plotMargin}
		for row, of := range plot.Align(plots, tiles, left) {
			for column, at := range of {
				plots[row][column].Draw(at)
			}
		}
	}
	legend.Draw(draw.Crop(page, page.Size().X-side+2*plotMargin, 0, 0, 0))
	_, err = canvas.WriteTo(w)
	return err
}

// panel returns a plot of lines without a title, with the figure's axes, and tells legend of
// each line.
func (f figure) panel(lines []*curveLine, raise func(string) string, legend func(string, ...plot.Thumbnailer)) (*plot.Plot, error) {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = raise(f.x), raise(f.y)
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = labelled(f.xTicks, raise), labelled(f.yTicks, raise)
	fonts := []*font.Font{&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.X.Tick.Label.Font, &p.Y.Tick.Label.Font}
	if f.y != "" { // its font takes room without a text, too
		fonts = append(fonts, &p.Y.Label.TextStyle.Font)
	}
	for _, font := range fonts {
		font.Variant = "Sans"
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{0xdd}, color.Gray{0xdd}
	p.Add(grid)
	for i, l := range lines {
		line, points, err := plotter.NewLinePoints(l.at)
		if err != nil {
			return nil, err
		}
		line.Color, points.Color = plotColors[i%len(plotColors)], plotColors[i%len(plotColors)]
		line.Width = vg.Points(1.5)
		if turn := i / len(plotColors); turn > 0 {
			line.Dashes = []vg.Length{vg.Points(float64(3 * turn)), vg.Points(3)}
		}
		points.Shape, points.Radius = plotMarks[i%len(plotMarks)], vg.Points(3)
		if len(l.ranges) > 0 {
			bars, err := plotter.NewYErrorBars(l)
			if err != nil {
				return nil, err
			}
			bars.Color = line.Color
			p.Add(bars)
		}
		p.Add(line, points)
		legend(l.name, line, points)
	}
	return p, nil
}

// namedLines is a part of a figure's lines.
type namedLines struct {
	name  string
	lines []*curveLine
}

// panels returns what is drawn on axes of its own: all lines, or where they are more than
// there are colours and commas divide all their names, those that begin alike, named by what
// stands behind the last comma. All panels have the same names then, or the lines stay
// together.
func (f figure) panels() []namedLines {
	whole := []namedLines{{"", f.lines}}
	if len(f.lines) <= len(plotColors) {
		return whole
	}
	var parts []namedLines
	for _, l := range f.lines {
		at := strings.LastIndex(l.name, ", ")
		if at < 0 {
			return whole
		}
		head := l.name[:at]
		i := slices.IndexFunc(parts, func(p namedLines) bool { return p.name == head })
		if i < 0 {
			i = len(parts)
			parts = append(parts, namedLines{name: head})
		}
		of := *l
		of.name = l.name[at+2:]
		parts[i].lines = append(parts[i].lines, &of)
	}
	for _, p := range parts {
		if len(p.lines) > len(plotColors) || !slices.EqualFunc(p.lines, parts[0].lines, func(a, b *curveLine) bool { return a.name == b.name }) {
			return whole
		}
	}
	return parts
}

// newCanvas returns what a plot in one of report.PlotFormats is drawn on.
func newCanvas(format string, width, height vg.Length) (vg.CanvasWriterTo, error) {
	switch format {
	case "svg":
		return svgCanvas{vgsvg.New(width, height)}, nil
	case "png":
		return vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(144))}, nil
	}
	return nil, fmt.Errorf("plots are %s, not %q", strings.Join(report.PlotFormats, " or "), format)
}

// svgCanvas is an SVG whose texts have a font where there is no Liberation Sans, too.
type svgCanvas struct{ *vgsvg.Canvas }

func (c svgCanvas) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	if _, err := c.Canvas.WriteTo(&b); err != nil {
		return 0, err
	}
	n, err := w.Write(bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")))
	return int64(n), err
}

var power = regexp.MustCompile(`\^\d+`)

// raised returns a text with its exponents as superscripts: 2^20 as 2²⁰.
func raised(text string) string {
	return power.ReplaceAllStringFunc(text, func(s string) string {
		var b strings.Builder
		for _, digit := range s[1:] {
			b.WriteRune([]rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[digit-'0'])
		}
		return b.String()
	})
}

// labelled returns the ticks of from with other labels.
func labelled(from plot.Ticker, as func(string) string) plot.TickerFunc {
	return func(lo, hi float64) []plot.Tick {
		ticks := from.Ticks(lo, hi)
		for i := range ticks {
			ticks[i].Label = as(ticks[i].Label)
		}
		return ticks
	}
}

// round returns the nearest of 1, 2 and 5 times powers of ten, in the direction of to.
func round(v float64, to func(float64) float64) float64 {
	steps := []float64{1, 2, 5, 10}
	e := math.Floor(math.Log10(v))
	k, _ := slices.BinarySearch(steps, v/math.Pow(10, e))
	if k > 0 && to(0.5) == 0 && steps[k] > v/math.Pow(10, e) {
		k--
	}
	return steps[k] * math.Pow(10, e)
}

// computedOn names the devices of runs. A processor's has the number of cores.
func computedOn(m record.Machine, devices []string) string {
	var all []string
	for _, d := range devices {
		name := cmp.Or(d, m.CPU)
		if name == m.CPU {
			name = fmt.Sprintf("%s, %d cores", name, m.Cores)
		}
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return strings.Join(all, "; ")
}

// mostTicks is how many sizes an axis names.
const mostTicks = 12

// sizeTicks returns the sizes that were measured where there is room for them, or else
// powers of two.
func sizeTicks(runs []report.Run) plot.TickerFunc {
	var sizes []int
	for _, r := range runs {
		sizes = append(sizes, r.N)
	}
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	room := len(sizes) <= mostTicks
	for i := 1; i < len(sizes); i++ {
		room = room && sizes[i] >= 2*sizes[i-1]
	}
	if !room {
		return powerTicks
	}
	return func(_, _ float64) (ticks []plot.Tick) {
		for _, n := range sizes {
			ticks = append(ticks, plot.Tick{Value: float64(n), Label: units.FormatSize(n)})
		}
		return ticks
	}
}

// widthTicks returns the widths in bits that were measured; those that have no room beside
// others are not named.
func widthTicks(widths []int) plot.TickerFunc {
	slices.Sort(widths)
	widths = slices.Compact(widths)
	return func(lo, hi float64) (ticks []plot.Tick) {
		room, named := math.Pow(hi/lo, 1.0/mostTicks), 0.0
		for _, b := range widths {
			tick := plot.Tick{Value: float64(b)}
			if named == 0 || tick.Value >= named*room {
				tick.Label, named = strconv.Itoa(b), tick.Value
			}
			ticks = append(ticks, tick)
		}
		return ticks
	}
}

// powerTicks returns the powers of two of an axis, at most mostTicks.
func powerTicks(lo, hi float64) (ticks []plot.Tick) {
	first, last := int(math.Ceil(math.Log2(lo)-1e-9)), int(math.Floor(math.Log2(hi)+1e-9))
	for e, step := first, max(1, (last-first)/mostTicks+1); e <= last; e += step {
		ticks = append(ticks, plot.Tick{Value: math.Exp2(float64(e)), Label: fmt.Sprintf("2^%d", e)})
	}
	return ticks
}

// plainTicks returns ticks of numbers without a unit.
func plainTicks(lo, hi float64) []plot.Tick { return roundTicks(lo, hi, plainLabel) }

// plainLabel returns a round number, from a million on with a power of ten.
func plainLabel(v float64) string {
	if v < 1e6*(1-1e-9) {
		return fmt.Sprintf("%g", v)
	}
	e := math.Floor(math.Log10(v) + 1e-9)
	if k := math.Round(v / math.Pow(10, e)); k != 1 {
		return fmt.Sprintf("%g·10^%g", k, e)
	}
	return fmt.Sprintf("10^%g", e)
}

// timeTicks returns ticks of milliseconds.
func timeTicks(lo, hi float64) []plot.Tick { return roundTicks(lo, hi, timeLabel) }

// roundTicks returns 1, 2 and 5 times powers of ten.
func roundTicks(lo, hi float64, label func(float64) string) (ticks []plot.Tick) {
	wide := hi/lo > 1e4 // powers of ten are enough
	for e := math.Floor(math.Log10(lo)); e <= math.Log10(hi); e++ {
		for _, k := range []float64{1, 2, 5} {
			if v := k * math.Pow(10, e); v >= lo*(1-1e-9) && v <= hi*(1+1e-9) && (k == 1 || !wide) {
				ticks = append(ticks, plot.Tick{Value: v, Label: label(v)})
			}
		}
	}
	return ticks
}

// timeLabel returns a round number of milliseconds.
func timeLabel(ms float64) string {
	switch {
	case ms >= 999:
		return fmt.Sprintf("%.0f s", ms/1e3)
	case ms >= 0.999:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.3g µs", ms*1e3)
}

// curveLine is one line.
type curveLine struct {
	name string
	at   plotter.XYs // by x
	// ranges are the least and the greatest of what was measured, by x, where there are
	// several samples.
	ranges map[float64][2]float64
}

// Len, XY and YError make a line what error bars are drawn of.
func (l *curveLine) Len() int                { return len(l.at) }
func (l *curveLine) XY(i int) (x, y float64) { return l.at[i].X, l.at[i].Y }
func (l *curveLine) YError(i int) (lo, hi float64) {
	r, ok := l.ranges[l.at[i].X]
	if !ok {
		return 0, 0
	}
	return l.at[i].Y - r[0], r[1] - l.at[i].Y
}

// withRange adds to a line between what the samples lay at x.
func (l *curveLine) withRange(x, lo, hi float64) {
	if l.ranges == nil {
		l.ranges = map[float64][2]float64{}
	}
	l.ranges[x] = [2]float64{lo, hi}
}

// find returns the line of a name.
func find(lines []*curveLine, name string) *curveLine {
	i := slices.IndexFunc(lines, func(l *curveLine) bool { return l.name == name })
	if i < 0 {
		return nil
	}
	return lines[i]
}

// withPoint adds a point to the line of a name, which may be a new one.
func withPoint(lines []*curveLine, name string, x, y float64) []*curveLine {
	l := find(lines, name)
	if l == nil {
		l = &curveLine{name: name}
		lines = append(lines, l)
	}
	l.at = append(l.at, plotter.XY{X: x, Y: y})
	slices.SortStableFunc(l.at, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
	return lines
}

// series sorts the runs into lines, in order of first appearance. common is what
// all of them have.
func series(runs []report.Run) (lines []*curveLine, common string) {
	common, parts := shared(runs, func(r report.Run) string { return r.Backend },
		func(r report.Run) string { return r.Curve },
		func(r report.Run) string { return r.Group },
		func(r report.Run) string { return r.Inputs[report.InputDistribution] },
		func(r report.Run) string { return r.Inputs[report.InputPath] },
	)
	for _, r := range runs {
		if r.N < 1 || r.Median <= 0 || r.IsPhase() {
			continue
		}
		lines = withPoint(lines, parts(r), float64(r.N), r.Median)
		if len(r.Samples) > 1 {
			find(lines, parts(r)).withRange(float64(r.N), slices.Min(r.Samples), slices.Max(r.Samples))
		}
	}
	return lines, common
}

// shared returns what all runs have of some properties, and what names a run: always the
// first property, and those of the others that differ.
func shared(runs []report.Run, always func(report.Run) string, others ...func(report.Run) string) (
	common string, name func(report.Run) string) {
	var same []string
	vary := []func(report.Run) string{always}
	for _, of := range others {
		if slices.ContainsFunc(runs, func(r report.Run) bool { return of(r) != of(runs[0]) }) {
			vary = append(vary, of)
		} else if len(runs) > 0 {
			same = append(same, of(runs[0]))
		}
	}
	return strings.Join(same, ", "), func(r report.Run) string {
		var parts []string
		for _, of := range vary {
			parts = append(parts, of(r))
		}
		return strings.Join(parts, " ")
	}
}
