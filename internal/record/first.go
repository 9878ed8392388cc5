package record

import (
	"fmt"
	"io"

	"github.com/pippin-zk/pippin/internal/table"
)

// FirstRun is the timed first proofs of a circuit on one backend, from a compressed proving
// key in a file. Times are milliseconds.
type FirstRun struct {
	Op          string `json:"op"`     // "cold"
	System      string `json:"system"` // groth16, plonk
	Circuit     string `json:"circuit"`
	Curve       string `json:"curve"`
	Constraints int    `json:"constraints"`
	Backend     string `json:"backend"`
	Version     string `json:"backend_version"`
	Device      string `json:"device"`

	Bytes   int64     `json:"key_bytes"` // of the file
	Count   int       `json:"count"`     // length of Samples
	Min     float64   `json:"min_ms"`
	Median  float64   `json:"median_ms"`
	Samples []float64 `json:"samples_ms"` // each with a prover of its own
	// The parts of a run, each the median: reading and checking the key, loading it, and
	// the first proof.
	Read  float64 `json:"read_ms"`
	Load  float64 `json:"load_ms"`
	Prove float64 `json:"prove_ms"`
	// Stock is gnark's, once: its ReadFrom, with its checks, and a proof.
	Stock     float64 `json:"stock_ms,omitempty"`
	StockRead float64 `json:"stock_read_ms,omitempty"`

	// Verified is true only when gnark accepted every proof.
	Verified bool `json:"verified"`
	Refused  int  `json:"refused,omitempty"`
}

// WriteFirstTable writes the machine and a line for each run.
func WriteFirstTable(w io.Writer, form table.Form, r Record[FirstRun]) error {
	columns := []table.Column{
		{Head: "system", Keep: 6}, {Head: "circuit", Keep: table.Never}, {Head: "curve", Keep: 5}, {Head: "constraints", Keep: 4},
		{Head: "backend", Keep: 7}, {Head: "runs", Keep: 0}, {Head: "min ms", Keep: 1}, {Head: "median ms", Keep: table.Never},
		{Head: "read ms", Keep: 3}, {Head: "load ms", Keep: 3}, {Head: "prove ms", Keep: 3}, {Head: "gnark ms", Keep: 3}, {Head: "verified", Keep: 2},
	}
	var rows [][]string
	for _, run := range r.Runs {
		rows = append(rows, []string{run.System, run.Circuit, run.Curve, fmt.Sprint(run.Constraints), run.Backend, fmt.Sprint(run.Count),
			formatMillis(run.Min), formatMillis(run.Median), formatMillis(run.Read), formatMillis(run.Load), formatMillis(run.Prove),
			formatKnown(run.Stock), verdict(run.Verified)})
	}
	return table.WriteWith(w, form, fmt.Sprintf("%s\n\n", r.Machine), columns, rows,
		"\nTimes are from opening the file of a compressed proving key, which is in the page cache, to the first proof with it. The constraint system and the witness are in memory.\n"+r.Cut.note())
}
