package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/units"
)

// verifyFlags is the command line of msm verify.
type verifyFlags struct {
	size, curves, groups, backends string

	cases  int
	seed   uint64
	long   bool
	format string
}

func (a *App) verifyCommand() *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{
		Use:   "verify",
		Short: "Try edge and random cases and compare the answers with known ones",
		Long: `Try edge and random cases on every backend and compare each answer with the one
known from discrete logarithms, and tiny ones with double-and-add too.`,
		Args: NoArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.verify(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.backends, "backend", "cpu", "cpu, cuda, plugin:NAME, plugin:PATH"+Several)
	flags.StringVar(&f.curves, "curve", "all", Names(backend.Curves()))
	flags.StringVar(&f.groups, "group", "all", Names(backend.Groups()))
	flags.StringVar(&f.size, "size", "2^12", "most points of a case")
	flags.IntVar(&f.cases, "cases", 20, "random cases for every curve and group")
	flags.Uint64Var(&f.seed, "seed", 1, "chooses points, scalars and cases")
	flags.BoolVar(&f.long, "long", false, "also the sizes around every power of two, and every edge scalar alone")
	AddFormat(c, &f.format, Formats)
	Completes(c, "curve", backend.Curves(), "all")
	Completes(c, "group", backend.Groups(), "all")
	Completes(c, "backend", BackendNames)
	c.AddCommand(a.verifyNumbersCommand())
	return c
}

func (a *App) verify(ctx context.Context, f verifyFlags) error {
	if err := OneOf("format", f.format, Formats...); err != nil {
		return err
	}
	cfg := bench.VerifyConfig{Open: a.Opener(), Cases: f.cases, Seed: f.seed, Long: f.long}
	var err error
	if cfg.Backends, err = ParseBackends(f.backends); err != nil {
		return err
	}
	if cfg.Curves, err = ParseCurves(f.curves); err != nil {
		return err
	}
	if cfg.Groups, err = ParseGroups(f.groups); err != nil {
		return err
	}
	if cfg.Size, err = units.ParseSize(f.size); err != nil {
		return usageError{fmt.Errorf("--size: %w", err)}
	}
	if err := cfg.Validate(); err != nil {
		return usageError{err}
	}
	results, err := Watched(ctx, a, func(progress bench.Progress, note func(string)) ([]bench.Verified, error) {
		cfg.Progress, cfg.Note = progress, note
		return bench.Verify(ctx, cfg)
	})
	return errors.Join(err, a.deliverVerified(f.format, results))
}

// deliverVerified writes results, if there are any.
func (a *App) deliverVerified(format string, results []bench.Verified) error {
	if len(results) == 0 {
		return nil
	}
	table := func(w io.Writer) error { return writeVerified(w, results) }
	return TableOr(format, table, func(w io.Writer) error { return WriteJSON(w, results) })(a.Stdout)
}

// writeVerified writes a line for each kind of cases, and what failed below.
func writeVerified(w io.Writer, results []bench.Verified) error {
	columns := []table.Column{
		{Head: "backend", Keep: 3}, {Head: "curve", Keep: 2}, {Head: "group", Keep: 1}, {Head: "cases", Keep: table.Never},
		{Head: "answers", Keep: 0}, {Head: "verdict", Keep: table.Never},
	}
	var rows [][]string
	tried := 0
	for _, r := range results {
		verdict := "right"
		if r.Failed > 0 {
			verdict = fmt.Sprintf("%d FAILED", r.Failed)
		}
		tried += r.Tried
		rows = append(rows, []string{r.Backend, r.Curve, r.Group, r.Cases, fmt.Sprint(r.Tried), verdict})
	}
	if err := table.Write(w, table.Fit(w), false, columns, rows); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%d answers compared\n", tried)
	for _, r := range results {
		if r.Failed > 0 {
			fmt.Fprintf(w, "%s, %s %s, %s: %s\n", r.Backend, r.Curve, r.Group, r.Cases, strings.ReplaceAll(r.Failure, "\n", "; "))
		}
	}
	return nil
}
