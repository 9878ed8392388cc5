package bench

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/record"
)

// Phases collects how long the phases of calls took, by what the backend counts, and the
// engine's if they are watched. A nil one collects nothing. No other call is running on the
// backend.
type Phases struct {
	of     *Single
	engine *EnginePhases // nil without
	calls  int
	all    []phase
}

// PhasesWith collects what the engine's backend counts and, if watched is not nil, the
// engine's own phases, of which it is the observer.
func (e *Single) PhasesWith(watched *EnginePhases) *Phases { return &Phases{of: e, engine: watched} }

type phase struct {
	name    string
	samples []time.Duration
}

// around calls do and counts what it takes of every phase; counted tells whether that is kept.
func (p *Phases) around(ctx context.Context, counted bool, do func() error) error {
	if p == nil {
		return do()
	}
	before := p.of.usage(ctx).Stages
	p.engine.take()
	if err := do(); err != nil || !counted {
		return err
	}
	for _, s := range p.engine.take() {
		p.add(s.Name, s.Busy)
	}
	for _, s := range p.of.usage(ctx).Stages {
		for _, b := range before {
			if b.Name == s.Name {
				s.Busy -= b.Busy
			}
		}
		p.add(s.Name, s.Busy)
	}
	p.calls++
	return nil
}

// add adds a sample of this call. Of the calls before the first with a phase it took nothing.
func (p *Phases) add(name string, took time.Duration) {
	i := slices.IndexFunc(p.all, func(p phase) bool { return p.name == name })
	if i < 0 {
		i, p.all = len(p.all), append(p.all, phase{name: name})
	}
	q := &p.all[i]
	q.samples = append(q.samples, make([]time.Duration, p.calls-len(q.samples))...)
	q.samples = append(q.samples, took)
}

// runs makes a run of each phase that took time, in the order in which the backend
// lists them, like that of the calls.
func (p *Phases) runs(of report.Run) (all []report.Run) {
	if p == nil {
		return nil
	}
	for _, q := range p.all {
		if slices.Max(q.samples) == 0 {
			continue
		}
		run := of.Clone()
		run.Op, run.What, run.Figures, run.Times = of.Op+report.PhaseOf, q.name, nil, record.TimesOf(q.samples)
		all = append(all, run)
	}
	return all
}

// EnginePhases is an engine's observer, which adds up its spaces and programs. A nil one adds
// up nothing.
type EnginePhases struct {
	mu   sync.Mutex
	took map[engine.PhaseKind]time.Duration
}

func (p *EnginePhases) Begin(ctx context.Context, phase engine.Phase) (context.Context, func(error)) {
	start := time.Now()
	return ctx, func(error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.took == nil {
			p.took = map[engine.PhaseKind]time.Duration{}
		}
		p.took[phase.Kind] += time.Since(start)
	}
}

// take returns what was added, and begins again.
func (p *EnginePhases) take() (all []backend.StageUsage) {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, kind := range []engine.PhaseKind{engine.PhaseSpace, engine.PhaseProgram} {
		all = append(all, backend.StageUsage{Name: string(kind), Busy: p.took[kind]})
	}
	p.took = nil
	return all
}

// noteWithoutPhases names the backends of runs that had no phases.
func noteWithoutPhases(runs []report.Run, note func(string, ...any)) {
	had := map[string]bool{}
	for _, r := range runs {
		had[r.Backend] = had[r.Backend] || strings.HasSuffix(r.Op, report.PhaseOf)
	}
	for _, name := range slices.Sorted(maps.Keys(had)) {
		if !had[name] {
			note("backend %s counted no phases: it is no GPU's, or its process was started without PIPPIN_GPU_STAGES=1", name)
		}
	}
}

// usage returns what the engine's backend has counted until now; nothing where it does not.
func (e *Single) usage(ctx context.Context) backend.Usage {
	m, ok := backend.As[backend.Metered](e.only)
	if !ok || e.only.Ping(ctx) != nil { // of a plugin it is what it said last
		return backend.Usage{}
	}
	return m.Usage()
}

// multiples returns the bytes of multiples of bases on the card of a backend that has the most of them now.
func (e *Single) multiples(ctx context.Context) (most int64) {
	for _, d := range e.usage(ctx).Devices {
		most = max(most, d.Multiples)
	}
	return most
}
