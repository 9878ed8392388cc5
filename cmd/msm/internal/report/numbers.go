package report

import (
	"fmt"
	"io"

	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/record"
)

// Where the operands of a NumberRun are when the clock starts, and its answers when
// it stops.
const (
	// Host is slices of the caller's: operands are written and answers read.
	Host = "host"
	// Resident is the backend's memory.
	Resident = "resident"
)

// NumberRun is the timed batches of one operation on one backend. Times are
// milliseconds.
type NumberRun struct {
	Op      string `json:"op"` // "numbers"
	Number  string `json:"number_op"`
	Bits    int    `json:"bits"`
	N       int    `json:"n"` // elements
	Backend string `json:"backend"`
	Version string `json:"backend_version"`
	Device  string `json:"device"`
	Where   string `json:"where"` // Host or Resident
	// Words is how many words of 32 bits a batch reads and writes at least.
	Words int `json:"words,omitempty"`
	// Steps is how many times a resident program has the operation; times are of one.
	Steps int    `json:"steps,omitempty"`
	Seed  uint64 `json:"seed"`

	Count   int       `json:"count"` // length of Samples
	Min     float64   `json:"min_ms"`
	Median  float64   `json:"median_ms"`
	Samples []float64 `json:"samples_ms"`

	Checked  bool   `json:"checked"`            // what was compared was right, in every run
	Compared int    `json:"compared,omitempty"` // elements of the answer
	Oracle   string `json:"oracle,omitempty"`
	Wrong    int    `json:"wrong,omitempty"` // runs
}

// Rate returns elements a second.
func (r *NumberRun) Rate() float64 { return float64(r.N) / r.Median * 1e3 }

// WriteNumbersTable writes the machine and a line for each run, in width characters;
// 0 is as wide as it gets.
func WriteNumbersTable(w io.Writer, form table.Form, r record.Record[NumberRun]) error {
	columns := []table.Column{
		{Head: "operation", Keep: table.Never}, {Head: "bits", Keep: table.Never}, {Head: "n", Keep: 6}, {Head: "backend", Keep: 8},
		{Head: "operands", Keep: 7}, {Head: "runs", Keep: 0}, {Head: "min ms", Keep: 1}, {Head: "median ms", Keep: table.Never},
		{Head: "a second", Keep: 5}, {Head: "GB/s", Keep: 0}, {Head: "checked", Keep: 4}, {Head: "against first", Keep: 3},
	}
	type key struct {
		op      string
		bits, n int
		where   string
	}
	first := map[key]float64{}
	var rows [][]string
	for _, run := range r.Runs {
		verdict := "-"
		switch {
		case run.Wrong > 0:
			verdict = fmt.Sprintf("%d WRONG", run.Wrong)
		case run.Checked:
			verdict = fmt.Sprintf("%d right", run.Compared)
		}
		k, against := key{run.Number, run.Bits, run.N, run.Where}, ""
		if median, ok := first[k]; ok {
			against = fmt.Sprintf("%.2f times", median/run.Median)
		} else {
			first[k] = run.Median
		}
		rows = append(rows, []string{run.Number, fmt.Sprint(run.Bits), fmt.Sprint(run.N), run.Backend, run.Where, fmt.Sprint(run.Count),
			formatMillis(run.Min), formatMillis(run.Median), fmt.Sprintf("%.4g", run.Rate()), fmt.Sprintf("%.4g", 4e-6*float64(run.Words)/run.Median), verdict, against})
	}
	return table.WriteWith(w, form, fmt.Sprintf("%s\n\n", r.Machine), columns, rows,
		"\nOperands: host, written before and answers read after, within the time; resident, in the backend's memory;\n"+
			"of a program with the operation several times the time is of one.\n"+
			"One modulus for all elements, exponents of the full width.\n"+cutNote(r.Cut))
}
