// Package table writes tables for people, as wide as there is room for.
package table

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"golang.org/x/term"
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

// Style is how a table is written.
type Style int

// The styles. Markdown and CSV have all columns.
const (
	Text Style = iota
	Markdown
	CSV // the table alone: no text above or below it
)

// Form says how a table is written. The zero value is text, as wide as it gets.
type Form struct {
	Style Style
	Width int // characters that text has room for, 0 for any number
}

// Fit returns text as wide as the terminal, or as wide as it gets if w is none.
func Fit(w io.Writer) Form {
	f, ok := w.(*os.File)
	if !ok {
		return Form{}
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return Form{}
	}
	return Form{Width: n}
}

// Write writes rows, a cell for each column, below their heads. Cells lie to the
// right of their columns, with right, or to the left. Columns of text that do not fit
// are left out and named below the table.
func Write(w io.Writer, form Form, right bool, columns []Column, rows [][]string) error {
	switch form.Style {
	case Markdown:
		return writeMarkdown(w, right, columns, rows)
	case CSV:
		return writeCSV(w, columns, rows)
	}
	stays := fit(form.Width, columns, rows)
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

// writeMarkdown writes a table as GitHub's Markdown has it.
func writeMarkdown(w io.Writer, right bool, columns []Column, rows [][]string) error {
	var b strings.Builder
	line := func(cell func(i int) string) {
		for i := range columns {
			b.WriteString("| " + strings.ReplaceAll(cell(i), "|", `\|`) + " ")
		}
		b.WriteString("|\n")
	}
	line(func(i int) string { return columns[i].Head })
	line(func(int) string {
		if right {
			return "---:"
		}
		return "---"
	})
	for _, r := range rows {
		line(func(i int) string { return r[i] })
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeCSV writes a table by RFC 4180, but for the ends of lines.
func writeCSV(w io.Writer, columns []Column, rows [][]string) error {
	heads := make([]string, len(columns))
	for i, c := range columns {
		heads[i] = c.Head
	}
	out := csv.NewWriter(w)
	return errors.Join(out.Write(heads), out.WriteAll(rows))
}

// WriteWith writes a table between texts that explain it, which CSV leaves out.
func WriteWith(w io.Writer, form Form, above string, columns []Column, rows [][]string, below string) error {
	if form.Style == CSV {
		return Write(w, form, true, columns, rows)
	}
	var b strings.Builder
	b.WriteString(above)
	if err := Write(&b, form, true, columns, rows); err != nil {
		return err
	}
	b.WriteString(below)
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
