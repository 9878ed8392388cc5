package report

import (
	"fmt"
	"io"

	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/record"
)

// SetupRun is the timed set-ups of one circuit on one backend. gnark made a proof with every
// key, that of the run to warm up included.
type SetupRun struct {
	Series // Op is "setup"; System is groth16-phase1 or groth16-phase2 of a ceremony, whose Circuit is the part: contribute, verify, ..
}

// WriteSetupTable writes the machine and a line for each run.
func WriteSetupTable(w io.Writer, form table.Form, r record.Record[SetupRun]) error {
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
		"\nTimes are of whole set-ups, from the constraint system to both keys in this process.\n"+cutNote(r.Cut))
}
