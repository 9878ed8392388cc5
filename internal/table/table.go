// Package table writes tables for people, as wide as there is room for.
package table

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Column is a column's head and how long it stays: where not all columns fit,
// those with the lowest Keep go first, of equal ones the last. Below 0 is never.
type Column struct {
	Head string
	Keep int
}

// Never has a column stay.
const Never = -1

// gap is the blanks between columns.
const gap = 2

// Write writes rows, a cell for each column, below their heads. Cells lie to the
// right of their columns, with right, or to the left. Columns that do not fit into
// width characters are left out and named below the table; 0 is as wide as it gets.
func Write(w io.Writer, width int, right bool, columns []Column, rows [][]string) error {
	stays := fit(width, columns, rows)
	var b strings.Builder
	var flags uint
	end := ""
	if right {
		flags, end = tabwriter.AlignRight, "\t"
	}
	t := tabwriter.NewWriter(&b, 0, 0, gap, ' ', flags)
	line := func(cell func(i int) string) {
		var cells []string
		for i := range columns {
			if stays[i] {
				cells = append(cells, cell(i))
			}
		}
		fmt.Fprintln(t, strings.Join(cells, "\t")+end)
	}
	line(func(i int) string { return columns[i].Head })
	for _, r := range rows {
		line(func(i int) string { return r[i] })
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var left []string
	for i, c := range columns {
		if !stays[i] {
			left = append(left, c.Head)
		}
	}
	if len(left) > 0 {
		fmt.Fprintf(&b, "No room for: %s. Files and pipes get them.\n", strings.Join(left, ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// fit returns which columns stay.
func fit(width int, columns []Column, rows [][]string) []bool {
	stays, wide, total := make([]bool, len(columns)), make([]int, len(columns)), 0
	for i, c := range columns {
		stays[i], wide[i] = true, utf8.RuneCountInString(c.Head)
		for _, r := range rows {
			wide[i] = max(wide[i], utf8.RuneCountInString(r[i]))
		}
		wide[i] += gap
		total += wide[i]
	}
	for width > 0 && total > width {
		least := -1
		for i, c := range columns {
			if stays[i] && c.Keep >= 0 && (least < 0 || c.Keep <= columns[least].Keep) {
				least = i
			}
		}
		if least < 0 {
			break
		}
		stays[least], total = false, total-wide[least]
	}
	return stays
}
