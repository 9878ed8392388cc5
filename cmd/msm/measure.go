package main

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

// measurement is a command that measures: a workload, and how the command line sets it.
type measurement struct {
	use, short, long, example string

	of    bench.Workload
	flags func(*settings) // the workload's own

	// What the help says of the flags --backend, --count and --seed; without a text for
	// --seed there is none. otherwise is the backend where none is named, "" the CPU.
	backends, count, seed, otherwise string
	// one is of one backend, cached has the flag --cache, gobench a format for benchstat.
	one, cached, gobench bool
	// plot, if there is one, draws a record; drawn is what --plot's help says that it draws.
	plot  func(w io.Writer, format string, r record.Record[report.Run]) error
	drawn string
	// less says how to need less memory, of workloads that know how much they need.
	less string
	// phases, if there is one, has plugins count their phases.
	phases *bool
}

// settings are the flags of a measurement. Those with lists are read when it begins.
type settings struct {
	*cobra.Command
	read []func() error
	to   destination
	// cache and force are the values of those flags.
	cache string
	force bool
}

// destination is where a record goes.
type destination struct{ format, out, plot, commit string }

// value binds a flag to what parse makes of it.
func value[T any](s *settings, to *T, name, otherwise, help string, parse func(string) (T, error)) {
	text := s.Flags().String(name, otherwise, help)
	s.read = append(s.read, func() (err error) {
		v, err := parse(*text)
		if err == nil {
			*to = v
		}
		return err
	})
}

// choice binds a flag to some of a few values, or all of them.
func choice[T comparable](s *settings, to *[]T, name, otherwise string, all []T, parse func(string) (T, error), help string) {
	value(s, to, name, otherwise, help+names(all), func(text string) ([]T, error) { return parseList(name, text, all, parse) })
	completes(s.Command, name, all, "all")
}

// numbers binds a flag to a list of numbers that parse reads.
func numbers(s *settings, to *[]int, name, otherwise, help string, parse func(string) (int, error)) {
	value(s, to, name, otherwise, help+several, func(text string) ([]int, error) { return parseList(name, text, nil, parse) })
}

// named returns a parser of names out of a list.
func named(flag string, all []string) func(string) (string, error) {
	return func(s string) (string, error) { return s, oneOf(flag, s, all...) }
}

// recordFlags adds the flags that say where a record goes.
func (s *settings) recordFlags(formats []string) {
	addFormat(s.Command, &s.to.format, formats)
	s.Flags().StringVar(&s.to.out, "out", "", "file for the result instead of stdout, which then has the table")
	s.Flags().StringVar(&s.to.commit, "commit", "", "pippin's commit for the record, when the program does not know it (as under go run)")
}

// readAll reads the flags, of which --format is one of some.
func (s *settings) readAll(formats []string) error {
	if err := oneOf("format", s.to.format, formats...); err != nil {
		return err
	}
	for _, read := range s.read {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// formats returns those of a measurement.
func (m *measurement) formats() []string {
	if m.gobench {
		return append(slices.Clone(reports), "gobench")
	}
	return reports
}

// measureCommand makes the command of a measurement.
func (a *app) measureCommand(m measurement) *cobra.Command {
	s := &settings{Command: &cobra.Command{Use: m.use, Short: m.short, Long: m.long, Example: m.example, Args: noArguments}}
	s.RunE = func(c *cobra.Command, _ []string) error { return a.measure(c.Context(), &m, s) }
	flags, common := s.Flags(), m.of.Settings()
	m.flags(s)
	help := m.backends
	if !m.one {
		help += several
	}
	value(s, &common.Backends, "backend", cmp.Or(m.otherwise, "cpu"), help, parseBackends)
	completes(s.Command, "backend", backendNames)
	flags.IntVar(&common.Count, "count", report.Enough, m.count)
	if m.seed != "" {
		flags.Uint64Var(&common.Seed, "seed", 1, m.seed)
	}
	s.recordFlags(m.formats())
	if m.plot != nil {
		flags.StringVar(&s.to.plot, "plot", "", "file for a plot of "+m.drawn+", .svg or .png")
	}
	if m.cached {
		flags.StringVar(&s.cache, "cache", "", cacheHelp)
	}
	if m.less != "" {
		flags.BoolVar(&s.force, "force", false, "start even if memory seems not to suffice")
	}
	return s.Command
}

// measure measures what the flags say, and writes the record.
func (a *app) measure(ctx context.Context, m *measurement, s *settings) (err error) {
	if err := s.readAll(m.formats()); err != nil {
		return err
	}
	common := m.of.Settings()
	common.Open = a.opener()
	if m.phases != nil && *m.phases {
		common.Open = a.opener("PIPPIN_GPU_STAGES=1")
	}
	if m.cached {
		if common.CacheDir, err = a.cacheDir(s.cache); err != nil {
			return err
		}
	}
	if err := m.of.Validate(); err != nil {
		return usageError{err}
	}
	if of, ok := m.of.(sized); ok {
		if err := a.checkMemory(of, s.force, m.less); err != nil {
			return err
		}
	}
	if of, ok := m.of.(writing); ok {
		if err := a.checkDisk(of); err != nil {
			return err
		}
	}
	return a.recorded(ctx, m, s.to)
}

// recorded measures on this machine and writes the record: to the file of --out in
// its format, with a table on stdout, or else to stdout; and as a plot where --plot names a
// file. It makes the files before, and writes what there is when the measurement fails.
func (a *app) recorded(ctx context.Context, m *measurement, to destination) error {
	out, plot, err := createOutputs(ctx, to.out, to.plot)
	if err != nil {
		return err
	}
	defer out.Close()
	defer plot.Close()
	taken := record.Record[report.Run]{Format: report.Format, Machine: record.ThisMachine(to.commit)}
	common := m.of.Settings()
	taken.Runs, err = watched(ctx, a, func(tell bench.Progress, note func(string)) (runs []report.Run, err error) {
		common.Progress, common.Note = tell, note
		runs, taken.Machine.Backends, err = bench.Measure(ctx, m.of)
		return runs, err
	})
	taken.Cut = bench.CutBy(ctx, err)
	if len(taken.Runs) == 0 {
		return err
	}
	show := func(w io.Writer, form table.Form) error { return m.of.Sheet().Write(w, form, taken) }
	text, wanted := reporter(to.format, show, taken.WriteJSON)
	if to.format == "gobench" {
		wanted = func(w io.Writer) error { return report.WriteGobench(w, taken) }
	}
	draw := func(w io.Writer) error { return m.plot(w, plotFormat(to.plot), taken) }
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
func (a *app) checkMemory(of sized, force bool, less string) error {
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
	fmt.Fprintf(a.stderr, "msm: starting nevertheless: %s\n", oneLine(err))
	return nil
}

// memory returns the bytes that are available.
func (a *app) memory() (uint64, bool) {
	if a.available != nil {
		return a.available()
	}
	return record.AvailableMemory()
}
