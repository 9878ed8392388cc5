package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/internal/units"
)

// numbersFlags is the command line of msm bench numbers and msm verify numbers.
type numbersFlags struct {
	ops, bits, backends string
	sizes, words, paths string

	count, steps int
	seed         uint64
	check        bool
	force        bool
	long         bool
	cases        int
	format       string
	out          string
	commit       string
	tables       string
	plot         string
}

func (a *app) benchNumbersCommand() *cobra.Command {
	var f numbersFlags
	c := &cobra.Command{
		Use:   "numbers",
		Short: "Time batches of operations on plain numbers",
		Long: `Time operations on batches of numbers of equal width: whole numbers, residues,
GF(2^n), long addition. Each is timed as a program of package arith, with its operands on
the host and resident in the backend. Of several backends, every round has one batch on
each. A plot is against widths, or against sizes of a batch where there are several.`,
		Example: `  msm bench numbers --op expmod --bits 1024,2048 --backend cpu,plugin:cpu --check
  msm bench numbers --op add,sub --bits 67108864 --n 1 --backend cpu
  msm bench numbers --op mulmod --bits 256,512,1024,2048 --backend cpu,cuda --plot mulmod.svg
  msm bench numbers --op gfmul --bits 64 --words 2^26 --path resident --steps 8 --backend cuda
  msm bench numbers --op gfmul --bits 32,64 --n 2^10,2^14,2^18,2^22 --backend cuda --plot gfmul.svg
  msm bench numbers --tables bench/results/h200/table-karatsuba.json --plot k.svg`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.tables != "" {
				return a.showTable(c.Context(), f)
			}
			return a.benchNumbers(c.Context(), f)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.ops, "op", "mulmod", names(backend.NumberOps()))
	flags.StringVar(&f.bits, "bits", "1024", "widths in bits; of GF(2^n), n"+several)
	flags.StringVar(&f.sizes, "n", "0", "elements of a batch; 0 chooses by the operation and width, or by --words"+several)
	flags.StringVar(&f.words, "words", "0", "words of 32 bits of an operand, which choose the elements of a batch")
	flags.StringVar(&f.paths, "path", "all", names(numberPaths))
	flags.IntVar(&f.steps, "steps", 1, "how many times a resident program has the operation")
	flags.IntVar(&f.count, "count", report.Enough, "timed runs, after one to warm up")
	flags.StringVar(&f.backends, "backend", "cpu", "cpu, reference, cuda, plugin:NAME, plugin:PATH"+several)
	flags.Uint64Var(&f.seed, "seed", 1, "chooses operands")
	flags.BoolVar(&f.check, "check", false, "compare every answer with math/big's, not 16 of a batch")
	addFormat(c, &f.format, reports)
	flags.StringVar(&f.out, "out", "", "file for the result instead of stdout, which then has the table")
	flags.StringVar(&f.commit, "commit", "", "pippin's commit for the record, when the program does not know it (as under go run)")
	flags.BoolVar(&f.force, "force", false, "start even if memory seems not to suffice")
	flags.StringVar(&f.tables, "tables", "", "times nothing: shows this record of a card's layouts and methods, by tables.cu and register_cache.cu of kernels/internal/probe")
	flags.StringVar(&f.plot, "plot", "", "file for a plot of elements a second against width, or with --tables of the table, .svg or .png")
	completes(c, "op", backend.NumberOps(), "all")
	completes(c, "path", numberPaths, "all")
	completes(c, "backend", backendNames)
	return c
}

// numberPaths are values of --path.
var numberPaths = []string{report.Host, report.Resident}

// showTable writes the table of a record, and its plot.
func (a *app) showTable(ctx context.Context, f numbersFlags) error {
	if err := oneOf("format", f.format, "table", "markdown", "csv"); err != nil {
		return fmt.Errorf("%w: the record of --tables is JSON", err)
	}
	file, err := os.Open(f.tables)
	if err != nil {
		return usageError{err}
	}
	defer file.Close() // only read
	t, err := report.ReadCardTable(file)
	if err != nil {
		return usageError{fmt.Errorf("%s: %w", f.tables, err)}
	}
	out, plot, err := createOutputs(ctx, f.out, f.plot)
	if err != nil {
		return err
	}
	defer out.Close()
	defer plot.Close()
	text, wanted := reporter(f.format, func(w io.Writer, form table.Form) error { return report.WriteCardTable(w, form, t) }, nil)
	return errors.Join(a.deliver(out, text, wanted), plot.Write(func(w io.Writer) error { return report.PlotCardTable(w, plotFormat(f.plot), t) }))
}

func (a *app) benchNumbers(ctx context.Context, f numbersFlags) error {
	if err := oneOf("format", f.format, reports...); err != nil {
		return err
	}
	cfg := bench.NumbersConfig{Open: a.opener(), Count: f.count, Steps: f.steps, Seed: f.seed, Check: f.check}
	var err error
	if cfg.Ops, err = parseList("op", f.ops, backend.NumberOps(), backend.ParseNumberOp); err != nil {
		return err
	}
	if cfg.Bits, err = parseList("bits", f.bits, nil, strconv.Atoi); err != nil {
		return err
	}
	if f.sizes != "0" {
		if cfg.Sizes, err = parseList("n", f.sizes, nil, units.ParseSize); err != nil {
			return err
		}
	}
	if cfg.Words, err = units.ParseSize(f.words); f.words != "0" && err != nil {
		return usageError{fmt.Errorf("--words: %w", err)}
	}
	path := func(s string) (string, error) { return s, oneOf("path", s, numberPaths...) }
	if cfg.Paths, err = parseList("path", f.paths, numberPaths, path); err != nil {
		return err
	}
	if cfg.Backends, err = parseBackends(f.backends); err != nil {
		return err
	}
	if err := cfg.Validate(); err != nil {
		return usageError{err}
	}
	if err := a.checkMemory(&cfg, f.force, "choose a smaller --n or fewer --bits"); err != nil {
		return err
	}
	return recorded(ctx, a, destination{f.format, f.out, f.plot, f.commit}, func(progress bench.Progress, note func(string)) ([]report.NumberRun, []record.BackendInfo, error) {
		cfg.Progress, cfg.Note = progress, note
		return bench.Numbers(ctx, cfg)
	}, report.WriteNumbersTable, report.PlotNumbers)
}

func (a *app) verifyNumbersCommand() *cobra.Command {
	var f numbersFlags
	c := &cobra.Command{
		Use:   "numbers",
		Short: "Compare operations on plain numbers with math/big's answers",
		Args:  noArguments,
		RunE:  func(c *cobra.Command, _ []string) error { return a.verifyNumbers(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.ops, "op", "all", names(backend.NumberOps()))
	flags.StringVar(&f.backends, "backend", "cpu", "cpu, cuda, plugin:NAME, plugin:PATH"+several)
	flags.IntVar(&f.cases, "cases", 100, "random programs of operations")
	flags.Uint64Var(&f.seed, "seed", 1, "chooses operands and programs")
	flags.BoolVar(&f.long, "long", false, "also more widths")
	flags.StringVar(&f.out, "out", "", "file for a record of the outcome, beside what stdout has")
	flags.StringVar(&f.commit, "commit", "", "pippin's commit for the record, when the program does not know it (as under go run)")
	addFormat(c, &f.format, formats)
	completes(c, "op", backend.NumberOps(), "all")
	completes(c, "backend", backendNames)
	return c
}

func (a *app) verifyNumbers(ctx context.Context, f numbersFlags) error {
	if err := oneOf("format", f.format, formats...); err != nil {
		return err
	}
	cfg := bench.VerifyNumbersConfig{Open: a.opener(), Cases: f.cases, Seed: f.seed, Long: f.long}
	var err error
	if cfg.Ops, err = parseList("op", f.ops, backend.NumberOps(), backend.ParseNumberOp); err != nil {
		return err
	}
	if cfg.Backends, err = parseBackends(f.backends); err != nil {
		return err
	}
	if cfg.Cases < 0 {
		return usageError{fmt.Errorf("%d cases", cfg.Cases)}
	}
	out, err := createOutput(ctx, f.out)
	if err != nil {
		return err
	}
	defer out.Close()
	verified := record.Record[bench.Verified]{Machine: record.ThisMachine(f.commit)}
	verified.Runs, err = watched(ctx, a, func(progress bench.Progress, note func(string)) ([]bench.Verified, error) {
		cfg.Progress, cfg.Note = progress, note
		return bench.VerifyNumbers(ctx, cfg)
	})
	verified.Cut = bench.CutBy(ctx, err)
	err = errors.Join(err, a.deliverVerified(f.format, verified.Runs))
	if out != nil {
		err = errors.Join(err, out.Write(verified.WriteJSON))
	}
	return err
}
