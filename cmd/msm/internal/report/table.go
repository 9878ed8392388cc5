package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/internal/units"
)

// WriteTable writes the machine and a line for each run. Calls back to back
// have a column where there are any: the median of the time a call. Where several
// backends or paths computed the same MSM, the last column compares their
// medians with the first one's.
func WriteTable(w io.Writer, form table.Form, r record.Record[Run]) error {
	runs := r.Runs
	base := baselines(runs)
	inRows := slices.ContainsFunc(runs, func(r Run) bool { return r.BackToBack != nil })
	columns := []table.Column{
		{Head: "curve", Keep: 7}, {Head: "group", Keep: 4}, {Head: "n", Keep: table.Never}, {Head: "scalars", Keep: 5},
		{Head: "backend", Keep: 8}, {Head: "path", Keep: 3}, {Head: "runs", Keep: 0}, {Head: "min ms", Keep: 1},
		{Head: "median ms", Keep: table.Never}, {Head: "spread", Keep: 1}, {Head: "Mpoints/s", Keep: 2}, {Head: "checked", Keep: 6},
	}
	rows, spreads := make([][]string, len(runs)), make([]float64, 0, len(runs))
	for i, r := range runs {
		rate := "-"
		if r.Op != OpPhase {
			spreads, rate = append(spreads, r.Spread), fmt.Sprintf("%.3g", float64(r.N)/r.Median/1e3)
		}
		rows[i] = []string{r.Curve, r.Group, units.FormatSize(r.N), r.Distribution, r.Backend, string(r.Path), fmt.Sprint(r.Count),
			formatMillis(r.Min), formatMillis(r.Median), formatSpread(r.Spread), rate, r.verdict()}
	}
	add := func(head string, cell func(Run) string) {
		columns = append(columns, table.Column{Head: head, Keep: 5})
		for i, r := range runs {
			rows[i] = append(rows[i], cell(r))
		}
	}
	inPhases := slices.ContainsFunc(runs, func(r Run) bool { return r.Op == OpPhase })
	if inPhases {
		add("phase", func(r Run) string { return cmp.Or(r.Phase, "all") })
		columns[len(columns)-1].Keep = table.Never
	}
	if inRows {
		add("back to back ms", func(r Run) string {
			if r.BackToBack == nil {
				return "-"
			}
			return formatMillis(r.BackToBack.Median)
		})
	}
	if slices.ContainsFunc(runs, hasEnergy) {
		add("J a call", func(r Run) string {
			if r.BackToBack == nil || r.BackToBack.Energy == 0 {
				return "-"
			}
			return fmt.Sprintf("%.3g", r.BackToBack.Energy)
		})
	}
	if len(base) < len(runs) {
		add("against first", func(r Run) string { return against(r, base[keyOf(r)]) })
	}
	return table.WriteWith(w, form, fmt.Sprintf("%s\n\n", r.Machine), columns, rows, legend(runs, inRows, inPhases)+noiseNote(spreads)+cutNote(r.Cut))
}

// legend says what the numbers are.
func legend(runs []Run, inRows, inPhases bool) string {
	s := "\nTimes are " + EndToEnd + ": from scalars in host memory to the affine point, bases loaded before." +
		"\nSpread: the median distance from the median."
	plugin, checked := false, false
	for _, r := range runs {
		plugin = plugin || r.Measure == EndToEndPlugin
		checked = checked || r.Oracle != ""
	}
	if plugin {
		s += "\nOf plugins they include the way to the plugin's process and back."
	}
	if inPhases {
		s += "\nPhases: what the backend's devices took for each in the same calls, which timing them delays a little; what runs side by side counts as one of them."
	}
	if inRows {
		s += "\nBack to back: a call among many without a pause, or in a batch, so that what follows an answer, such as wiping, is in it."
	}
	if slices.ContainsFunc(runs, hasEnergy) {
		s += "\nJ a call: all that the backend's devices used meanwhile, whatever for, divided by the calls."
	}
	if checked {
		s += "\nChecked: every answer equals the one computed from the bases' " + Oracle + "."
	}
	return s + "\n"
}

func hasEnergy(r Run) bool { return r.BackToBack != nil && r.BackToBack.Energy > 0 }

// verdict returns what the table says of a run's answers.
func (r Run) verdict() string {
	switch {
	case r.Wrong > 0:
		return "WRONG"
	case r.Checked:
		return "yes"
	}
	return "no"
}

// workload identifies runs of the same MSM, or of one phase of it.
type workload struct {
	curve, group string
	n            int
	distribution string
	seed         uint64
	phase        string // "" is all of it
}

func keyOf(r Run) workload {
	return workload{r.Curve, r.Group, r.N, r.Distribution, r.Seed, r.Phase}
}

// baselines returns the first run of every workload.
func baselines(runs []Run) map[workload]Run {
	first := map[workload]Run{}
	for _, r := range runs {
		if _, ok := first[keyOf(r)]; !ok {
			first[keyOf(r)] = r
		}
	}
	return first
}

// against compares medians: "+2.1 %", or a factor where they are far apart.
func against(r, base Run) string {
	if r.Backend == base.Backend && r.Path == base.Path {
		return "-"
	}
	ratio := r.Median / base.Median
	if ratio > 2 || ratio < 0.5 {
		return fmt.Sprintf("x %.3g", ratio)
	}
	return fmt.Sprintf("%+.1f %%", 100*(ratio-1))
}

// formatMillis keeps four significant digits, without an exponent.
func formatMillis(ms float64) string {
	switch {
	case ms >= 1000:
		return fmt.Sprintf("%.0f", ms)
	case ms >= 100:
		return fmt.Sprintf("%.1f", ms)
	case ms >= 10:
		return fmt.Sprintf("%.2f", ms)
	}
	return fmt.Sprintf("%.3f", ms)
}
