package report

import (
	"fmt"
	"io"

	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/internal/units"
)

// PointRun is the timed runs of one step over points on one backend. Times are
// milliseconds.
type PointRun struct {
	Op      string `json:"op"` // "points"
	What    string `json:"what"`
	Curve   string `json:"curve"`
	Group   string `json:"group"`
	N       int    `json:"n"` // points
	Backend string `json:"backend"`
	Version string `json:"backend_version"`
	Device  string `json:"device"`
	Seed    uint64 `json:"seed"`

	Count   int       `json:"count"` // length of Samples
	Min     float64   `json:"min_ms"`
	Median  float64   `json:"median_ms"`
	Samples []float64 `json:"samples_ms"`
	Stock   float64   `json:"stock_ms,omitempty"` // gnark-crypto's on all processors of the machine, once

	Checked  bool   `json:"checked"`            // what was compared was right
	Compared int    `json:"compared,omitempty"` // points of the answer
	Oracle   string `json:"oracle,omitempty"`
}

// WritePointsTable writes the machine and a line for each run.
func WritePointsTable(w io.Writer, form table.Form, r record.Record[PointRun]) error {
	columns := []table.Column{
		{Head: "step", Keep: table.Never}, {Head: "curve", Keep: table.Never}, {Head: "group", Keep: 6}, {Head: "points", Keep: 5},
		{Head: "backend", Keep: 4}, {Head: "runs", Keep: 0}, {Head: "min ms", Keep: 1}, {Head: "median ms", Keep: table.Never},
		{Head: "gnark-crypto ms", Keep: 3}, {Head: "checked", Keep: 2},
	}
	var rows [][]string
	for _, run := range r.Runs {
		stock, verdict := "-", "-"
		if run.Stock > 0 {
			stock = formatMillis(run.Stock)
		}
		if run.Checked {
			verdict = fmt.Sprintf("%d right", run.Compared)
		}
		rows = append(rows, []string{run.What, run.Curve, run.Group, units.FormatSize(run.N), run.Backend, fmt.Sprint(run.Count),
			formatMillis(run.Min), formatMillis(run.Median), stock, verdict})
	}
	return table.WriteWith(w, form, fmt.Sprintf("%s\n\n", r.Machine), columns, rows,
		"\nPoints and scalars are in the backend's memory, encodings in the caller's.\n"+cutNote(r.Cut))
}
