package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
)

// CardTable is a record of kernels/internal/probe/tables.cu or register_cache.cu: one of the
// measurements of a card that seeds 000 and 001 have.
type CardTable struct {
	Machine struct {
		GPU     string `json:"gpu"`
		CUDA    string `json:"cuda_driver"`
		Toolkit string `json:"toolkit"`
	} `json:"machine"`
	Runs []CardRun `json:"runs"`
}

// CardRun is a point of a table: the rate of a method at a place of the axis.
type CardRun struct {
	Op      string  `json:"op"`    // "table"
	Table   string  `json:"table"` // which
	Method  string  `json:"method"`
	X       float64 `json:"x"`    // the place on the axis
	Rate    float64 `json:"gops"` // 10^9 operations a second
	Checked bool    `json:"checked"`
}

// tables are what there is, with the titles and axes.
var tables = map[string]struct{ title, x string }{
	"local":     {"Modular sums of operands in registers and in memory", "bits"},
	"layout":    {"Sums of numbers in memory, by how their words lie", "bits"},
	"code":      {"Sums and products in PTX and in C", "bits"},
	"grid":      {"Products by grid and block", "threads in all"},
	"karatsuba": {"Whole products, schoolbook and Karatsuba", "bits"},

	"coarsening": {"Stencils by the outputs of a thread", "outputs of a thread"},
	"reuse":      {"Stencils by their width, eight outputs a thread", "inputs on either side of an output"},
	"hybrid":     {"Products in GF(2^64) in slices, by where operands are", "bits"},
}

// ErrNoCardTable: a text is no record of a table. It is backend.ErrInvalidInput.
var ErrNoCardTable = fmt.Errorf("%w: no record of a table by kernels/internal/probe", backend.ErrInvalidInput)

// ReadCardTable reads a record; its error wraps ErrNoCardTable where it is none.
func ReadCardTable(r io.Reader) (CardTable, error) {
	var t CardTable
	if err := json.NewDecoder(r).Decode(&t); err != nil {
		return t, fmt.Errorf("%w: %w", ErrNoCardTable, err)
	}
	if len(t.Runs) == 0 {
		return t, fmt.Errorf("%w: it has no runs", ErrNoCardTable)
	}
	for i, run := range t.Runs {
		if _, ok := tables[run.Table]; run.Op != "table" || !ok || run.Table != t.Runs[0].Table ||
			run.Method == "" || run.X <= 0 || run.Rate <= 0 || !run.Checked {
			return t, fmt.Errorf("%w: run %d is %+v", ErrNoCardTable, i, run)
		}
	}
	return t, nil
}

// String returns the table's title and the card.
func (t CardTable) String() string {
	return fmt.Sprintf("%s\n%s, CUDA %s, compiled by %s", tables[t.Runs[0].Table].title, t.Machine.GPU, t.Machine.CUDA, t.Machine.Toolkit)
}

// Axis returns what the table's places are.
func (t CardTable) Axis() string { return tables[t.Runs[0].Table].x }

// WriteCardTable writes a row for each place of the axis and a column for each method, in
// 10^9 operations a second.
func WriteCardTable(w io.Writer, form table.Form, t CardTable) error {
	columns := []table.Column{{Head: t.Axis(), Keep: table.Never}}
	var methods []string // in order of first appearance
	var places []float64
	for _, run := range t.Runs {
		places = append(places, run.X)
		if !slices.Contains(methods, run.Method) {
			methods = append(methods, run.Method)
			columns = append(columns, table.Column{Head: run.Method, Keep: table.Never})
		}
	}
	slices.Sort(places)
	var rows [][]string
	for _, x := range slices.Compact(places) {
		row := []string{fmt.Sprintf("%.0f", x)}
		for _, method := range methods {
			cell := ""
			if i := slices.IndexFunc(t.Runs, func(r CardRun) bool { return r.Method == method && r.X == x }); i >= 0 {
				cell = fmt.Sprintf("%.4g", t.Runs[i].Rate)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return table.WriteWith(w, form, fmt.Sprintf("%s\n\n", t), columns, rows, "\n10^9 operations a second.\n")
}
