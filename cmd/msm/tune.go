package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/bench"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	"github.com/pippin-zk/pippin/internal/outfile"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/internal/table"
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

// tableFile is the file of a card's own table, "" where none is to be used.
func (a *app) tableFile(card string) string {
	return msmplan.OwnFile(a.getenv("PIPPIN_GPU_TUNING"), card)
}

func (a *app) tuneCommand() *cobra.Command {
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
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.tune(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.backend, "backend", "cuda:0", "with one GPU: cuda:0, cuda:GPU-UUID, plugin:PATH")
	flags.StringVar(&f.sizes, "size", "2^16,2^20,2^22", "points: 1000000, 2^20, 1Mi"+several)
	flags.StringVar(&f.curves, "curve", "bn254", names(backend.Curves()))
	flags.StringVar(&f.groups, "group", "g1", names(backend.Groups()))
	flags.IntVar(&f.count, "count", 7, "timed runs of each plan, after one to warm up")
	flags.IntVar(&f.most, "multiples", 64, "how many multiples of each base the backend may make beforehand, itself included: 1 is none")
	flags.Uint64Var(&f.seed, "seed", 1, "chooses points and scalars")
	flags.BoolVar(&f.dryRun, "dry-run", false, "say what would change, and write nothing")
	flags.StringVar(&f.out, "out", "", "file for the table (default in the user's folder for settings)")
	flags.StringVar(&f.cache, "cache", "", cacheHelp)
	completes(c, "curve", backend.Curves(), "all")
	completes(c, "group", backend.Groups(), "all")
	return c
}

// change is a way to plan otherwise.
type change struct {
	name string
	to   func(*msmplan.Costs)
}

// changes are what is tried.
var changes = []change{
	{"pairs", func(c *msmplan.Costs) {
		if c.Pair == 0 {
			c.Pair, c.Invert = 0.6, 100_000
		}
	}},
	{"no pairs", func(c *msmplan.Costs) { c.Pair = 0 }},
	{"fewer buckets", func(c *msmplan.Costs) { c.Reduce *= 2 }},
	{"far fewer buckets", func(c *msmplan.Costs) { c.Reduce *= 6 }},
	{"more buckets", func(c *msmplan.Costs) { c.Reduce /= 2 }},
	{"far more buckets", func(c *msmplan.Costs) { c.Reduce /= 6 }},
	{"fewer steps", func(c *msmplan.Costs) { c.Launch *= 3 }},
	{"more steps", func(c *msmplan.Costs) { c.Launch /= 3 }},
	{"copies hidden sooner", func(c *msmplan.Costs) { c.Overlap /= 4 }},
	{"copies hidden later", func(c *msmplan.Costs) { c.Overlap *= 4 }},
	{"shorter tasks", func(c *msmplan.Costs) { c.Piece /= 2 }},
	{"longer tasks", func(c *msmplan.Costs) { c.Piece *= 2 }},
	{"a shorter first level", func(c *msmplan.Costs) { c.FirstLevel-- }},
	{"a longer first level", func(c *msmplan.Costs) { c.FirstLevel++ }},
}

// tuning is a run of msm tune.
type tuning struct {
	a      *app
	f      tuneFlags
	cfg    bench.Config // of every measurement, but for backends, groups and curves
	dir    string       // for the tables of trials
	card   backend.Device
	now    msmplan.Tuning
	memory int64 // that a trial may have
}

// tuned is what was found for one size of a group.
type tuned struct {
	curve  backend.Curve
	group  backend.Group
	n      int
	costs  msmplan.Costs // that are the best
	change string        // "" is none
	now    float64       // ms, beside the best
	best   float64
}

func (a *app) tune(ctx context.Context, f tuneFlags) (err error) {
	t := &tuning{a: a, f: f}
	if err := t.configure(); err != nil {
		return err
	}
	curves, err := parseCurves(f.curves)
	if err != nil {
		return err
	}
	groups, err := parseGroups(f.groups)
	if err != nil {
		return err
	}
	out, own, err := t.look(ctx)
	if err != nil {
		return err
	}
	if t.dir, err = os.MkdirTemp("", "msm-tune-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(t.dir)) }()

	all, err := watched(ctx, a, func(progress bench.Progress, note func(string)) (all []tuned, err error) {
		t.cfg.Progress, t.cfg.Note = progress, note
		for _, c := range curves {
			for _, g := range groups {
				of, err := t.group(ctx, c, g)
				if err != nil {
					return nil, err
				}
				all = append(all, of...)
			}
		}
		return all, nil
	})
	if err != nil {
		return err
	}
	if err := writeTuned(a.stdout, all); err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(s tuned) bool { return s.change != "" }) {
		fmt.Fprintf(a.stdout, "\n%s: nothing is faster than %v.\n", t.card.Name, t.now)
		return nil
	}
	text, err := retuned(own, t.card.Name, all).Bytes()
	if err != nil {
		return err
	}
	if f.dryRun {
		fmt.Fprintf(a.stdout, "\n%s would be:\n%s", out, text)
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	if err := outfile.Replace(out, text); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\n%s is written: the backend plans by it when it is opened next.\n", out)
	return nil
}

// configure reads the flags.
func (t *tuning) configure() (err error) {
	t.cfg = bench.Config{Distributions: []fixtures.Distribution{fixtures.Uniform}, Paths: []record.Path{record.Arena}, Count: t.f.count, Multiples: t.f.most, Seed: t.f.seed, Check: true}
	if t.cfg.Sizes, err = parseSizes(t.f.sizes); err != nil {
		return err
	}
	slices.Sort(t.cfg.Sizes)
	t.cfg.Sizes = slices.Compact(t.cfg.Sizes)
	if t.f.count < 3 {
		return usageError{errors.New("--count: three runs at least tell a difference from noise")}
	}
	if t.f.most < 1 {
		return usageError{fmt.Errorf("--multiples %d", t.f.most)}
	}
	t.cfg.CacheDir, err = t.a.cacheDir(t.f.cache)
	return err
}

// look finds the card, the file for its table, and what is in that.
func (t *tuning) look(ctx context.Context) (out string, own *msmplan.Table, err error) {
	open, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	b, err := t.a.opener("PIPPIN_GPU_TUNING=none")(open, t.f.backend)
	if err != nil {
		return "", nil, err
	}
	info := b.Info()
	if err := b.Close(); err != nil {
		return "", nil, err
	}
	// Only a backend that plans by tables says which.
	if len(info.Devices) != 1 || !strings.Contains(info.Devices[0].Detail, msmplan.PlansOf) {
		return "", nil, usageError{fmt.Errorf("--backend %s has %d devices, or none that plans by tables: name one GPU, as cuda:0", t.f.backend, len(info.Devices))}
	}
	t.card = info.Devices[0]
	t.memory = int64(t.card.Memory) / 2 // two are there at a time
	if out = cmp.Or(t.f.out, t.a.tableFile(t.card.Name)); out == "" {
		return "", nil, usageError{errors.New("there is no folder for settings: name a file with --out")}
	}
	if own, err = msmplan.ReadTable(out); errors.Is(err, fs.ErrNotExist) {
		own, err = nil, nil
	}
	if err == nil {
		t.now, err = msmplan.TuningFor(t.card.Name, "", 0, own)
	}
	return out, own, err
}

// group measures the changes of a group, one after the other beside what there is, and
// then the best of them together once more: what was chance is dropped.
func (t *tuning) group(ctx context.Context, c backend.Curve, g backend.Group) ([]tuned, error) {
	found := make([]tuned, len(t.cfg.Sizes))
	for i, n := range t.cfg.Sizes {
		found[i] = tuned{curve: c, group: g, n: n, costs: t.now.Costs(c, g, n)}
	}
	for _, change := range changes {
		trial := slices.Clone(found)
		for i := range trial {
			trial[i].costs = t.now.Costs(c, g, trial[i].n)
			change.to(&trial[i].costs)
		}
		alike, err := t.alike(trial)
		if err != nil || alike {
			continue // no table, or no other plan
		}
		took, err := t.compare(ctx, c, g, trial)
		if err != nil {
			return nil, err
		}
		for i, r := range took {
			if s := &found[i]; r.faster() && (s.change == "" || r.ratio() < s.best/s.now) {
				s.costs, s.change, s.now, s.best = trial[i].costs, change.name, r.now.Median, r.trial.Median
			}
		}
	}
	if !slices.ContainsFunc(found, func(s tuned) bool { return s.change != "" }) {
		return found, nil
	}
	took, err := t.compare(ctx, c, g, found)
	if err != nil {
		return nil, err
	}
	for i, r := range took {
		s := &found[i]
		if s.now, s.best = r.now.Median, r.trial.Median; s.change != "" && !r.faster() {
			s.costs, s.change = t.now.Costs(c, g, s.n), ""
		}
	}
	return found, nil
}

// alike tells whether plans with the changed costs are those that there are.
func (t *tuning) alike(trial []tuned) (bool, error) {
	text, err := retuned(nil, t.card.Name, trial).Bytes()
	if err != nil {
		return false, err
	}
	own, err := msmplan.ParseTable(text)
	if err != nil {
		return false, err
	}
	with, err := msmplan.TuningFor(t.card.Name, "", 0, own)
	if err != nil {
		return false, err
	}
	for _, s := range trial {
		var shapes [2]string
		for i, of := range []msmplan.Tuning{t.now, with} {
			o, err := msmplan.Outlined(of, s.curve, s.group, s.n, t.f.most, t.memory)
			if err != nil {
				return false, err
			}
			shapes[i] = o.Shape
		}
		if shapes[0] != shapes[1] {
			return false, nil
		}
	}
	return true, nil
}

// compared is the runs of one size.
type compared struct{ now, trial record.Run }

func (c *compared) ratio() float64 { return c.trial.Median / c.now.Median }

// leastGain is what a change must bring, beside the noise of both.
const leastGain = 0.01

func (c *compared) faster() bool {
	return c.trial.Median*(1+max(leastGain, c.trial.Spread)) < c.now.Median*(1-c.now.Spread)
}

// compare times the plans of costs beside those that there are, a run of each in turn.
func (t *tuning) compare(ctx context.Context, c backend.Curve, g backend.Group, trial []tuned) ([]compared, error) {
	cfg := t.cfg
	cfg.Curves, cfg.Groups, cfg.Backends = []backend.Curve{c}, []backend.Group{g}, []string{"now", "trial"}
	files := map[string]string{}
	for name, of := range map[string][]tuned{"now": t.unchanged(trial), "trial": trial} {
		text, err := retuned(nil, t.card.Name, of).Bytes()
		if err != nil {
			return nil, err
		}
		files[name] = filepath.Join(t.dir, name+".json")
		if err := os.WriteFile(files[name], text, 0o600); err != nil {
			return nil, err
		}
	}
	cfg.Open = func(ctx context.Context, name string) (backend.Backend, error) {
		if files[name] == "" { // the oracle's
			return t.a.opener()(ctx, name)
		}
		return t.a.opener("PIPPIN_GPU_TUNING="+files[name], fmt.Sprintf("PIPPIN_GPU_MEMORY=%d", t.memory))(ctx, t.f.backend)
	}
	runs, _, err := bench.MSM(ctx, cfg)
	if err != nil {
		return nil, err
	}
	all := make([]compared, len(trial))
	for _, r := range runs {
		i := slices.Index(cfg.Sizes, r.N)
		if r.Backend == "now" {
			all[i].now = r
		} else {
			all[i].trial = r
		}
	}
	return all, nil
}

// unchanged is the costs that there are now.
func (t *tuning) unchanged(of []tuned) []tuned {
	now := slices.Clone(of)
	for i, s := range of {
		now[i].costs = t.now.Costs(s.curve, s.group, s.n)
	}
	return now
}

// retuned is the table own with the costs that were found, each up to the middle
// between its size and the next one.
func retuned(own *msmplan.Table, card string, found []tuned) *msmplan.Table {
	t := &msmplan.Table{Card: card}
	same := func(c msmplan.Costs, s tuned) bool { return c.Curve == s.curve.String() && c.Group == s.group.String() }
	if own != nil {
		t.Capability, t.Multiprocessors = own.Capability, own.Multiprocessors
		for _, c := range own.Groups {
			if !slices.ContainsFunc(found, func(s tuned) bool { return same(c, s) }) {
				t.Groups = append(t.Groups, c)
			}
		}
	}
	for i, s := range found {
		c := s.costs
		if c.UpTo = 0; i+1 < len(found) && found[i+1].n > s.n && same(c, found[i+1]) {
			c.UpTo = int(math.Sqrt(float64(s.n) * float64(found[i+1].n)))
		}
		if last := len(t.Groups) - 1; last >= 0 && t.Groups[last].UpTo > 0 {
			if like := t.Groups[last]; same(like, s) {
				if like.UpTo = c.UpTo; like == c {
					t.Groups = t.Groups[:last] // one for both sizes
				}
			}
		}
		t.Groups = append(t.Groups, c)
	}
	return t
}

func writeTuned(w io.Writer, all []tuned) error {
	columns := []table.Column{
		{Head: "curve", Keep: table.Never}, {Head: "group", Keep: table.Never}, {Head: "points", Keep: table.Never},
		{Head: "now ms", Keep: 1}, {Head: "best ms", Keep: 1}, {Head: "change", Keep: table.Never},
	}
	var rows [][]string
	for _, s := range all {
		now, best := "-", "-"
		if s.now > 0 {
			now, best = short(s.now), short(s.best)
		}
		rows = append(rows, []string{s.curve.String(), s.group.String(), units.FormatSize(s.n), now, best, cmp.Or(s.change, "none")})
	}
	return table.Write(w, width(w), false, columns, rows)
}
