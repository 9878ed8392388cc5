package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/inventory"
	"github.com/pippin-zk/pippin/cmd/msm/internal/outfile"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/cmd/msm/internal/tuning"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	"github.com/pippin-zk/pippin/internal/units"
)

// tuneFlags is the command line of msm tune.
type tuneFlags struct {
	backend, sizes, curves, groups string

	count  int
	most   int
	seed   uint64
	dryRun bool
	out    string
	cache  string
}

// TableFile returns the file of a card's own table, "" where none is to be used.
func (a *App) TableFile(card string) string {
	return msmplan.OwnFile(a.Getenv("PIPPIN_GPU_TUNING"), card)
}

func (a *App) tuneCommand() *cobra.Command {
	var f tuneFlags
	c := &cobra.Command{
		Use:   "tune",
		Short: "Measure which plans of MSMs are the fastest on this GPU, and keep them",
		Long: `Measure which plans of MSMs are the fastest on this GPU: those it has now beside
others, with more and fewer buckets, steps and tasks, with pairs and without. For each
size the best is kept, where it is faster by more than the noise, in a table that the
backend reads when it is opened next; a size stands for those around it. Every answer
is checked. A second run goes on from there.

The table is a file of the user's settings, or what --out or PIPPIN_GPU_TUNING say.
Removing it brings back the plans that the program has.`,
		Example: `  msm tune --dry-run
  msm tune --curve all --group all
  msm tune --size 2^18 --curve bls12-381`,
		Args: NoArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.tune(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.backend, "backend", "cuda:0", "with one GPU: cuda:0, cuda:GPU-UUID, plugin:PATH")
	flags.StringVar(&f.sizes, "size", "2^16,2^20,2^22", "points: 1000000, 2^20, 1Mi"+Several)
	flags.StringVar(&f.curves, "curve", "bn254", Names(backend.Curves()))
	flags.StringVar(&f.groups, "group", "g1", Names(backend.Groups()))
	flags.IntVar(&f.count, "count", 7, "timed runs of each plan, after one to warm up")
	flags.IntVar(&f.most, "multiples", 512, "how many multiples of each base the backend may make beforehand, itself included: 1 is none")
	flags.Uint64Var(&f.seed, "seed", 1, "chooses points and scalars")
	flags.BoolVar(&f.dryRun, "dry-run", false, "say what would change, and write nothing")
	flags.StringVar(&f.out, "out", "", "file for the table (default in the user's folder for settings)")
	flags.StringVar(&f.cache, "cache", "", cacheHelp)
	Completes(c, "curve", backend.Curves(), "all")
	Completes(c, "group", backend.Groups(), "all")
	return c
}

func (a *App) tune(ctx context.Context, f tuneFlags) error {
	cfg, err := f.config()
	if err != nil {
		return err
	}
	if cfg.CacheDir, err = a.CacheDir(f.cache); err != nil {
		return err
	}
	s, out, own, err := a.newSearch(ctx, f)
	if err != nil {
		return err
	}
	all, err := Watched(ctx, a, func(progress bench.Progress, note func(string)) ([]tuning.Found, error) {
		s.Measure = cfg
		s.Measure.Progress, s.Measure.Note = progress, note
		return s.Run(ctx)
	})
	if err != nil {
		return err
	}
	if err := writeTuned(a.Stdout, all); err != nil {
		return err
	}
	if !tuning.Faster(all) {
		fmt.Fprintf(a.Stdout, "\n%s: nothing is faster than %v.\n", s.Card, s.Now)
		return nil
	}
	text, err := tuning.Table(own, s.Card, all).Bytes()
	if err != nil {
		return err
	}
	if f.dryRun {
		fmt.Fprintf(a.Stdout, "\n%s would be:\n%s", out, text)
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	if err := outfile.Replace(out, text); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "\n%s is written: the backend plans by it when it is opened next.\n", out)
	return nil
}

// config returns the configuration of the measurements.
func (f *tuneFlags) config() (c bench.MSM, err error) {
	c = bench.MSM{Common: bench.Common{Count: f.count, Seed: f.seed}, Distributions: []fixtures.Distribution{fixtures.Uniform},
		Paths: []report.Path{report.Arena}, Multiples: f.most, Check: true}
	if c.Sizes, err = ParseSizes(f.sizes); err != nil {
		return c, err
	}
	slices.Sort(c.Sizes)
	c.Sizes = slices.Compact(c.Sizes)
	if f.count < 3 {
		return c, usageError{errors.New("--count: three runs at least tell a difference from noise")}
	}
	if f.most < 1 {
		return c, usageError{fmt.Errorf("--multiples %d", f.most)}
	}
	if c.Curves, err = ParseCurves(f.curves); err != nil {
		return c, err
	}
	c.Groups, err = ParseGroups(f.groups)
	return c, err
}

// newSearch finds the card, the file for its table, and the table in it, nil for none.
func (a *App) newSearch(ctx context.Context, f tuneFlags) (s tuning.Search, out string, own *msmplan.Table, err error) {
	open, cancel := context.WithTimeout(ctx, inventory.OpenTimeout)
	defer cancel()
	b, err := a.Opener("PIPPIN_GPU_TUNING=none")(open, f.backend)
	if err != nil {
		return s, "", nil, err
	}
	info := b.Info()
	if err := b.Close(); err != nil {
		return s, "", nil, err
	}
	// Only a backend that plans by tables says which.
	if len(info.Devices) != 1 || !strings.Contains(info.Devices[0].Detail, msmplan.PlansOf) {
		return s, "", nil, usageError{
			fmt.Errorf("--backend %s has %d devices, or none that plans by tables: name one GPU, as cuda:0", f.backend, len(info.Devices)),
		}
	}
	card := info.Devices[0]
	s = tuning.Search{
		Card: card.Name, Memory: int64(card.Memory) / 2,
		Open: func(ctx context.Context, environment ...string) (backend.Backend, error) {
			return a.Opener(environment...)(ctx, f.backend)
		},
		Oracle: a.Opener(),
	}
	if out = cmp.Or(f.out, a.TableFile(card.Name)); out == "" {
		return s, "", nil, usageError{errors.New("there is no folder for settings: name a file with --out")}
	}
	if own, err = msmplan.ReadTable(out); errors.Is(err, fs.ErrNotExist) {
		own, err = nil, nil
	}
	if err == nil {
		s.Now, err = msmplan.TuningFor(card.Name, "", 0, own)
	}
	return s, out, own, err
}

// writeTuned writes a line for each size.
func writeTuned(w io.Writer, all []tuning.Found) error {
	columns := []table.Column{
		{Head: "curve", Keep: table.Never}, {Head: "group", Keep: table.Never}, {Head: "points", Keep: table.Never},
		{Head: "now ms", Keep: 1}, {Head: "best ms", Keep: 1}, {Head: "change", Keep: table.Never},
	}
	var rows [][]string
	for _, s := range all {
		now, best := "-", "-"
		if s.Now > 0 {
			now, best = Digits(s.Now), Digits(s.Best)
		}
		rows = append(rows, []string{s.Curve.String(), s.Group.String(), units.FormatSize(s.N), now, best, cmp.Or(s.Change, "none")})
	}
	return table.Write(w, table.Fit(w), false, columns, rows)
}
