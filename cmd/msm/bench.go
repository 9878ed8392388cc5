package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/outfile"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/record"
)

// benchFlags is the command line of msm bench.
type benchFlags struct {
	sizes, curves, groups, backends, distributions, paths string

	until   string
	within  time.Duration
	count   int
	warmup  int
	rows    int
	callers int
	batch   bool
	most    int
	phases  bool
	seed    uint64
	check   bool
	force   bool
	format  string
	out     string
	plot    string
	cache   string
	commit  string
}

func (a *app) benchCommand() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:   "bench",
		Short: "Time MSMs of one or more backends, in alternating runs",
		Long: `Time MSMs through the typed API, as a prover calls it, from host scalars to the
affine point. Bases are random multiples of the generator, loaded beforehand and
kept in files between runs. Of several backends, every round has one MSM on each.`,
		Example: `  msm bench --size 2^16 --curve all --backend cpu --check
  msm bench --size 2^16,2^18,2^20 --backend cpu,plugin:cpu --path both --plot msm.svg
  msm bench --size 2^26 --backend cuda --format json --out record.json`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.bench(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.sizes, "size", "2^16", "points: 1000000, 2^20, 1<<20, 1Mi"+several)
	flags.StringVar(&f.curves, "curve", "bn254", names(backend.Curves()))
	flags.StringVar(&f.groups, "group", "g1", names(backend.Groups()))
	flags.StringVar(&f.backends, "backend", "cpu", "cpu, reference, cuda, cuda:0-1, plugin:NAME, plugin:PATH"+several)
	flags.StringVar(&f.distributions, "distribution", "uniform", "scalars: "+names(fixtures.Distributions()))
	flags.StringVar(&f.paths, "path", "copy", "where a plugin's scalars are: copy (a Go slice), arena (shared memory), both")
	flags.IntVar(&f.count, "count", report.Enough, "timed runs, after those of --warmup")
	flags.IntVar(&f.warmup, "warmup", 1, "runs of each backend and input that are not timed, before the others")
	flags.StringVar(&f.until, "until", "", "go on after --count runs until all medians are known to this share, such as 1%, at 95 % confidence")
	flags.DurationVar(&f.within, "within", time.Minute, "how long --until may go on for each input")
	flags.IntVar(&f.rows, "back-to-back", 0, "also time that many runs in a row without a pause, --count times (20 when no number is given)")
	flags.Lookup("back-to-back").NoOptDefVal = "20"
	flags.IntVar(&f.callers, "callers", 0, "how many callers share the runs of --back-to-back, at the same time")
	flags.BoolVar(&f.batch, "batch", false, "each row of --back-to-back is one batch, of MSMs with scalars of their own")
	flags.IntVar(&f.most, "multiples", 512, "how many multiples of each base backends may make beforehand, itself included: 1 is none")
	flags.BoolVar(&f.phases, "phases", false, "also record what a GPU took for each phase of the same runs, which timing them delays by some 0.2 ms")
	flags.Uint64Var(&f.seed, "seed", 1, "chooses points and scalars")
	flags.BoolVar(&f.check, "check", false, "compare every answer with the one known from discrete logarithms, and those with double-and-add")
	addFormat(c, &f.format, append(reports, "gobench"))
	flags.StringVar(&f.out, "out", "", "file for the result instead of stdout, which then has the table")
	flags.StringVar(&f.plot, "plot", "", "file for a plot of time against size, .svg or .png")
	flags.StringVar(&f.cache, "cache", "", cacheHelp)
	flags.StringVar(&f.commit, "commit", "", "pippin's commit for the record, when the program does not know it (as under go run)")
	flags.BoolVar(&f.force, "force", false, "start even if memory seems not to suffice")
	completes(c, "curve", backend.Curves(), "all")
	completes(c, "group", backend.Groups(), "all")
	completes(c, "backend", backendNames)
	completes(c, "distribution", fixtures.Distributions(), "all")
	completes(c, "path", pathNames)
	c.AddCommand(a.proveCommand(), a.benchSetupCommand(), a.benchCeremonyCommand(), a.benchColdCommand(), a.benchNumbersCommand(), a.benchPointsCommand(), a.benchNTTCommand(), a.benchCellsCommand(), a.benchRSACommand(), a.benchPeersCommand(), a.compareCommand(), a.plotCommand())
	return c
}

// config turns flags into a configuration.
func (f *benchFlags) config() (c bench.Config, err error) {
	if err := oneOf("format", f.format, append(reports, "gobench")...); err != nil {
		return c, err
	}
	c.Batch, c.Phases = f.batch, f.phases
	c.Count, c.BackToBack, c.Callers, c.Multiples, c.Seed, c.Check, c.Within = f.count, f.rows, f.callers, f.most, f.seed, f.check, f.within
	if c.Warmup = f.warmup; c.Warmup < 1 {
		return c, usageError{fmt.Errorf("--warmup %d: want a number above 0", f.warmup)}
	}
	if c.Until, err = parsePercent("until", f.until); err != nil {
		return c, err
	}
	if c.Sizes, err = parseSizes(f.sizes); err != nil {
		return c, err
	}
	if c.Curves, err = parseCurves(f.curves); err != nil {
		return c, err
	}
	if c.Groups, err = parseGroups(f.groups); err != nil {
		return c, err
	}
	if c.Backends, err = parseBackends(f.backends); err != nil {
		return c, err
	}
	if c.Distributions, err = parseDistributions(f.distributions); err != nil {
		return c, err
	}
	c.Paths, err = parsePaths(f.paths)
	return c, err
}

func (a *app) bench(ctx context.Context, f benchFlags) error {
	cfg, err := f.config()
	if err != nil {
		return err
	}
	cfg.Open = a.opener()
	if f.phases {
		cfg.Open = a.opener("PIPPIN_GPU_STAGES=1")
	}
	if cfg.CacheDir, err = a.cacheDir(f.cache); err != nil {
		return err
	}
	if err := cfg.Validate(); err != nil {
		return usageError{err}
	}
	if err := a.checkMemory(&cfg, f.force, "choose a smaller --size or fewer backends"); err != nil {
		return err
	}
	if err := a.checkDisk(&cfg); err != nil {
		return err
	}
	out, plot, err := createOutputs(ctx, f.out, f.plot)
	if err != nil {
		return err
	}
	defer out.Close()
	defer plot.Close()

	taken, err := measured(ctx, a, f.commit, func(progress bench.Progress, note func(string)) ([]report.Run, []record.BackendInfo, error) {
		cfg.Progress, cfg.Note = progress, note
		return bench.MSM(ctx, cfg)
	})
	if len(taken.Runs) == 0 {
		return err
	}
	return errors.Join(err, a.report(taken, f, out, plot))
}

// report writes the record wherever it is wanted.
func (a *app) report(r record.Record[report.Run], f benchFlags, out, plot *outfile.File) error {
	text, wanted := reporter(f.format, func(w io.Writer, form table.Form) error { return report.WriteTable(w, form, r) }, r.WriteJSON)
	if f.format == "gobench" {
		wanted = func(w io.Writer) error { return report.WriteGobench(w, r) }
	}
	return errors.Join(a.deliver(out, text, wanted), plot.Write(func(w io.Writer) error { return report.WritePlot(w, plotFormat(f.plot), r) }))
}

// memory returns the bytes that are available.
func (a *app) memory() (uint64, bool) {
	if a.available != nil {
		return a.available()
	}
	return record.AvailableMemory()
}

// checkMemory refuses what does not fit, unless forced; advice says how to need less.
func (a *app) checkMemory(cfg interface{ CheckMemory(available uint64) error }, force bool, advice string) error {
	have, known := a.memory()
	if !known {
		return nil
	}
	err := cfg.CheckMemory(have)
	if err == nil {
		return nil
	}
	if !force {
		return fmt.Errorf("%w: %s, or try with --force", err, advice)
	}
	fmt.Fprintf(a.stderr, "msm: starting nevertheless: %s\n", oneLine(err))
	return nil
}
