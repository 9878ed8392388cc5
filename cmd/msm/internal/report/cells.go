package report

import (
	"fmt"
	"io"

	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/record"
)

// CellRun is the timed runs of one call that computes EIP-7594's cells and proofs of some
// blobs on one backend. Times are milliseconds.
type CellRun struct {
	Op      string `json:"op"` // "cells"
	Blobs   int    `json:"blobs"`
	Backend string `json:"backend"`
	Version string `json:"backend_version"`
	Device  string `json:"device"`
	Seed    uint64 `json:"seed"`

	Count   int       `json:"count"` // length of Samples
	Min     float64   `json:"min_ms"`
	Median  float64   `json:"median_ms"` // of all blobs together
	Samples []float64 `json:"samples_ms"`
	Load    float64   `json:"load_ms"` // making the tables and loading them
	// Parts are what the engine's phases and the steps on a device took, where that was
	// measured: programs have the steps within them, and timing these delays a run a little.
	Parts []Part  `json:"parts,omitempty"`
	Stock float64 `json:"stock_ms"` // go-eth-kzg's, of the same blobs on all processors of the machine, once

	Checked  bool   `json:"checked"`            // every cell and proof was go-eth-kzg's
	Compared int    `json:"compared,omitempty"` // blobs
	Oracle   string `json:"oracle,omitempty"`
}

// Part is the median of a part of a run, in milliseconds.
type Part struct {
	Name   string  `json:"name"`
	Median float64 `json:"median_ms"`
}

// WriteCellsTable writes the machine and a line for each run.
func WriteCellsTable(w io.Writer, form table.Form, r record.Record[CellRun]) error {
	columns := []table.Column{
		{Head: "blobs", Keep: table.Never}, {Head: "backend", Keep: 4}, {Head: "runs", Keep: 0}, {Head: "min ms", Keep: 1},
		{Head: "median ms", Keep: table.Never}, {Head: "ms a blob", Keep: 5}, {Head: "go-eth-kzg ms", Keep: 3}, {Head: "checked", Keep: 2},
	}
	var rows [][]string
	for _, run := range r.Runs {
		verdict := "-"
		if run.Checked {
			verdict = fmt.Sprintf("%d right", run.Compared)
		}
		rows = append(rows, []string{fmt.Sprint(run.Blobs), run.Backend, fmt.Sprint(run.Count), formatMillis(run.Min), formatMillis(run.Median),
			formatMillis(run.Median / float64(run.Blobs)), formatMillis(run.Stock), verdict})
	}
	note := "\nBlobs, cells and proofs are bytes in the caller's memory; tables are loaded before.\n"
	for _, run := range r.Runs {
		for i, p := range run.Parts {
			if i == 0 {
				note += fmt.Sprintf("Parts of %d blobs on %s, ms:", run.Blobs, run.Backend)
			}
			note += fmt.Sprintf(" %s %s", p.Name, formatMillis(p.Median))
		}
		if len(run.Parts) > 0 {
			note += "\n"
		}
	}
	return table.WriteWith(w, form, fmt.Sprintf("%s\n\n", r.Machine), columns, rows, note+cutNote(r.Cut))
}
