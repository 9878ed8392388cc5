// Package tuning searches for the plans by which a card computes MSMs fastest. It
// changes the costs that plans follow from, one at a time, times the changed plans
// beside those that the card has, and keeps what is faster by more than the noise.
package tuning

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	"github.com/pippin-zk/pippin/internal/record"
)

// Search says what is tuned.
type Search struct {
	// Measure is the configuration of every measurement. Its sizes ascend, and every
	// curve is measured in every group. Search sets its backends, and opens them.
	Measure bench.MSM
	// Open opens the card's backend with more variables in its environment.
	Open func(ctx context.Context, environment ...string) (backend.Backend, error)
	// Oracle opens any other backend by name, such as the one that checks answers.
	Oracle func(ctx context.Context, name string) (backend.Backend, error)

	Card   string         // the name of the card
	Now    msmplan.Tuning // what it plans by
	Memory int64          // bytes of the card that a backend may have; two are open at a time
}

// Found is the result for one size of a group.
type Found struct {
	Curve  backend.Curve
	Group  backend.Group
	N      int           // points
	Costs  msmplan.Costs // the best ones
	Change string        // the name of the change that led to them; "" where nothing was faster
	Now    float64       // milliseconds by the plans that there are; 0 where no change was faster
	Best   float64       // milliseconds by Costs, likewise
}

// search is a Search that runs. Its folder has the tables of the trials.
type search struct {
	Search
	dir string
}

// Run measures every group of every curve and returns what it found for each size. It
// stops with ctx, and then returns the groups that were finished beside the error.
func (s Search) Run(ctx context.Context) (all []Found, err error) {
	t := &search{Search: s}
	if t.dir, err = os.MkdirTemp("", "msm-tune-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(t.dir)) }()
	for _, c := range s.Measure.Curves {
		for _, g := range s.Measure.Groups {
			of, err := t.group(ctx, c, g)
			if err != nil {
				return all, err
			}
			all = append(all, of...)
		}
	}
	return all, nil
}

// Faster reports whether a change made any size faster.
func Faster(all []Found) bool {
	return slices.ContainsFunc(all, func(f Found) bool { return f.Change != "" })
}

// change is a way to plan otherwise.
type change struct {
	name string
	to   func(*msmplan.Costs)
}

// changes lists what a search tries.
var changes = []change{
	{"pairs", func(c *msmplan.Costs) {
		if c.Pair == 0 {
			c.Pair, c.Invert = 0.6, 100_000
		}
	}},
	{"no pairs", func(c *msmplan.Costs) { c.Pair = 0 }},
	{"affine sums", func(c *msmplan.Costs) {
		if c.Affine == 0 {
			c.Affine, c.Step = 0.6, 80_000
		}
	}},
	{"no affine sums", func(c *msmplan.Costs) { c.Affine = 0 }},
	{"sums by four threads", func(c *msmplan.Costs) {
		if c.Quad == 0 {
			c.Quad = 0.3
		}
	}},
	{"no sums by four threads", func(c *msmplan.Costs) { c.Quad = 0 }},
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

// group measures the changes of a group, one after the other beside what there is, and
// then the best of them together once more: what was chance is dropped.
func (t *search) group(ctx context.Context, c backend.Curve, g backend.Group) ([]Found, error) {
	found := make([]Found, len(t.Measure.Sizes))
	for i, n := range t.Measure.Sizes {
		found[i] = Found{Curve: c, Group: g, N: n, Costs: t.Now.Costs(c, g, n)}
	}
	for _, change := range changes {
		trial := slices.Clone(found)
		for i := range trial {
			trial[i].Costs = t.Now.Costs(c, g, trial[i].N)
			change.to(&trial[i].Costs)
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
			if s := &found[i]; r.faster() && (s.Change == "" || r.ratio() < s.Best/s.Now) {
				s.Costs, s.Change, s.Now, s.Best = trial[i].Costs, change.name, r.now.Median, r.trial.Median
			}
		}
	}
	if !slices.ContainsFunc(found, func(s Found) bool { return s.Change != "" }) {
		return found, nil
	}
	took, err := t.compare(ctx, c, g, found)
	if err != nil {
		return nil, err
	}
	for i, r := range took {
		s := &found[i]
		if s.Now, s.Best = r.now.Median, r.trial.Median; s.Change != "" && !r.faster() {
			s.Costs, s.Change = t.Now.Costs(c, g, s.N), ""
		}
	}
	return found, nil
}

// alike reports whether the changed costs lead to the plans that there are.
func (t *search) alike(trial []Found) (bool, error) {
	text, err := Table(nil, t.Card, trial).Bytes()
	if err != nil {
		return false, err
	}
	own, err := msmplan.ParseTable(text)
	if err != nil {
		return false, err
	}
	with, err := msmplan.TuningFor(t.Card, "", 0, own)
	if err != nil {
		return false, err
	}
	for _, s := range trial {
		var shapes [2]string
		for i, of := range []msmplan.Tuning{t.Now, with} {
			o, err := msmplan.Outlined(of, s.Curve, s.Group, s.N, backend.Hints{Multiples: t.Measure.Multiples}, t.Memory)
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

// compared has the times of one size by both plans.
type compared struct{ now, trial record.Times }

// ratio returns the time of the trial as a part of the time now.
func (c *compared) ratio() float64 { return c.trial.Median / c.now.Median }

// leastGain is what a change must bring, beside the noise of both.
const leastGain = 0.01

// faster reports whether the trial gained more than leastGain and the noise.
func (c *compared) faster() bool {
	return c.trial.Median*(1+max(leastGain, c.trial.Spread)) < c.now.Median*(1-c.now.Spread)
}

// compare times the plans of costs beside those that there are, a run of each in turn.
func (t *search) compare(ctx context.Context, c backend.Curve, g backend.Group, trial []Found) ([]compared, error) {
	cfg := t.Measure
	cfg.Curves, cfg.Groups, cfg.Backends = []backend.Curve{c}, []backend.Group{g}, []string{"now", "trial"}
	files := map[string]string{}
	for name, of := range map[string][]Found{"now": t.unchanged(trial), "trial": trial} {
		text, err := Table(nil, t.Card, of).Bytes()
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
			return t.Oracle(ctx, name)
		}
		return t.Open(ctx, "PIPPIN_GPU_TUNING="+files[name], fmt.Sprintf("PIPPIN_GPU_MEMORY=%d", t.Memory))
	}
	runs, _, err := bench.Measure(ctx, &cfg)
	if err != nil {
		return nil, err
	}
	all := make([]compared, len(trial))
	for _, r := range runs {
		i := slices.Index(cfg.Sizes, r.N)
		if r.Backend == "now" {
			all[i].now = r.Times
		} else {
			all[i].trial = r.Times
		}
	}
	return all, nil
}

// unchanged returns the same sizes with the costs that there are now.
func (t *search) unchanged(of []Found) []Found {
	now := slices.Clone(of)
	for i, s := range of {
		now[i].Costs = t.Now.Costs(s.Curve, s.Group, s.N)
	}
	return now
}

// Table returns the table own, nil for none, with the costs that were found. Those of a
// size count up to the middle between it and the next one.
func Table(own *msmplan.Table, card string, found []Found) *msmplan.Table {
	t := &msmplan.Table{Card: card}
	same := func(c msmplan.Costs, s Found) bool { return c.Curve == s.Curve.String() && c.Group == s.Group.String() }
	if own != nil {
		t.Capability, t.Multiprocessors = own.Capability, own.Multiprocessors
		for _, c := range own.Groups {
			if !slices.ContainsFunc(found, func(s Found) bool { return same(c, s) }) {
				t.Groups = append(t.Groups, c)
			}
		}
	}
	for i, s := range found {
		c := s.Costs
		if c.UpTo = 0; i+1 < len(found) && found[i+1].N > s.N && same(c, found[i+1]) {
			c.UpTo = int(math.Sqrt(float64(s.N) * float64(found[i+1].N)))
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
