package report

import (
	"fmt"
	"io"

	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/internal/units"
)

// TransformRun is the timed runs of one transform of vectors on one backend, in its memory.
// Times are milliseconds from the call until it is done.
type TransformRun struct {
	Op      string `json:"op"` // "ntt"
	Curve   string `json:"curve"`
	Order   string `json:"order"` // such as "natural to reversed, on a coset"
	N       int    `json:"n"`     // elements of a vector
	Batch   int    `json:"batch"` // vectors
	Backend string `json:"backend"`
	Version string `json:"backend_version"`
	Device  string `json:"device"`
	Seed    uint64 `json:"seed"`

	Count   int       `json:"count"` // length of Samples
	Min     float64   `json:"min_ms"`
	Median  float64   `json:"median_ms"`
	Samples []float64 `json:"samples_ms"`
	CPU     float64   `json:"cpu_ms"` // the CPU backend's shortest of three on all processors, which is gnark-crypto's

	Checked bool   `json:"checked"` // all elements are those of Oracle
	Oracle  string `json:"oracle,omitempty"`
}

// WriteTransformTable writes the machine and a line for each run.
func WriteTransformTable(w io.Writer, form table.Form, r record.Record[TransformRun]) error {
	columns := []table.Column{
		{Head: "transform", Keep: table.Never}, {Head: "curve", Keep: table.Never}, {Head: "elements", Keep: 5},
		{Head: "backend", Keep: 4}, {Head: "runs", Keep: 0}, {Head: "min ms", Keep: 1}, {Head: "median ms", Keep: table.Never},
		{Head: "CPU ms", Keep: 3}, {Head: "checked", Keep: 2},
	}
	var rows [][]string
	for _, run := range r.Runs {
		verdict := "-"
		if run.Checked {
			verdict = "right"
		}
		rows = append(rows, []string{run.Order, run.Curve, units.FormatSize(run.N), run.Backend, fmt.Sprint(run.Count),
			formatMillis(run.Min), formatMillis(run.Median), formatMillis(run.CPU), verdict})
	}
	return table.WriteWith(w, form, fmt.Sprintf("%s\n\n", r.Machine), columns, rows,
		"\nVectors are in the backend's memory. CPU ms is the CPU backend's shortest of three.\n"+cutNote(r.Cut))
}
