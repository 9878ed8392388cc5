package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/cmd/msm/internal/outfile"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
)

// CreateOutput calls outfile.Create for a file that a flag names.
func CreateOutput(ctx context.Context, path string) (*outfile.File, error) {
	o, err := outfile.Create(ctx, path)
	if err != nil && ctx.Err() == nil {
		return nil, usageError{err}
	}
	return o, err
}

// CreateOutputs calls createOutput for a result and for its plot, whose format the
// ending of its name says.
func CreateOutputs(ctx context.Context, out, plot string) (result, picture *outfile.File, err error) {
	if out != "" && plot != "" && outfile.Same(out, plot) {
		return nil, nil, usageError{fmt.Errorf("--out and --plot are the same file, %s", out)}
	}
	if err := OneOf("plot", PlotFormat(plot), report.PlotFormats...); err != nil {
		return nil, nil, fmt.Errorf("%w: the ending of %s says which", err, plot)
	}
	if result, err = CreateOutput(ctx, out); err != nil {
		return nil, nil, err
	}
	if picture, err = CreateOutput(ctx, plot); err != nil {
		return nil, nil, errors.Join(err, result.Close())
	}
	return result, picture, nil
}

// PlotFormat returns what the name of a plot's file ends with: SVG where that says
// nothing, as of a pipe.
func PlotFormat(path string) string {
	return cmp.Or(strings.ToLower(strings.TrimPrefix(filepath.Ext(path), ".")), "svg")
}

// deliver writes a result in its format to the file, and as a table to stdout;
// without a file in its format to stdout.
func (a *App) deliver(out *outfile.File, table, format func(io.Writer) error) error {
	if out == nil {
		return format(a.Stdout)
	}
	return errors.Join(table(a.Stdout), out.Write(format))
}

// TableOr returns the writer of the format, json or table.
func TableOr(format string, table, json func(io.Writer) error) func(io.Writer) error {
	if format == "json" {
		return json
	}
	return table
}

// formats are those of most commands, reports those of what is measured.
var (
	Formats = []string{"table", "json"}
	reports = []string{"table", "json", "markdown", "csv"}
)

// AddFormat adds the flag --format, table when it is not given.
func AddFormat(c *cobra.Command, format *string, choices []string) {
	c.Flags().StringVar(format, "format", "table", strings.Join(choices, ", "))
	Completes(c, "format", choices)
}

// reporter returns what writes a measurement as a table for people, and in the format
// that was asked for.
func reporter(format string, write func(io.Writer, table.Form) error, json func(io.Writer) error) (text, wanted func(io.Writer) error) {
	text = func(w io.Writer) error { return write(w, table.Fit(w)) }
	switch format {
	case "json":
		return text, json
	case "markdown":
		return text, func(w io.Writer) error { return write(w, table.Form{Style: table.Markdown}) }
	case "csv":
		return text, func(w io.Writer) error { return write(w, table.Form{Style: table.CSV}) }
	}
	return text, text
}

// WriteJSON writes v for people and programs.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
