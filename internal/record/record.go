package record

import (
	"encoding/json"
	"io"
)

// Record is what one measurement leaves behind: the machine and its runs. R
// is a struct with a field "op", which names the operation.
type Record[R any] struct {
	// Format is how the runs are written: 2 is that of the command msm. 0 is a format of the
	// measurement's own, or format 1 of the command, whose operations had fields of their own.
	Format  int     `json:"format,omitempty"`
	Machine Machine `json:"machine"`
	// Cut is what ended the measurement before everything asked for was measured.
	Cut  Cut `json:"cut,omitempty"`
	Runs []R `json:"runs"`
}

// Cut is why a record is cut short; "" when it is not.
type Cut string

// What ends a measurement early.
const (
	CutByInterrupt Cut = "interrupt"
	CutByError     Cut = "error"
)

// WriteJSON writes the record for people and programs, indented.
func (r Record[R]) WriteJSON(w io.Writer) error {
	if r.Runs == nil {
		r.Runs = []R{}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
