// Command picture draws the panels of deploy/grafana/pippin.json with what a
// Prometheus has recorded, for documents and where there is no Grafana:
//
//	go run ./deploy/picture -prometheus http://127.0.0.1:9090 -last 5m -out dashboard.png
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// dashboard is what is needed of Grafana's model of one.
type dashboard struct {
	Panels []struct {
		Title, Type string
		GridPos     struct{ X, Y, W, H int }
		Field       struct{ Defaults struct{ Unit string } } `json:"fieldConfig"`
		Targets     []target
	}
}

type target struct {
	Expr   string
	Legend string `json:"legendFormat"`
}

// unitOf is what stands at an axis.
var unitOf = map[string]string{"reqps": "1/s", "s": "s", "bytes": "bytes", "percentunit": "share"}

func main() {
	at := flag.String("prometheus", "http://127.0.0.1:9090", "the Prometheus to ask")
	last := flag.Duration("last", 15*time.Minute, "how far back")
	step := flag.Duration("step", 5*time.Second, "time between two points")
	board := flag.String("dashboard", "deploy/grafana/pippin.json", "the dashboard")
	out := flag.String("out", "dashboard.png", "the picture")
	flag.Parse()
	if err := run(*at, *board, *out, *last, *step); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run(at, board, out string, last, step time.Duration) error {
	b, err := os.ReadFile(board)
	if err != nil {
		return err
	}
	var d dashboard
	if err := json.Unmarshal(b, &d); err != nil {
		return fmt.Errorf("%s: %w", board, err)
	}
	const cell = 44 // points a unit of the grid, of which 24 lie side by side
	rows := 0
	for _, p := range d.Panels {
		rows = max(rows, p.GridPos.Y+p.GridPos.H)
	}
	img := vgimg.PngCanvas{Canvas: vgimg.New(24*cell, vg.Length(rows)*cell*0.75)}
	all := draw.New(img)
	end := time.Now()
	for _, p := range d.Panels {
		pl := plot.New()
		pl.Title.Text = p.Title
		pl.Title.TextStyle.Font.Size, pl.Legend.TextStyle.Font.Size = 13, 8
		pl.Y.Label.Text, pl.Y.Min = unitOf[p.Field.Defaults.Unit], 0
		pl.X.Tick.Marker = plot.TimeTicks{Format: "15:04:05", Time: plot.UTCUnixTime, Ticker: ticks(p.GridPos.W)}
		pl.X.Min, pl.X.Max = float64(end.Add(-last).Unix()), float64(end.Unix())
		pl.Legend.Top, pl.Legend.Left = true, true
		pl.Add(plotter.NewGrid())
		drawn := 0
		for _, t := range p.Targets {
			series, err := query(at, t, end.Add(-last), end, step)
			if err != nil {
				return fmt.Errorf("%s: %w", p.Title, err)
			}
			for _, s := range series {
				for i, part := range s.parts {
					line, err := plotter.NewLine(part)
					if err != nil {
						return fmt.Errorf("%s: %w", p.Title, err)
					}
					line.Color, line.Width = plotutil.Color(drawn), 1.2
					line.Dashes = plotutil.Dashes(drawn / len(plotutil.DefaultColors))
					pl.Add(line)
					if i == 0 && s.name != "" {
						pl.Legend.Add(s.name, line)
					}
				}
				drawn++
			}
		}
		if pl.Y.Max *= 1.3; pl.Y.Max == 0 { // room for the legend
			pl.Y.Max = 1
		}
		if drawn == 0 {
			pl.Title.Text += " (nothing recorded)"
		}
		g := p.GridPos
		top := all.Max.Y - vg.Length(g.Y)*cell*0.75
		pl.Draw(draw.Crop(draw.Canvas{Canvas: all.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: vg.Length(g.X) * cell, Y: top - vg.Length(g.H)*cell*0.75},
			Max: vg.Point{X: vg.Length(g.X+g.W) * cell, Y: top},
		}}, 6, -6, 6, -6))
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	if _, err := img.WriteTo(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// ticks marks as many moments as a panel of a width has room for.
func ticks(width int) plot.Ticker {
	return plot.TickerFunc(func(low, high float64) (all []plot.Tick) {
		n := max(width/2, 2)
		for i := range n {
			v := low + (high-low)*float64(i)/float64(n-1)
			all = append(all, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'f', 0, 64)})
		}
		return all
	})
}

// series is one line of a panel.
type series struct {
	name  string
	parts []plotter.XYs // there is nothing between them
}

var label = regexp.MustCompile(`\{\{(\w+)\}\}`)

// query asks for what a target shows, with Grafana's variables as when all is
// shown.
func query(at string, t target, from, to time.Time, step time.Duration) (all []series, err error) {
	expr := strings.NewReplacer("$job", ".*", "$instance", ".*", "$__rate_interval", (4 * step).String()).Replace(t.Expr)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/api/v1/query_range?"+url.Values{
		"query": {expr}, "start": {strconv.FormatInt(from.Unix(), 10)}, "end": {strconv.FormatInt(to.Unix(), 10)}, "step": {step.String()},
	}.Encode(), nil)
	if err != nil {
		return nil, err
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	var answer struct {
		Error string
		Data  struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("%s: %s", expr, answer.Error)
	}
	for _, one := range answer.Data.Result {
		s := series{name: strings.TrimSpace(label.ReplaceAllStringFunc(t.Legend, func(l string) string {
			return one.Metric[label.FindStringSubmatch(l)[1]]
		}))}
		latest := math.Inf(-1)
		for _, v := range one.Values {
			when, isTime := v[0].(float64)
			text, isText := v[1].(string)
			value, err := strconv.ParseFloat(text, 64)
			if isTime && isText && err == nil && !math.IsNaN(value) && !math.IsInf(value, 0) {
				if when-latest > 1.5*step.Seconds() {
					s.parts = append(s.parts, nil)
				}
				s.parts[len(s.parts)-1] = append(s.parts[len(s.parts)-1], plotter.XY{X: when, Y: value})
				latest = when
			}
		}
		if len(s.parts) > 0 {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b series) int { return strings.Compare(a.name, b.name) })
	return all, nil
}
