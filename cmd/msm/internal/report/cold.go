package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/record"
)

// ColdRun is the first proofs of a circuit on one backend with a proving key in a file, each
// by a prover of its own.
type ColdRun struct {
	Series       // Op is "cold"
	Bytes  int64 `json:"key_bytes"` // of the file

	// The parts of a run, each the median. Start, Constrained and Open are those of a run
	// from the program's start on.
	Start       float64 `json:"start_ms,omitempty"`       // from the program's initialisation to its work
	Constrained float64 `json:"read_system_ms,omitempty"` // the constraint system's file
	Open        float64 `json:"open_ms,omitempty"`        // the backend, which may be a process
	Read        float64 `json:"read_ms"`                  // the key, which is checked
	Load        float64 `json:"load_ms"`                  // into the backend
	Prove       float64 `json:"prove_ms"`
	// Next is the second proof, which is not part of the run.
	Next float64 `json:"next_ms,omitempty"`
	// StockRead is gnark's ReadFrom, with its checks: a part of Stock.
	StockRead float64 `json:"stock_read_ms,omitempty"`
}

// WriteColdTable writes the machine and a line for each run.
func WriteColdTable(w io.Writer, form table.Form, r record.Record[ColdRun]) error {
	columns := []table.Column{
		{Head: "system", Keep: 6}, {Head: "circuit", Keep: table.Never}, {Head: "curve", Keep: 5}, {Head: "constraints", Keep: 4},
		{Head: "backend", Keep: 7}, {Head: "runs", Keep: 0}, {Head: "min ms", Keep: 1}, {Head: "median ms", Keep: table.Never},
	}
	started := slices.ContainsFunc(r.Runs, func(run ColdRun) bool { return run.Start > 0 })
	if started {
		columns = append(columns, table.Column{Head: "start ms", Keep: 1}, table.Column{Head: "system ms", Keep: 3}, table.Column{Head: "open ms", Keep: 3})
	}
	columns = append(columns, table.Column{Head: "read ms", Keep: 3}, table.Column{Head: "load ms", Keep: 3}, table.Column{Head: "prove ms", Keep: 3},
		table.Column{Head: "next ms", Keep: 2}, table.Column{Head: "gnark ms", Keep: 3}, table.Column{Head: "verified", Keep: 2})
	var rows [][]string
	for _, run := range r.Runs {
		row := []string{run.System, run.Circuit, run.Curve, fmt.Sprint(run.Constraints), run.Backend, fmt.Sprint(run.Count), formatMillis(run.Min), formatMillis(run.Median)}
		if started {
			row = append(row, formatKnown(run.Start), formatKnown(run.Constrained), formatKnown(run.Open))
		}
		rows = append(rows, append(row, formatMillis(run.Read), formatMillis(run.Load), formatMillis(run.Prove), formatKnown(run.Next), formatKnown(run.Stock), verdict(run.Verified)))
	}
	note := "Times are from opening the file of a compressed proving key, which is in the page cache, to the first proof with it. The constraint system and the witness are in memory."
	if started {
		note = "Times are from the program's initialisation to its first proof: reading the constraint system from its file, opening the backend, reading and checking the proving key, loading it, and the proof."
	}
	return table.WriteWith(w, form, fmt.Sprintf("%s\n\n", r.Machine), columns, rows, "\n"+note+" The next proof is not in them.\n"+cutNote(r.Cut))
}
