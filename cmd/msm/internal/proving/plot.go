package proving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report/plots"
	"github.com/pippin-zk/pippin/internal/units"
)

// plotFlags is the command line of msm bench plot.
type plotFlags struct {
	curve, group, from, plot string
	proofs, parts            bool
}

func (a app) plotCommand(c *cobra.Command) {
	var f plotFlags
	c.Long = `Draw points a second against size, for the MSMs of one group in records of msm bench
on one device: medians of uniform scalars, which plugins find in shared memory. A record
of other libraries' times ("op": "peer") adds a line for each.

With --proofs it draws how many times as fast as gnark's prover the proofs are in records
of msm bench prove, and with --parts what was done when in the proof of a record of msm
bench trace.`
	c.Example = `  msm bench plot --curve bn254 --plot bn254.svg record.json
  msm bench plot --curve bls12-381 --group g2 --from 2^20 --plot g2.png \
    bench/results/h200/msm-g2.json bench/results/h200/peers.json
  msm bench plot --proofs --plot proofs.svg prove-groth16.json prove-plonk.json
  msm bench plot --parts --plot parts.svg parts.json`
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cli.Usage(fmt.Errorf("no record is named, see %s --help", c.CommandPath()))
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, args []string) error { return a.plotRecords(c.Context(), f, args) }
	flags := c.Flags()
	flags.StringVar(&f.curve, "curve", "bn254", "one of them")
	flags.StringVar(&f.group, "group", "g1", "one of them")
	flags.StringVar(&f.from, "from", "1", "fewest points that are drawn")
	flags.BoolVar(&f.proofs, "proofs", false, "draw proofs beside gnark's, in place of MSMs")
	flags.BoolVar(&f.parts, "parts", false, "draw the parts of one proof, in place of MSMs")
	flags.StringVar(&f.plot, "plot", "", "file for the plot, .svg or .png, instead of stdout")
	cli.Completes(c, "curve", backend.Curves())
	cli.Completes(c, "group", backend.Groups())
}

func (a app) plotRecords(ctx context.Context, f plotFlags, records []string) error {
	curves, err := cli.ParseCurves(f.curve)
	if err != nil {
		return err
	}
	groups, err := cli.ParseGroups(f.group)
	if err != nil {
		return err
	}
	if len(curves) != 1 || len(groups) != 1 {
		return cli.Usage(errors.New("a plot is of one --curve and one --group"))
	}
	if f.proofs && f.parts || f.parts && len(records) > 1 {
		return cli.Usage(errors.New("--parts draws one record, and nothing else"))
	}
	from, err := units.ParseSize(f.from)
	if err != nil {
		return cli.Usage(fmt.Errorf("--from: %w", err))
	}
	var read []io.Reader
	for _, path := range records {
		file, err := os.Open(path)
		if err != nil {
			return cli.Usage(err)
		}
		defer file.Close() // only read
		read = append(read, file)
	}
	_, out, err := cli.CreateOutputs(ctx, "", f.plot)
	if err != nil {
		return err
	}
	defer out.Close()
	draw := func(w io.Writer) error {
		if f.parts {
			return plots.PlotParts(w, cli.PlotFormat(f.plot), read[0])
		}
		if f.proofs {
			return plots.PlotProofs(w, cli.PlotFormat(f.plot), read...)
		}
		return plots.PlotRates(w, cli.PlotFormat(f.plot), plots.Rates{Curve: curves[0], Group: groups[0], From: from}, read...)
	}
	if out == nil {
		err = draw(a.Stdout)
	} else {
		err = out.Write(draw)
	}
	if errors.Is(err, backend.ErrInvalidInput) || errors.Is(err, plots.ErrNoRuns) {
		return cli.Usage(err)
	}
	return err
}
