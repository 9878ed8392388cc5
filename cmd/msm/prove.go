package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/circuits"
	"github.com/pippin-zk/pippin/internal/proofsystem"
	"github.com/pippin-zk/pippin/internal/record"
)

// proveFlags is the command line of msm bench prove.
type proveFlags struct {
	system, circuits, curves, backends, merge string

	hashes  int
	squares int
	count   int
	flying  int
	own     bool
	start   bool
	stock   bool
	keep    bool
	format  string
	out     string
	cache   string
	commit  string
}

func (a *app) proveCommand() *cobra.Command {
	var f proveFlags
	c := &cobra.Command{
		Use:   "prove",
		Short: "Time proofs of one or more backends and of gnark, in alternating runs",
		Long: `Time Groth16 or PLONK proofs by gnark's own prover and by pippin's on every backend, with
the same key and witness. Every round has one proof by gnark and one on each
backend, in turns; all of them are verified, outside of the time. Keys are set up when a
circuit is proved for the first time, which can take minutes, and kept in files.`,
		Example: `  msm bench prove --circuit mimc --hashes 100
  msm bench prove --circuit ecdsa,sha256-2k --backend cpu,cuda --format json --out record.json
  msm bench prove --circuit recursion --backend cuda
  msm bench prove --system plonk --circuit ecdsa --backend cpu,cuda
  msm bench prove --circuit squares --squares 16777216 --backend cuda --own-setup --keep=false --stock=false`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.prove(c.Context(), f) },
	}
	flags := c.Flags()
	f.addStatements(c)
	flags.StringVar(&f.merge, "merge", "auto", "Groth16's merging of equal bases and scalars: auto (where it pays), never"+several)
	flags.IntVar(&f.count, "count", report.Enough, "timed proofs, after one to warm up")
	flags.IntVar(&f.flying, "in-flight", 0, "also a stream of proofs, that many at a time; 0 is none")
	flags.BoolVar(&f.own, "own-setup", false, "make keys that are not kept yet on the first backend, in place of by gnark")
	flags.BoolVar(&f.stock, "stock", true, "prove by gnark as well, in the same rounds")
	flags.BoolVar(&f.keep, "keep", true, "read keys from files, and write those that are set up")
	addFormat(c, &f.format, reports)
	flags.StringVar(&f.out, "out", "", "file for the result instead of stdout, which then has the table")
	flags.StringVar(&f.cache, "cache", "", cacheHelp)
	flags.StringVar(&f.commit, "commit", "", "pippin's commit for the record, when the program does not know it (as under go run)")
	completes(c, "merge", report.Merges())
	return c
}

// addStatements adds the flags that say which circuits, on which curves and backends.
func (f *proveFlags) addStatements(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.system, "system", string(proofsystem.Groth16), strings.Join(texts(proofsystem.Systems()), ", "))
	flags.StringVar(&f.circuits, "circuit", "mimc", names(circuits.Names()))
	flags.StringVar(&f.curves, "curve", "", names(backend.Curves())+" (default bn254, and the only one that recursion has)")
	flags.StringVar(&f.backends, "backend", "cpu", "cpu, cuda, plugin:NAME, plugin:PATH"+several)
	flags.IntVar(&f.hashes, "hashes", 256, "length of the chain of hashes that the circuit mimc is")
	flags.IntVar(&f.squares, "squares", 1<<16, "constraints of the circuit squares")
	completes(c, "curve", backend.Curves(), "all")
	completes(c, "system", proofsystem.Systems())
	completes(c, "circuit", circuits.Names(), "all")
	completes(c, "backend", backendNames)
}

// config turns flags into a configuration.
func (f *proveFlags) config() (c bench.ProveConfig, err error) {
	if err := oneOf("format", f.format, reports...); err != nil {
		return c, err
	}
	c.Hashes, c.Squares, c.Count, c.InFlight, c.OwnSetup = f.hashes, f.squares, f.count, f.flying, f.own
	c.NoStock, c.NoKeep = !f.stock, !f.keep
	if err := oneOf("system", f.system, texts(proofsystem.Systems())...); err != nil {
		return c, err
	}
	c.System = proofsystem.System(f.system)
	if c.Circuits, err = parseList("circuit", f.circuits, circuits.Names(), circuits.Parse); err != nil {
		return c, err
	}
	if f.curves != "" {
		if c.Curves, err = parseCurves(f.curves); err != nil {
			return c, err
		}
	}
	if c.Merge, err = parseList("merge", f.merge, report.Merges(), report.ParseMerge); err != nil {
		return c, err
	}
	c.Backends, err = parseBackends(f.backends)
	return c, err
}

func (a *app) prove(ctx context.Context, f proveFlags) error {
	cfg, err := f.config()
	if err != nil {
		return err
	}
	cfg.Open = a.opener()
	if cfg.CacheDir, err = a.cacheDir(f.cache); err != nil {
		return err
	}
	if err := cfg.Validate(); err != nil {
		return usageError{err}
	}
	return recorded(ctx, a, destination{f.format, f.out, "", f.commit}, func(progress bench.Progress, note func(string)) ([]report.ProveRun, []record.BackendInfo, error) {
		cfg.Progress, cfg.Note = progress, note
		return bench.Prove(ctx, cfg)
	}, report.WriteProveTable, nil)
}
