package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteProveTable writes the machine and a line for each run.
func WriteProveTable(w io.Writer, m Machine, runs []ProveRun) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", m)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "circuit\tcurve\tconstraints\tbackend\tmerging\truns\tmin ms\tmedian ms\tgnark ms\tfaster\twithout solving\tsolve ms\tMSM ms\tFFT ms\tverified\t")
	for _, r := range runs {
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", r.Circuit, r.Curve, r.Constraints, r.Backend, r.Merge, r.Count,
			formatMillis(r.Min), formatMillis(r.Median), formatMillis(r.Stock), formatFactor(r.Speedup), formatFactor(r.SpeedupWithoutSolve),
			formatMillis(r.Solve), formatMillis(r.MSM), formatMillis(r.FFT), r.verdict())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	b.WriteString(`
Times are of whole proofs, from the witness on, keys loaded before; medians but for the minimum.
Solving and FFTs were timed alone. MSM is the time with an MSM on the backend, within the proofs.
`)
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
