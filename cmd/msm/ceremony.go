package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/record"
)

// ceremonyFlags is the command line of msm bench ceremony.
type ceremonyFlags struct {
	sizes, backends string

	count  int
	stock  bool
	format string
	out    string
	commit string
}

func (a *app) benchCeremonyCommand() *cobra.Command {
	var f ceremonyFlags
	c := &cobra.Command{
		Use:   "ceremony",
		Short: "Time the parts of a ceremony for Groth16's keys (gnark's mpcsetup)",
		Long: `Time the parts of a ceremony for Groth16's keys on BN254, phases 1 and 2: contributions, the
way through a file, verifications, seals, and the beginning for a circuit of squares. With
the keys gnark makes a proof and verifies it, outside of the time.`,
		Example: `  msm bench ceremony --size 2^12 --stock
  msm bench ceremony --size 2^20 --backend cuda --count 3 --format json --out FILE`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.benchCeremony(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.sizes, "size", "2^12", "sizes of the domain, powers of two"+several)
	flags.IntVar(&f.count, "count", report.Enough, "timed runs, after one to warm up")
	flags.BoolVar(&f.stock, "stock", false, "time gnark's own as well, once")
	flags.StringVar(&f.backends, "backend", "cpu", "cpu, cuda, plugin:NAME, plugin:PATH"+several)
	addFormat(c, &f.format, reports)
	flags.StringVar(&f.out, "out", "", "file for the result instead of stdout, which then has the table")
	flags.StringVar(&f.commit, "commit", "", "pippin's commit for the record, when the program does not know it (as under go run)")
	completes(c, "backend", backendNames)
	return c
}

func (a *app) benchCeremony(ctx context.Context, f ceremonyFlags) error {
	if err := oneOf("format", f.format, reports...); err != nil {
		return err
	}
	cfg := bench.CeremonyConfig{Open: a.opener(), Count: f.count, Stock: f.stock}
	var err error
	if cfg.Sizes, err = parseSizes(f.sizes); err != nil {
		return err
	}
	if cfg.Backends, err = parseBackends(f.backends); err != nil {
		return err
	}
	if err := cfg.Validate(); err != nil {
		return usageError{err}
	}
	return recorded(ctx, a, destination{f.format, f.out, "", f.commit}, func(progress bench.Progress, note func(string)) ([]report.SetupRun, []record.BackendInfo, error) {
		cfg.Progress, cfg.Note = progress, note
		return bench.Ceremony(ctx, cfg)
	}, report.WriteSetupTable, nil)
}
