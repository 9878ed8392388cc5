package bench

import (
	"fmt"
	"io"
	"strings"

	"github.com/pippin-zk/pippin/internal/table"
)

// WriteProveTable writes the machine and a line for each run, in width characters
// as WriteTable does.
func WriteProveTable(w io.Writer, width int, r Record[ProveRun]) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", r.Machine)
	columns := []table.Column{
		{Head: "system", Keep: 2}, {Head: "circuit", Keep: table.Never}, {Head: "curve", Keep: 7}, {Head: "constraints", Keep: 3}, {Head: "backend", Keep: 8},
		{Head: "merging", Keep: 2}, {Head: "runs", Keep: 0}, {Head: "min ms", Keep: 1}, {Head: "median ms", Keep: table.Never}, {Head: "spread", Keep: 1},
		{Head: "gnark ms", Keep: 9}, {Head: "faster", Keep: 9}, {Head: "without solving", Keep: 6}, {Head: "solve ms", Keep: 5}, {Head: "gnark's", Keep: 4}, {Head: "after it", Keep: 6},
		{Head: "MSM ms", Keep: 4}, {Head: "FFT ms", Keep: 4}, {Head: "in flight", Keep: 3}, {Head: "ms a proof", Keep: 3}, {Head: "verified", Keep: 9},
	}
	rows, spreads := make([][]string, len(r.Runs)), make([]float64, len(r.Runs))
	for i, r := range r.Runs {
		spreads[i] = r.Spread
		rows[i] = []string{string(r.Op), r.Circuit, r.Curve, fmt.Sprint(r.Constraints), r.Backend, string(r.Merge), fmt.Sprint(r.Count),
			formatMillis(r.Min), formatMillis(r.Median), formatSpread(r.Spread), formatMillis(r.Stock), formatFactor(r.Speedup), formatFactor(r.SpeedupWithoutSolve),
			formatKnown(r.OwnSolve), formatMillis(r.Solve), formatKnown(r.AfterSolve), formatMillis(r.MSM), formatKnown(r.FFT), formatInFlight(r.InFlight), formatKnown(r.PerProof), r.verdict()}
	}
	if err := table.Write(&b, width, true, columns, rows); err != nil {
		return err
	}
	b.WriteString(`
Times are of whole proofs, from the witness on, keys loaded before; medians but for the minimum; the spread is the median distance from the median.
"solve ms" is solving within the proofs, without the sums of commitments. gnark's solver and FFTs were timed alone. "after it" is from the end of the proof's own solving to the proof. MSM is the time with an MSM or a program over vectors on the backend, within the proofs.
"ms a proof" is a stream's time divided by its proofs, with as many "in flight" at a time.
`)
	b.WriteString(noiseNote(spreads) + r.Cut.note())
	_, err := io.WriteString(w, b.String())
	return err
}

func (r ProveRun) verdict() string {
	if r.Verified {
		return "yes"
	}
	return "NO"
}

// formatFactor is such as "x 3.14", or a dash for a factor that is not known.
func formatFactor(f float64) string {
	if f == 0 {
		return "-"
	}
	return fmt.Sprintf("x %.3g", f)
}

// formatInFlight is a dash where no stream was measured.
func formatInFlight(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// formatKnown is a dash where there is no such time.
func formatKnown(ms float64) string {
	if ms == 0 {
		return "-"
	}
	return formatMillis(ms)
}
