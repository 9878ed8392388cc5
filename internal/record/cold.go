package record

import (
	"fmt"
	"io"

	"github.com/pippin-zk/pippin/internal/table"
)

// ColdRun is the way from a program's start to its first proof. Times are milliseconds.
type ColdRun struct {
	Op          string `json:"op"`     // "cold"
	System      string `json:"system"` // groth16, plonk
	Circuit     string `json:"circuit"`
	Curve       string `json:"curve"`
	Constraints int    `json:"constraints"`
	Backend     string `json:"backend"`
	Version     string `json:"backend_version"`
	Device      string `json:"device"`

	Start       float64 `json:"start_ms"`       // from the program's initialisation to its work
	Constrained float64 `json:"read_system_ms"` // the constraint system's file
	Key         float64 `json:"read_key_ms"`    // the proving key's
	Open        float64 `json:"open_ms"`        // the backend, which may be a process
	Load        float64 `json:"load_key_ms"`    // into the backend
	Proof       float64 `json:"proof_ms"`
	First       float64 `json:"first_ms"` // all of the above
	// Next is the second proof.
	Next float64 `json:"next_ms"`

	Verified bool `json:"verified"` // both proofs, by gnark
}

// WriteColdTable writes the machine and a line for each run.
func WriteColdTable(w io.Writer, form table.Form, r Record[ColdRun]) error {
	columns := []table.Column{
		{Head: "system", Keep: 6}, {Head: "circuit", Keep: table.Never}, {Head: "curve", Keep: 5}, {Head: "constraints", Keep: 4}, {Head: "backend", Keep: 7},
		{Head: "start ms", Keep: 1}, {Head: "system ms", Keep: 3}, {Head: "key ms", Keep: 3}, {Head: "open ms", Keep: 3}, {Head: "load ms", Keep: 3}, {Head: "proof ms", Keep: 3},
		{Head: "first ms", Keep: table.Never}, {Head: "next ms", Keep: 2}, {Head: "verified", Keep: 2},
	}
	var rows [][]string
	for _, run := range r.Runs {
		rows = append(rows, []string{run.System, run.Circuit, run.Curve, fmt.Sprint(run.Constraints), run.Backend,
			formatMillis(run.Start), formatMillis(run.Constrained), formatMillis(run.Key), formatMillis(run.Open), formatMillis(run.Load), formatMillis(run.Proof),
			formatMillis(run.First), formatMillis(run.Next), verdict(run.Verified)})
	}
	return table.WriteWith(w, form, fmt.Sprintf("%s\n\n", r.Machine), columns, rows, `
"first ms" is from the program's initialisation to its first proof: reading the constraint system and the proving key from files, which are not compared with their digests, opening the backend, loading the key, and the proof. "next ms" is the second proof.
`+r.Cut.note())
}
