package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
)

// phases collects how long the phases of MSMs took, by what the backend counts. A nil
// one collects nothing. No other call is running on the backend.
type phases struct {
	of    *single
	calls int
	all   []phase
}

type phase struct {
	name    string
	samples []time.Duration
}

// around calls do and counts what it takes of every phase; counted tells whether that is kept.
func (p *phases) around(ctx context.Context, counted bool, do func() error) error {
	if p == nil {
		return do()
	}
	before := p.of.usage(ctx).Stages
	if err := do(); err != nil || !counted {
		return err
	}
	for _, s := range p.of.usage(ctx).Stages {
		for _, b := range before {
			if b.Name == s.Name {
				s.Busy -= b.Busy
			}
		}
		i := slices.IndexFunc(p.all, func(p phase) bool { return p.name == s.Name })
		if i < 0 {
			i, p.all = len(p.all), append(p.all, phase{name: s.Name})
		}
		// Of the calls before the first with this phase it took nothing.
		q := &p.all[i]
		q.samples = append(q.samples, make([]time.Duration, p.calls-len(q.samples))...)
		q.samples = append(q.samples, s.Busy)
	}
	p.calls++
	return nil
}

// runs makes a run of each phase that took time, in the order in which the backend
// lists them, like that of the MSMs.
func (p *phases) runs(of report.Run) (all []report.Run) {
	if p == nil {
		return nil
	}
	for _, q := range p.all {
		if slices.Max(q.samples) == 0 {
			continue
		}
		r := of
		r.Op, r.Phase, r.BackToBack = report.OpPhase, q.name, nil
		r.SetSamples(q.samples)
		all = append(all, r)
	}
	return all
}

// noteWithoutPhases names the backends of runs that had no phases.
func noteWithoutPhases(runs []report.Run, note func(string)) {
	had := map[string]bool{}
	for _, r := range runs {
		had[r.Backend] = had[r.Backend] || r.Op == report.OpPhase
	}
	for _, name := range slices.Sorted(maps.Keys(had)) {
		if !had[name] {
			note(fmt.Sprintf("backend %s counted no phases: it is no GPU's, or its process was started without PIPPIN_GPU_STAGES=1", name))
		}
	}
}

// usage returns what the engine's backend has counted until now; nothing where it does not.
func (e *single) usage(ctx context.Context) backend.Usage {
	m, ok := backend.As[backend.Metered](e.only)
	if !ok || e.only.Ping(ctx) != nil { // of a plugin it is what it said last
		return backend.Usage{}
	}
	return m.Usage()
}
