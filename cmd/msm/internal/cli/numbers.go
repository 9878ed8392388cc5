package cli

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

func (a *App) benchNumbersCommand() *cobra.Command {
	w := &bench.Numbers{}
	tables := ""
	c := a.Measures(&cobra.Command{Use: "numbers", Short: "Time batches of operations on plain numbers"}, Measurement{
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
		Of: w, Backends: anyBackend, Count: AfterWarmUp, Seed: "chooses operands",
		plot: func(d *Drawing) drawer { return d.Numbers }, drawn: "elements a second against width, or with --tables of the table",
		less: "choose a smaller --n or fewer --bits",
		Flags: func(s *Settings) {
			Choice(s, &w.Ops, "op", "mulmod", backend.NumberOps(), backend.ParseNumberOp, "")
			Numbers(s, &w.Bits, "bits", "1024", "widths in bits; of GF(2^n), n", strconv.Atoi)
			help := "elements of a batch; 0 chooses by the operation and width, or by --words" + Several
			Value(s, &w.Sizes, "n", "0", help, func(text string) ([]int, error) {
				if text == "0" {
					return nil, nil
				}
				return ParseList("n", text, nil, units.ParseSize)
			})
			Value(s, &w.Words, "words", "0", "words of 32 bits of an operand, which choose the elements of a batch", func(text string) (int, error) {
				if text == "0" {
					return 0, nil
				}
				n, err := units.ParseSize(text)
				if err != nil {
					err = usageError{fmt.Errorf("--words: %w", err)}
				}
				return n, err
			})
			Choice(s, &w.Paths, "path", "all", numberPaths, named("path", numberPaths), "")
			s.Flags().IntVar(&w.Steps, "steps", 1, "how many times a resident program has the operation")
			s.Flags().BoolVar(&w.Check, "check", false, "compare every answer with math/big's, not 16 of a batch")
			s.Flags().StringVar(&tables, "tables", "", "times nothing: shows this record of a card's layouts and methods, "+
				"by tables.cu and register_cache.cu of kernels/internal/probe")
		},
	})
	measure := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if tables == "" {
			return measure(c, args)
		}
		text := func(flag string) string { return c.Flag(flag).Value.String() }
		return a.showTable(c.Context(), tables, destination{format: text("format"), out: text("out"), plot: text("plot")})
	}
	return c
}

// numberPaths are values of --path.
var numberPaths = []string{report.Host, report.Resident}

// showTable writes the table of a record, and its plot.
func (a *App) showTable(ctx context.Context, tables string, to destination) error {
	if to.plot != "" && a.Draw == nil {
		return a.handOver(inProve)
	}
	if err := OneOf("format", to.format, "table", "markdown", "csv"); err != nil {
		return fmt.Errorf("%w: the record of --tables is JSON", err)
	}
	file, err := os.Open(tables)
	if err != nil {
		return usageError{err}
	}
	defer file.Close() // only read
	t, err := report.ReadCardTable(file)
	if err != nil {
		return usageError{fmt.Errorf("%s: %w", tables, err)}
	}
	out, plot, err := CreateOutputs(ctx, to.out, to.plot)
	if err != nil {
		return err
	}
	defer out.Close()
	defer plot.Close()
	show := func(w io.Writer, form table.Form) error { return report.WriteCardTable(w, form, t) }
	text, wanted := reporter(to.format, show, nil)
	draw := func(w io.Writer) error { return a.Draw.CardTable(w, PlotFormat(to.plot), t) }
	return errors.Join(a.deliver(out, text, wanted), plot.Write(draw))
}

func (a *App) verifyNumbersCommand() *cobra.Command {
	s := &Settings{Command: &cobra.Command{
		Use: "numbers", Short: "Compare operations on plain numbers with math/big's answers", Args: NoArguments,
	}}
	cfg := &bench.VerifyNumbersConfig{}
	s.RunE = func(c *cobra.Command, _ []string) error { return a.verifyNumbers(c.Context(), cfg, s) }
	Choice(s, &cfg.Ops, "op", "all", backend.NumberOps(), backend.ParseNumberOp, "")
	Value(s, &cfg.Backends, "backend", "cpu", BackendHelp+Several, ParseBackends)
	Completes(s.Command, "backend", BackendNames)
	s.Flags().IntVar(&cfg.Cases, "cases", 100, "random programs of operations")
	s.Flags().Uint64Var(&cfg.Seed, "seed", 1, "chooses operands and programs")
	s.Flags().BoolVar(&cfg.Long, "long", false, "also more widths")
	s.recordFlags(Formats)
	return s.Command
}

func (a *App) verifyNumbers(ctx context.Context, cfg *bench.VerifyNumbersConfig, s *Settings) error {
	if err := s.readAll(Formats); err != nil {
		return err
	}
	cfg.Open = a.Opener()
	if cfg.Cases < 0 {
		return usageError{fmt.Errorf("%d cases", cfg.Cases)}
	}
	out, err := CreateOutput(ctx, s.to.out)
	if err != nil {
		return err
	}
	defer out.Close()
	verified := record.Record[bench.Verified]{Machine: record.ThisMachine(s.to.commit)}
	verified.Runs, err = Watched(ctx, a, func(progress bench.Progress, note func(string)) ([]bench.Verified, error) {
		cfg.Progress, cfg.Note = progress, note
		return bench.VerifyNumbers(ctx, *cfg)
	})
	verified.Cut = bench.CutBy(ctx, err)
	err = errors.Join(err, a.deliverVerified(s.to.format, verified.Runs))
	if out != nil {
		err = errors.Join(err, out.Write(verified.WriteJSON))
	}
	return err
}
