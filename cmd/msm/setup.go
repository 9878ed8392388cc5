package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/record"
)

func (a *app) benchSetupCommand() *cobra.Command {
	f := proveFlags{merge: string(report.MergeAuto)}
	c := &cobra.Command{
		Use:   "setup",
		Short: "Time how long the keys of circuits take to make on one or more backends",
		Long: `Time Groth16 or PLONK set-ups by pippin on every backend, from the constraint system to
both keys. With every key gnark makes a proof and verifies it, outside of the time. The
KZG setup that PLONK needs is made once, before the clock starts. No key is kept.`,
		Example: `  msm bench setup --circuit mimc --hashes 100 --stock
  msm bench setup --system plonk --circuit ecdsa --backend cpu,cuda --count 5
  msm bench setup --circuit sha256-2k --backend cuda --stock --format json --out setup.json`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.benchSetup(c.Context(), f) },
	}
	flags := c.Flags()
	f.addStatements(c)
	flags.IntVar(&f.count, "count", report.Enough, "timed set-ups, after one to warm up")
	flags.BoolVar(&f.stock, "stock", false, "time gnark's own set-up as well, once")
	addFormat(c, &f.format, reports)
	flags.StringVar(&f.out, "out", "", "file for the result instead of stdout, which then has the table")
	flags.StringVar(&f.commit, "commit", "", "pippin's commit for the record, when the program does not know it (as under go run)")
	return c
}

func (a *app) benchSetup(ctx context.Context, f proveFlags) error {
	proofs, err := f.config()
	if err != nil {
		return err
	}
	cfg := bench.SetupConfig{ProveConfig: proofs, Stock: f.stock}
	cfg.Open = a.opener()
	if err := cfg.Validate(); err != nil {
		return usageError{err}
	}
	return recorded(ctx, a, destination{f.format, f.out, "", f.commit}, func(progress bench.Progress, note func(string)) ([]report.SetupRun, []record.BackendInfo, error) {
		cfg.Progress, cfg.Note = progress, note
		return bench.Setup(ctx, cfg)
	}, report.WriteSetupTable, nil)
}
