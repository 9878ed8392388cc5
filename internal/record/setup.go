package record

import (
	"fmt"
	"io"

	"github.com/pippin-zk/pippin/internal/table"
)

// SetupRun is the timed set-ups of one circuit on one backend. Times are milliseconds.
type SetupRun struct {
	Op          string `json:"op"`      // "setup"
	System      string `json:"system"`  // groth16, plonk; groth16-phase1, groth16-phase2 of a ceremony
	Circuit     string `json:"circuit"` // of a ceremony the part: contribute, verify, ..
	Curve       string `json:"curve"`
	Constraints int    `json:"constraints"`
	Backend     string `json:"backend"`
	Version     string `json:"backend_version"`
	Device      string `json:"device"`

	Count   int       `json:"count"` // length of Samples
	Min     float64   `json:"min_ms"`
	Median  float64   `json:"median_ms"`
	Samples []float64 `json:"samples_ms"`
	Stock   float64   `json:"stock_ms,omitempty"` // gnark's, once

	// Verified is true only when gnark proved with every key, that of the run to warm up
	// included, and verified the proofs.
	Verified bool `json:"verified"`
	Refused  int  `json:"refused,omitempty"` // proofs that gnark did not accept
}

// WriteSetupTable writes the machine and a line for each run.
func WriteSetupTable(w io.Writer, form table.Form, r Record[SetupRun]) error {
	columns := []table.Column{
		{Head: "system", Keep: 6}, {Head: "circuit", Keep: table.Never}, {Head: "curve", Keep: 5}, {Head: "constraints", Keep: 4},
		{Head: "backend", Keep: 7}, {Head: "runs", Keep: 0}, {Head: "min ms", Keep: 1}, {Head: "median ms", Keep: table.Never},
		{Head: "gnark ms", Keep: 3}, {Head: "verified", Keep: 2},
	}
	var rows [][]string
	for _, run := range r.Runs {
		rows = append(rows, []string{run.System, run.Circuit, run.Curve, fmt.Sprint(run.Constraints), run.Backend, fmt.Sprint(run.Count),
			formatMillis(run.Min), formatMillis(run.Median), formatKnown(run.Stock), verdict(run.Verified)})
	}
	return table.WriteWith(w, form, fmt.Sprintf("%s\n\n", r.Machine), columns, rows,
		"\nTimes are of whole set-ups, from the constraint system to both keys in this process.\n"+r.Cut.note())
}
