package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/record"
)

// pointsFlags is the command line of msm bench points.
type pointsFlags struct {
	steps, curves, groups, sizes, backends string

	count  int
	seed   uint64
	stock  bool
	format string
	out    string
	commit string
}

func (a *app) benchPointsCommand() *cobra.Command {
	var f pointsFlags
	c := &cobra.Command{
		Use:   "points",
		Short: "Time steps over points: fixed base, Lagrange form, checks, decompression",
		Long: `Time steps of programs over points: multiples of one point, the inverse transform,
whether points are in the group, and points from compressed bytes. Points and scalars
are in the backend's memory, encodings in the caller's. Every answer is compared with
gnark-crypto's: all points of checks and encodings, a sample of products.`,
		Example: `  msm bench points --curve bn254 --group g1 --size 2^16 --backend cpu
  msm bench points --step fixed-base,lagrange --curve all --group g1 --size 2^20 --backend cuda --stock`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.benchPoints(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.steps, "step", "all", names(bench.PointSteps()))
	flags.StringVar(&f.curves, "curve", "bn254", names(backend.Curves()))
	flags.StringVar(&f.groups, "group", "g1", names(backend.Groups()))
	flags.StringVar(&f.sizes, "size", "2^16", "points, powers of two"+several)
	flags.IntVar(&f.count, "count", report.Enough, "timed runs, after one to warm up")
	flags.StringVar(&f.backends, "backend", "cpu", "cpu, cuda, plugin:NAME, plugin:PATH"+several)
	flags.Uint64Var(&f.seed, "seed", 1, "chooses the base and the scalars")
	flags.BoolVar(&f.stock, "stock", false, "time gnark-crypto's own functions as well, once, on all processors")
	addFormat(c, &f.format, reports)
	flags.StringVar(&f.out, "out", "", "file for the result instead of stdout, which then has the table")
	flags.StringVar(&f.commit, "commit", "", "pippin's commit for the record, when the program does not know it (as under go run)")
	completes(c, "step", bench.PointSteps(), "all")
	completes(c, "curve", backend.Curves(), "all")
	completes(c, "group", backend.Groups(), "all")
	completes(c, "backend", backendNames)
	return c
}

func (a *app) benchPoints(ctx context.Context, f pointsFlags) error {
	if err := oneOf("format", f.format, reports...); err != nil {
		return err
	}
	cfg := bench.PointsConfig{Open: a.opener(), Count: f.count, Seed: f.seed, Stock: f.stock}
	var err error
	step := func(s string) (string, error) { return s, oneOf("step", s, bench.PointSteps()...) }
	into(&cfg.Steps, &err)(parseList("step", f.steps, bench.PointSteps(), step))
	into(&cfg.Curves, &err)(parseCurves(f.curves))
	into(&cfg.Groups, &err)(parseGroups(f.groups))
	into(&cfg.Sizes, &err)(parseSizes(f.sizes))
	into(&cfg.Backends, &err)(parseBackends(f.backends))
	if err != nil {
		return err
	}
	if err := cfg.Validate(); err != nil {
		return usageError{err}
	}
	return recorded(ctx, a, destination{f.format, f.out, "", f.commit}, func(progress bench.Progress, note func(string)) ([]report.PointRun, []record.BackendInfo, error) {
		cfg.Progress, cfg.Note = progress, note
		return bench.Points(ctx, cfg)
	}, report.WritePointsTable, nil)
}
