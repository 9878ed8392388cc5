package report

import (
	"fmt"
	"io"

	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/internal/units"
)

// Op of a PeerRun.
const (
	OpPeer          = "peer"           // an MSM
	OpPeerTransform = "peer-transform" // a transform of a vector on the card
)

// Pippin is the library of runs that are pippin's own.
const Pippin = "pippin"

// PeerRun is the timed MSMs or transforms of one library on one input, pippin's among
// them. Times are milliseconds.
type PeerRun struct {
	Op      string `json:"op"`
	Library string `json:"library"`
	Commit  string `json:"commit,omitempty"` // of the library; pippin's is the machine's
	Flags   string `json:"flags,omitempty"`  // what it was built with
	Device  string `json:"device"`
	Curve   string `json:"curve"`
	Group   string `json:"group,omitempty"` // of an MSM
	Order   string `json:"order,omitempty"` // of a transform
	N       int    `json:"n"`
	// Multiples is how many multiples of each point were made beforehand, the point
	// included, where that was asked for; pippin chooses.
	Multiples int    `json:"multiples,omitempty"`
	Note      string `json:"note,omitempty"` // what the library's program said of itself
	Timed     string `json:"timed"`          // what is in the time

	Count   int       `json:"count"` // length of Samples
	Min     float64   `json:"min_ms"`
	Median  float64   `json:"median_ms"`
	Samples []float64 `json:"samples_ms"` // in the order taken

	Checked bool   `json:"checked"` // every answer was right
	Oracle  string `json:"oracle"`
	Wrong   int    `json:"wrong,omitempty"` // answers that were not
}

// work returns what libraries are compared in.
func (r *PeerRun) work() [4]string {
	return [4]string{r.Op, r.Curve, r.Group + r.Order, units.FormatSize(r.N)}
}

// WritePeersTable writes the machine and a line for each run, with how many times pippin's
// median it took.
func WritePeersTable(w io.Writer, form table.Form, r record.Record[PeerRun]) error {
	pippin := map[[4]string]float64{}
	for _, run := range r.Runs {
		if run.Library == Pippin {
			pippin[run.work()] = run.Median
		}
	}
	columns := []table.Column{
		{Head: "curve", Keep: table.Never}, {Head: "what", Keep: table.Never}, {Head: "n", Keep: table.Never},
		{Head: "library", Keep: table.Never}, {Head: "multiples", Keep: 2}, {Head: "runs", Keep: 0}, {Head: "min ms", Keep: 1},
		{Head: "median ms", Keep: table.Never}, {Head: "x pippin's", Keep: 4}, {Head: "checked", Keep: 3},
	}
	var rows [][]string
	for _, run := range r.Runs {
		what, multiples, times, verdict := "MSM "+run.Group, "-", "-", "yes"
		if run.Op == OpPeerTransform {
			what = run.Order
		}
		if run.Multiples > 0 {
			multiples = fmt.Sprint(run.Multiples)
		}
		if own := pippin[run.work()]; own > 0 {
			times = fmt.Sprintf("%.2f", run.Median/own)
		}
		if !run.Checked {
			verdict = fmt.Sprintf("%d wrong", run.Wrong)
		}
		rows = append(rows, []string{run.Curve, what, units.FormatSize(run.N), run.Library, multiples, fmt.Sprint(run.Count),
			formatMillis(run.Min), formatMillis(run.Median), times, verdict})
	}
	return table.WriteWith(w, form, fmt.Sprintf("%s\n\n", r.Machine), columns, rows, cutNote(r.Cut))
}
