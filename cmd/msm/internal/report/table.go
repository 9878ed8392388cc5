package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/internal/units"
)

// Sheet says how runs of an operation are shown as a table: what was measured, the times,
// figures, and what all tables end with.
type Sheet struct {
	// Before and After are the columns on either side of the times.
	Before, After []Column
	// Note is what is written below, and Notes what depends on the runs.
	Note  string
	Notes func([]Run) string
}

// Column is a column of a table: its head, how long it stays where there is not room for all
// (table.Column.Keep), and what it says of a run; "" and NoFigure are nothing.
type Column struct {
	Head string
	Keep int
	Cell func(*Run) string
	// Always has a column stay that says nothing of any run.
	Always bool
	// Of makes Cell of all runs, where it depends on others.
	Of func([]Run) func(*Run) string
}

// Stays is the Keep of a column that always stays.
const Stays = table.Never

// NoFigure is the cell of a figure that is not known.
const NoFigure = "-"

// Write writes the machine and a line for each run. Columns that say nothing of any run are
// left out.
func (s Sheet) Write(w io.Writer, form table.Form, r record.Record[Run]) error {
	var columns []table.Column
	rows := make([][]string, len(r.Runs))
	for _, c := range slices.Concat(s.Before, columnsTimes(), s.After, []Column{columnPhase(), columnAgainst(), columnChecked()}) {
		cell := c.Cell
		if c.Of != nil {
			cell = c.Of(r.Runs)
		}
		cells := make([]string, len(r.Runs))
		says := c.Always
		for i := range r.Runs {
			cells[i] = cell(&r.Runs[i])
			says = says || cells[i] != "" && cells[i] != NoFigure
		}
		if !says {
			continue
		}
		columns = append(columns, table.Column{Head: c.Head, Keep: c.Keep})
		for i := range rows {
			rows[i] = append(rows[i], cells[i])
		}
	}
	below := "\n" + s.Note
	if s.Notes != nil {
		below += s.Notes(r.Runs)
	}
	below += "\nSpread: half of a row's times are nearer to the median. max ms is the slowest.\n"
	return table.WriteWith(w, form, fmt.Sprintf("%s\n\n", r.Machine), columns, rows, below+noiseNote(r.Runs)+cutNote(r.Cut))
}

// Text returns a column of texts.
func Text(head string, keep int, of func(*Run) string) Column {
	return Column{Head: head, Keep: keep, Cell: of, Always: true}
}

// ColumnWhat returns a column of which of an operation's it is.
func ColumnWhat(head string, keep int) Column {
	return Text(head, keep, func(r *Run) string { return r.What })
}

// ColumnCurve returns the column of curves.
func ColumnCurve(keep int) Column {
	return Text("curve", keep, func(r *Run) string { return r.Curve })
}

// ColumnGroup returns the column of groups.
func ColumnGroup(keep int) Column {
	return Text("group", keep, func(r *Run) string { return r.Group })
}

// ColumnBackend returns the column of backends.
func ColumnBackend(keep int) Column {
	return Text("backend", keep, func(r *Run) string { return r.Backend })
}

// ColumnN returns a column of how many there were.
func ColumnN(head string, keep int) Column {
	return Text(head, keep, func(r *Run) string { return units.FormatSize(r.N) })
}

// ColumnInput returns a column of an input.
func ColumnInput(head string, keep int, name string) Column {
	return Column{Head: head, Keep: keep, Cell: func(r *Run) string { return r.Inputs[name] }}
}

// ColumnSize returns a column of a size.
func ColumnSize(head string, keep int, name string) Column {
	return Column{Head: head, Keep: keep, Cell: func(r *Run) string {
		if r.Sizes[name] == 0 {
			return NoFigure
		}
		return strconv.Itoa(r.Sizes[name])
	}}
}

// ColumnMillis returns a column of a figure in milliseconds.
func ColumnMillis(head string, keep int, name string) Column {
	return Column{Head: head, Keep: keep, Cell: func(r *Run) string { return formatKnown(r.Value(name)) }}
}

// ColumnFigure returns a column of another figure, such as fmt.Sprintf formats it.
func ColumnFigure(head string, keep int, name, format string) Column {
	return Column{Head: head, Keep: keep, Cell: func(r *Run) string {
		if r.Value(name) == 0 {
			return NoFigure
		}
		return fmt.Sprintf(format, r.Value(name))
	}}
}

// columnsTimes returns the columns of a run's times, the slowest among them.
func columnsTimes() []Column {
	return []Column{
		Text("runs", 0, func(r *Run) string { return strconv.Itoa(r.Count) }),
		Text("min ms", 1, func(r *Run) string { return formatKnown(r.Min) }),
		Text("median ms", Stays, func(r *Run) string { return formatKnown(r.Median) }),
		Text("max ms", 2, func(r *Run) string { return formatKnown(r.Max) }),
		Text("spread", 1, func(r *Run) string { return fmt.Sprintf("%.1f %%", 100*r.Spread) }),
	}
}

// columnChecked returns the column of whether answers were right.
func columnChecked() Column {
	return Text("checked", 6, func(r *Run) string {
		switch {
		case r.Wrong > 0:
			return "WRONG"
		case r.Checked && r.Compared > 0:
			return fmt.Sprintf("%d right", r.Compared)
		case r.Checked:
			return "yes"
		}
		return "no"
	})
}

// columnPhase returns the column of phases, where there are any.
func columnPhase() Column {
	return Column{Head: "phase", Keep: Stays, Of: func(runs []Run) func(*Run) string {
		any := slices.ContainsFunc(runs, func(r Run) bool { return r.IsPhase() })
		return func(r *Run) string {
			switch {
			case !any:
				return ""
			case r.IsPhase():
				return r.What
			}
			return "all"
		}
	}}
}

// IsPhase tells a run that is a phase of the one before.
func (r *Run) IsPhase() bool { return strings.HasSuffix(r.Op, PhaseOf) }

// columnAgainst returns the column that compares medians of one input with those of the first
// backend or path that computed it, where there are several.
func columnAgainst() Column {
	return Column{Head: "against first", Keep: 5, Of: func(runs []Run) func(*Run) string {
		first := map[string]*Run{}
		for i := range runs {
			if of := runs[i].Workload(); first[of] == nil {
				first[of] = &runs[i]
			}
		}
		return func(r *Run) string { return against(r, first[r.Workload()]) }
	}}
}

// against compares medians: "+2.1 %", or a factor where they are far apart.
func against(r, base *Run) string {
	if r.Name() == base.Name() {
		return NoFigure
	}
	ratio := r.Median / base.Median
	if ratio > 2 || ratio < 0.5 {
		return fmt.Sprintf("x %.3g", ratio)
	}
	return fmt.Sprintf("%+.1f %%", 100*(ratio-1))
}

// cutNote returns a line below a table, "" for what is whole.
func cutNote(c record.Cut) string {
	if c == "" {
		return ""
	}
	return fmt.Sprintf("\nCut short by an %s: not everything that was asked for is in it.\n", c)
}

// noisy is the spread from which on tables warn: on a machine with nothing else to do
// it is below 0.02.
const noisy = 0.05

// noiseNote warns below a table of runs whose samples are far apart. Phases are not counted.
func noiseNote(runs []Run) string {
	whole := slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return r.IsPhase() })
	n := 0
	for _, r := range whole {
		if r.Spread > noisy {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\nNoisy: %d of %d runs have a spread above %.0f %%. Was the machine doing something else? "+
		"Small differences mean nothing here.\n", n, len(whole), 100*noisy)
}

// formatKnown returns a dash where there is no such time.
func formatKnown(ms float64) string {
	if ms == 0 {
		return NoFigure
	}
	return FormatMillis(ms)
}

// FormatMillis keeps four significant digits, without an exponent.
func FormatMillis(ms float64) string {
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
