package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/record"
)

// peersFlags is the command line of msm bench peers.
type peersFlags struct {
	programs, only, curves, sizes, backend string

	count    int
	seed     uint64
	patience time.Duration
	cache    string
	format   string
	out      string
	commit   string
}

func (a *app) benchPeersCommand() *cobra.Command {
	var f peersFlags
	c := &cobra.Command{
		Use:   "peers",
		Short: "Time other libraries' MSMs and transforms in turns with pippin's",
		Long: `Time the MSMs and transforms of other libraries, by programs that bench/peers/build makes,
in turns with a backend's: the same points, the same uniform scalars, the same card.
Every answer is compared, of MSMs with known discrete logarithms. What a time has in it
is in the record. A program that fails is left out, with a note.

The backend keeps multiples of points on the card: leave the libraries room there with
PIPPIN_GPU_MEMORY, such as 40GiB of 80.`,
		Example: `  bench/peers/build peers
  PIPPIN_GPU_MEMORY=40GiB msm bench peers --programs peers --curve bn254 --size 2^20,2^22 --format json --out peers.json`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.benchPeers(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.programs, "programs", "peers", "folder that bench/peers/build made")
	flags.StringVar(&f.only, "only", "", "programs of it, such as sppark-bn254-g1"+several+"; all without it")
	flags.StringVar(&f.curves, "curve", "all", names(backend.Curves()))
	flags.StringVar(&f.sizes, "size", "2^20,2^22", "points and elements, powers of two"+several)
	flags.IntVar(&f.count, "count", report.Enough, "timed runs of each program, after one to warm up")
	flags.StringVar(&f.backend, "backend", "cuda", "cuda, plugin:NAME, plugin:PATH, cpu")
	flags.Uint64Var(&f.seed, "seed", 1, "chooses points and scalars")
	flags.DurationVar(&f.patience, "patience", 2*time.Minute, "time that a program has until it is ready, and for each answer")
	flags.StringVar(&f.cache, "cache", "", cacheHelp)
	addFormat(c, &f.format, reports)
	flags.StringVar(&f.out, "out", "", "file for the result instead of stdout, which then has the table")
	flags.StringVar(&f.commit, "commit", "", "pippin's commit for the record, when the program does not know it (as under go run)")
	completes(c, "curve", backend.Curves(), "all")
	completes(c, "backend", backendNames)
	return c
}

func (a *app) benchPeers(ctx context.Context, f peersFlags) error {
	if err := oneOf("format", f.format, reports...); err != nil {
		return err
	}
	cfg := bench.PeersConfig{Open: a.opener(), Backend: f.backend, Programs: f.programs, Count: f.count, Seed: f.seed, Patience: f.patience}
	if f.only != "" {
		cfg.Only = strings.Split(f.only, ",")
	}
	var err error
	into(&cfg.Curves, &err)(parseCurves(f.curves))
	into(&cfg.Sizes, &err)(parseSizes(f.sizes))
	if err != nil {
		return err
	}
	if err := cfg.Validate(); err != nil {
		return usageError{err}
	}
	if cfg.CacheDir, err = a.cacheDir(f.cache); err != nil {
		return err
	}
	err = recorded(ctx, a, destination{f.format, f.out, "", f.commit}, func(progress bench.Progress, note func(string)) ([]report.PeerRun, []record.BackendInfo, error) {
		cfg.Progress, cfg.Note = progress, note
		return bench.Peers(ctx, cfg)
	}, report.WritePeersTable, nil)
	if errors.Is(err, backend.ErrInvalidInput) { // no folder, or not that program
		return usageError{err}
	}
	return err
}
