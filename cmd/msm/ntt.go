package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/record"
)

// nttFlags is the command line of msm bench ntt.
type nttFlags struct {
	ways, curves, sizes, backends string

	batch, count int
	seed         uint64
	format       string
	out          string
	commit       string
}

func (a *app) benchNTTCommand() *cobra.Command {
	var f nttFlags
	c := &cobra.Command{
		Use:   "ntt",
		Short: "Time number-theoretic transforms of vectors over the curves' scalar fields",
		Long: `Time number-theoretic transforms of vectors over the curves' scalar fields, in the
backend's memory: from natural to bit-reversed order, back by the inverse, both on a coset
too, and from natural to natural order. Every element of every answer is compared with
gnark-crypto's, whose time on the CPU is shown beside.`,
		Example: `  msm bench ntt --curve bn254 --size 2^20 --backend cuda
  msm bench ntt --way forward,inverse --curve all --size 2^10,2^20,2^24 --batch 4 --backend cuda --format json`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.benchNTT(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.ways, "way", "all", names(bench.TransformWays()))
	flags.StringVar(&f.curves, "curve", "bn254", names(backend.Curves()))
	flags.StringVar(&f.sizes, "size", "2^16", "elements of a vector, powers of two"+several)
	flags.IntVar(&f.batch, "batch", 1, "vectors that are transformed together")
	flags.IntVar(&f.count, "count", report.Enough, "timed runs, after one to warm up")
	flags.StringVar(&f.backends, "backend", "cpu", "cpu, cuda, plugin:NAME, plugin:PATH"+several)
	flags.Uint64Var(&f.seed, "seed", 1, "chooses the elements")
	addFormat(c, &f.format, reports)
	flags.StringVar(&f.out, "out", "", "file for the result instead of stdout, which then has the table")
	flags.StringVar(&f.commit, "commit", "", "pippin's commit for the record, when the program does not know it (as under go run)")
	completes(c, "way", bench.TransformWays(), "all")
	completes(c, "curve", backend.Curves(), "all")
	completes(c, "backend", backendNames)
	return c
}

func (a *app) benchNTT(ctx context.Context, f nttFlags) error {
	if err := oneOf("format", f.format, reports...); err != nil {
		return err
	}
	if f.batch < 1 {
		return usageError{errors.New("--batch must be at least 1")}
	}
	cfg := bench.TransformsConfig{Open: a.opener(), Count: f.count, Batch: f.batch, Seed: f.seed}
	var err error
	way := func(s string) (string, error) { return s, oneOf("way", s, bench.TransformWays()...) }
	into(&cfg.Ways, &err)(parseList("way", f.ways, bench.TransformWays(), way))
	into(&cfg.Curves, &err)(parseCurves(f.curves))
	into(&cfg.Sizes, &err)(parseSizes(f.sizes))
	into(&cfg.Backends, &err)(parseBackends(f.backends))
	if err != nil {
		return err
	}
	if err := cfg.Validate(); err != nil {
		return usageError{err}
	}
	return recorded(ctx, a, destination{f.format, f.out, "", f.commit}, func(progress bench.Progress, note func(string)) ([]report.TransformRun, []record.BackendInfo, error) {
		cfg.Progress, cfg.Note = progress, note
		return bench.Transforms(ctx, cfg)
	}, report.WriteTransformTable, nil)
}
