package bench

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// The plot's measures, in pixels.
const (
	plotWidth, plotHeight = 900, 560
	plotLeft, plotTop     = 80, 60
	plotRight, plotBottom = 260, 60 // the legend is to the right
	legendLine            = 20
)

// plotColors are told apart by people with any colour vision (Okabe and Ito);
// after the last they repeat with dashes.
var plotColors = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"}

// ErrNoRuns: there is nothing to draw.
var ErrNoRuns = errors.New("no runs to plot")

// WritePlot draws median time against size as SVG, both axes logarithmic. A
// line is one backend, and one curve, group, distribution and path where the
// runs have several.
func WritePlot(w io.Writer, m Machine, runs []Run) error {
	lines := series(runs)
	if len(lines) == 0 {
		return ErrNoRuns
	}
	p := newPlot(lines)
	p.axes(m)
	for i, l := range lines {
		p.line(i, l)
	}
	p.b.WriteString("</svg>\n")
	_, err := io.WriteString(w, p.b.String())
	return err
}

// curveLine is one line: sizes and medians.
type curveLine struct {
	name string
	at   []xy
}

type xy struct{ n, ms float64 }

// series sorts the runs into lines, in order of first appearance.
func series(runs []Run) []*curveLine {
	attributes := []func(Run) string{
		func(r Run) string { return r.Curve },
		func(r Run) string { return r.Group },
		func(r Run) string { return r.Distribution },
		func(r Run) string { return string(r.Path) },
	}
	vary := slices.DeleteFunc(attributes, func(of func(Run) string) bool {
		return !slices.ContainsFunc(runs, func(r Run) bool { return of(r) != of(runs[0]) })
	})
	var lines []*curveLine
	byName := map[string]*curveLine{}
	for _, r := range runs {
		if r.N < 1 || r.Median <= 0 {
			continue
		}
		parts := []string{r.Backend}
		for _, of := range vary {
			parts = append(parts, of(r))
		}
		name := strings.Join(parts, " ")
		l := byName[name]
		if l == nil {
			l = &curveLine{name: name}
			byName[name], lines = l, append(lines, l)
		}
		l.at = append(l.at, xy{float64(r.N), r.Median})
	}
	for _, l := range lines {
		slices.SortStableFunc(l.at, func(a, b xy) int { return cmp.Compare(a.n, b.n) })
	}
	return lines
}

type plot struct {
	b strings.Builder
	// Exponents at the ends of the axes: of 2 for sizes, of 10 for times.
	x0, x1, y0, y1 int
}

func newPlot(lines []*curveLine) *plot {
	p := &plot{x0: math.MaxInt, x1: math.MinInt, y0: math.MaxInt, y1: math.MinInt}
	for _, l := range lines {
		for _, q := range l.at {
			p.x0 = min(p.x0, bits.Len(uint(q.n))-1)
			p.x1 = max(p.x1, bits.Len(uint(q.n)-1))
			p.y0 = min(p.y0, int(math.Floor(math.Log10(q.ms))))
			p.y1 = max(p.y1, int(math.Ceil(math.Log10(q.ms))))
		}
	}
	p.x1, p.y1 = max(p.x1, p.x0+1), max(p.y1, p.y0+1)
	return p
}

func (p *plot) x(n float64) float64 {
	return plotLeft + (plotWidth-plotLeft-plotRight)*(math.Log2(n)-float64(p.x0))/float64(p.x1-p.x0)
}

func (p *plot) y(ms float64) float64 {
	return plotHeight - plotBottom - (plotHeight-plotTop-plotBottom)*(math.Log10(ms)-float64(p.y0))/float64(p.y1-p.y0)
}

func (p *plot) add(format string, a ...any) { fmt.Fprintf(&p.b, format+"\n", a...) }

func (p *plot) text(x, y float64, anchor, s string) {
	p.add(`<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, y, anchor, html.EscapeString(s))
}

func (p *plot) grid(x0, y0, x1, y1 float64, color string) {
	p.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`, x0, y0, x1, y1, color)
}

func (p *plot) axes(m Machine) {
	const right, bottom = plotWidth - plotRight, plotHeight - plotBottom
	p.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`,
		plotWidth, plotHeight, plotWidth, plotHeight)
	p.add(`<rect width="100%%" height="100%%" fill="white"/>`)
	p.text(plotLeft, 24, "start", "Multi-scalar multiplication, median time")
	p.text(plotLeft, 42, "start", fmt.Sprintf("%s, %d cores", m.CPU, m.Cores))
	for e := p.y0; e <= p.y1; e++ {
		ms := math.Pow10(e)
		p.grid(plotLeft, p.y(ms), right, p.y(ms), "#bbb")
		p.text(plotLeft-8, p.y(ms)+4, "end", timeLabel(e))
		for k := 2; e < p.y1 && k < 10; k++ {
			p.grid(plotLeft, p.y(ms*float64(k)), right, p.y(ms*float64(k)), "#eee")
		}
	}
	for e, step := p.x0, (p.x1-p.x0)/12+1; e <= p.x1; e += step {
		n := math.Exp2(float64(e))
		p.grid(p.x(n), plotTop, p.x(n), bottom, "#ddd")
		p.add(`<text x="%.1f" y="%d" text-anchor="middle">2<tspan dy="-5" font-size="9">%d</tspan></text>`, p.x(n), bottom+20, e)
	}
	p.text((plotLeft+right)/2, bottom+44, "middle", "points")
}

// timeLabel is 10^e milliseconds.
func timeLabel(e int) string {
	switch {
	case e >= 3:
		return fmt.Sprintf("%.0f s", math.Pow10(e-3))
	case e >= 0:
		return fmt.Sprintf("%.0f ms", math.Pow10(e))
	default:
		return fmt.Sprintf("%.0f µs", math.Pow10(e+3))
	}
}

func (p *plot) line(i int, l *curveLine) {
	color, dash := plotColors[i%len(plotColors)], ""
	if i >= len(plotColors) {
		dash = fmt.Sprintf(` stroke-dasharray="%d 3"`, 3*(i/len(plotColors)))
	}
	var points []string
	for _, q := range l.at {
		points = append(points, fmt.Sprintf("%.1f,%.1f", p.x(q.n), p.y(q.ms)))
		p.add(`<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%s: %s points, %s ms</title></circle>`,
			p.x(q.n), p.y(q.ms), color, html.EscapeString(l.name), FormatSize(int(q.n)), formatMillis(q.ms))
	}
	p.add(`<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`, strings.Join(points, " "), color, dash)
	const x = plotWidth - plotRight + 16
	y := float64(plotTop + legendLine*(i+1))
	p.add(`<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="%s" stroke-width="2"%s/>`, x, y-4, x+24, y-4, color, dash)
	p.text(x+32, y, "start", l.name)
}
