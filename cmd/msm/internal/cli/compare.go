package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
)

func (a *App) compareCommand() *cobra.Command {
	var limit, format string
	c := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Compare two records, run by run, with significance",
		Long: `Compare the runs that two records of msm bench or msm bench prove, written with
--format json, have in common. With --limit the exit status is 1 when one of them
took significantly longer, by more than that.`,
		Example: `  msm bench compare before.json after.json
  msm bench compare before.json after.json --limit 3%`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError{fmt.Errorf("%d records, want two, see %s --help", len(args), c.CommandPath())}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.compare(args[0], args[1], limit, format) },
	}
	c.Flags().StringVar(&limit, "limit", "", "how much longer a run may take: 3%")
	AddFormat(c, &format, reports)
	return c
}

func (a *App) compare(old, new, limit, format string) error {
	if err := OneOf("format", format, reports...); err != nil {
		return err
	}
	most, err := parsePercent("limit", limit)
	if err != nil {
		return err
	}
	before, err := os.Open(old)
	if err != nil {
		return usageError{err}
	}
	defer before.Close()
	after, err := os.Open(new)
	if err != nil {
		return usageError{err}
	}
	defer after.Close()
	all, notes, err := report.Compare(before, after)
	for _, n := range notes {
		a.Note(n)
	}
	if errors.Is(err, backend.ErrInvalidInput) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	_, wanted := reporter(format, func(w io.Writer, form table.Form) error { return report.WriteDifferences(w, form, all) },
		func(w io.Writer) error { return WriteJSON(w, all) })
	err = wanted(a.Stdout)
	if limit == "" {
		return err
	}
	for _, d := range all {
		if d.Slower(most) {
			err = errors.Join(err, fmt.Errorf("slower by %.1f %%: %s", 100*(d.Ratio-1), d.What))
		}
	}
	return err
}

// parsePercent reads a share such as 3% or 0.5%; nothing is 0.
func parsePercent(flag, s string) (float64, error) {
	if s == "" {
		return 0, nil
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(s, "%")), 64)
	if err != nil || !(v > 0 && v < 1000) {
		return 0, usageError{fmt.Errorf("--%s %q: write a share such as 3%%", flag, s)}
	}
	return v / 100, nil
}
