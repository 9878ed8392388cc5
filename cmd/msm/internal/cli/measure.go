package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/record"
)

// drawer draws a record in one of report.PlotFormats.
type drawer = func(w io.Writer, format string, r record.Record[report.Run]) error

// Measurement is a command that measures: a workload, and how the command line sets it.
type Measurement struct {
	Long, Example string

	Of    bench.Workload
	Flags func(*Settings) // the workload's own

	// What the help says of the flags --backend, --count and --seed; without a text for
	// --seed there is none. otherwise is the backend where none is named, "" the CPU.
	Backends, Count, Seed, otherwise string
	// one is of one backend, cached has the flag --cache, gobench a format for benchstat.
	one, Cached, gobench bool
	// plot, if there is one, draws a record; drawn is what --plot's help says that it draws.
	plot  func(*Drawing) drawer
	drawn string
	// less says how to need less memory, of workloads that know how much they need.
	less string
	// phases, if there is one, has plugins count their phases.
	Phases *bool
	// Start, if there is one, is called before the measurement is validated.
	Start func(*App)
}

// Settings are the flags of a measurement. Those with lists are read when it begins.
type Settings struct {
	*cobra.Command
	Read []func() error
	to   destination
	// cache and force are the values of those flags.
	cache string
	force bool
}

// destination is where a record goes.
type destination struct{ format, out, plot, commit string }

// Value binds a flag to what parse makes of it.
func Value[T any](s *Settings, to *T, name, otherwise, help string, parse func(string) (T, error)) {
	text := s.Flags().String(name, otherwise, help)
	s.Read = append(s.Read, func() (err error) {
		v, err := parse(*text)
		if err == nil {
			*to = v
		}
		return err
	})
}

// Choice binds a flag to some of a few values, or all of them.
func Choice[T comparable](s *Settings, to *[]T, name, otherwise string, all []T, parse func(string) (T, error), help string) {
	Value(s, to, name, otherwise, help+Names(all), func(text string) ([]T, error) { return ParseList(name, text, all, parse) })
	Completes(s.Command, name, all, "all")
}

// Numbers binds a flag to a list of numbers that parse reads.
func Numbers(s *Settings, to *[]int, name, otherwise, help string, parse func(string) (int, error)) {
	Value(s, to, name, otherwise, help+Several, func(text string) ([]int, error) { return ParseList(name, text, nil, parse) })
}

// named returns a parser of names out of a list.
func named(flag string, all []string) func(string) (string, error) {
	return func(s string) (string, error) { return s, OneOf(flag, s, all...) }
}

// recordFlags adds the flags that say where a record goes.
func (s *Settings) recordFlags(formats []string) {
	AddFormat(s.Command, &s.to.format, formats)
	s.Flags().StringVar(&s.to.out, "out", "", "file for the result instead of stdout, which then has the table")
	s.Flags().StringVar(&s.to.commit, "commit", "", "pippin's commit for the record, when the program does not know it (as under go run)")
}

// readAll reads the flags, of which --format is one of some.
func (s *Settings) readAll(formats []string) error {
	if err := OneOf("format", s.to.format, formats...); err != nil {
		return err
	}
	for _, read := range s.Read {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// formats returns those of a measurement.
func (m *Measurement) formats() []string {
	if m.gobench {
		return append(slices.Clone(reports), "gobench")
	}
	return reports
}

// Measures makes a command one that measures.
func (a *App) Measures(c *cobra.Command, m Measurement) *cobra.Command {
	c.Long, c.Example, c.Args = m.Long, m.Example, NoArguments
	s := &Settings{Command: c}
	s.RunE = func(c *cobra.Command, _ []string) error { return a.measure(c.Context(), &m, s) }
	flags, common := s.Flags(), m.Of.Settings()
	m.Flags(s)
	help := m.Backends
	if !m.one {
		help += Several
	}
	Value(s, &common.Backends, "backend", cmp.Or(m.otherwise, "cpu"), help, ParseBackends)
	Completes(s.Command, "backend", BackendNames)
	flags.IntVar(&common.Count, "count", report.Enough, m.Count)
	if m.Seed != "" {
		flags.Uint64Var(&common.Seed, "seed", 1, m.Seed)
	}
	s.recordFlags(m.formats())
	if m.plot != nil {
		flags.StringVar(&s.to.plot, "plot", "", "file for a plot of "+m.drawn+", .svg or .png")
	}
	if m.Cached {
		flags.StringVar(&s.cache, "cache", "", cacheHelp)
	}
	if m.less != "" {
		flags.BoolVar(&s.force, "force", false, "start even if memory seems not to suffice")
	}
	return s.Command
}

// measure measures what the flags say, and writes the record.
func (a *App) measure(ctx context.Context, m *Measurement, s *Settings) (err error) {
	if s.to.plot != "" && a.Draw == nil {
		return a.handOver(inProve)
	}
	if err := s.readAll(m.formats()); err != nil {
		return err
	}
	common := m.Of.Settings()
	common.Open = a.Opener()
	if m.Phases != nil && *m.Phases {
		common.Open = a.Opener("PIPPIN_GPU_STAGES=1")
	}
	if m.Start != nil {
		m.Start(a)
	}
	if m.Cached {
		if common.CacheDir, err = a.CacheDir(s.cache); err != nil {
			return err
		}
	}
	if err := m.Of.Validate(); err != nil {
		return usageError{err}
	}
	if of, ok := m.Of.(sized); ok {
		if err := a.checkMemory(of, s.force, m.less); err != nil {
			return err
		}
	}
	if of, ok := m.Of.(writing); ok {
		if err := a.checkDisk(of); err != nil {
			return err
		}
	}
	return a.recorded(ctx, m, s.to)
}

// recorded measures on this machine and writes the record: to the file of --out in
// its format, with a table on stdout, or else to stdout; and as a plot where --plot names a
// file. It makes the files before, and writes what there is when the measurement fails.
func (a *App) recorded(ctx context.Context, m *Measurement, to destination) error {
	out, plot, err := CreateOutputs(ctx, to.out, to.plot)
	if err != nil {
		return err
	}
	defer out.Close()
	defer plot.Close()
	taken := record.Record[report.Run]{Format: report.Format, Machine: record.ThisMachine(to.commit)}
	common := m.Of.Settings()
	taken.Runs, err = Watched(ctx, a, func(tell bench.Progress, note func(string)) (runs []report.Run, err error) {
		common.Progress, common.Note = tell, note
		runs, taken.Machine.Backends, err = bench.Measure(ctx, m.Of)
		return runs, err
	})
	taken.Cut = bench.CutBy(ctx, err)
	if len(taken.Runs) == 0 {
		return err
	}
	show := func(w io.Writer, form table.Form) error { return m.Of.Sheet().Write(w, form, taken) }
	text, wanted := reporter(to.format, show, taken.WriteJSON)
	if to.format == "gobench" {
		wanted = func(w io.Writer) error { return report.WriteGobench(w, taken) }
	}
	draw := func(w io.Writer) error { return m.plot(a.Draw)(w, PlotFormat(to.plot), taken) }
	return errors.Join(err, a.deliver(out, text, wanted), plot.Write(draw))
}

// sized is a workload that knows what memory it needs, writing one that writes to the cache.
type (
	sized   interface{ CheckMemory(available uint64) error }
	writing interface {
		Writes() (bytes uint64, dir string, err error)
	}
)

// checkMemory refuses what does not fit, unless forced; less says how to need less.
func (a *App) checkMemory(of sized, force bool, less string) error {
	have, known := a.memory()
	if !known {
		return nil
	}
	err := of.CheckMemory(have)
	if err == nil {
		return nil
	}
	if !force {
		return fmt.Errorf("%w: %s, or try with --force", err, less)
	}
	fmt.Fprintf(a.Stderr, "msm: starting nevertheless: %s\n", OneLine(err))
	return nil
}

// memory returns the bytes that are available.
func (a *App) memory() (uint64, bool) {
	if a.Available != nil {
		return a.Available()
	}
	return record.AvailableMemory()
}
