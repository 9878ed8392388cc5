package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/record"
)

func (a *app) benchColdCommand() *cobra.Command {
	f := proveFlags{merge: string(report.MergeAuto)}
	c := &cobra.Command{
		Use:   "cold",
		Short: "Time first proofs, from a proving key in a file or from the program's start",
		Long: `Time the first proof on every backend, from opening the file of a compressed proving
key: the key is read and checked on the backend, loaded, and proved with. The bytes of the
file are in the page cache; constraint system and witness are in memory. Every run reads
the key again, and gnark verifies every proof, outside of the time.

With --start there is one run, from this program's start on: it reads the constraint system
from its file and opens the backend too. A run without --start keeps what it needs.`,
		Example: `  msm bench cold --circuit mimc --hashes 100 --stock
  msm bench cold --circuit mimc --hashes 100 --start
  msm bench cold --circuit sha256-2k --backend cuda --own-setup --stock --format json --out cold.json`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.benchCold(c.Context(), f) },
	}
	flags := c.Flags()
	f.addStatements(c)
	flags.IntVar(&f.count, "count", report.Enough, "timed first proofs")
	flags.BoolVar(&f.stock, "stock", false, "time gnark's own reader and prover as well, once")
	flags.BoolVar(&f.own, "own-setup", false, "make keys that are not kept yet on the first backend, in place of by gnark")
	flags.BoolVar(&f.keep, "keep", true, "read keys from files, and write those that are set up")
	flags.BoolVar(&f.start, "start", false, "once, from this program's start on: one circuit, curve and backend, with a key that is kept")
	addFormat(c, &f.format, reports)
	flags.StringVar(&f.out, "out", "", "file for the result instead of stdout, which then has the table")
	flags.StringVar(&f.cache, "cache", "", cacheHelp)
	flags.StringVar(&f.commit, "commit", "", "pippin's commit for the record, when the program does not know it (as under go run)")
	return c
}

func (a *app) benchCold(ctx context.Context, f proveFlags) error {
	proofs, err := f.config()
	if err != nil {
		return err
	}
	cfg := bench.ColdConfig{ProveConfig: proofs, Stock: f.stock, Start: f.start}
	cfg.Open = a.opener()
	if cfg.CacheDir, err = a.cacheDir(f.cache); err != nil {
		return err
	}
	if err := cfg.Validate(); err != nil {
		return usageError{err}
	}
	return recorded(ctx, a, destination{f.format, f.out, "", f.commit}, func(progress bench.Progress, note func(string)) ([]report.ColdRun, []record.BackendInfo, error) {
		cfg.Progress, cfg.Note = progress, note
		return bench.Cold(ctx, cfg)
	}, report.WriteColdTable, nil)
}
