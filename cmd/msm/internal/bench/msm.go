package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/internal/units"
	"github.com/pippin-zk/pippin/msm"
)

// MSM measures what cfg says. The runs are in the order of the configuration:
// curve, group, size, distribution, backend, path.
//
// With an error the result still holds what was measured so far: when ctx
// ends (its error), when a backend fails (a sentinel of backend), or, after
// everything was measured, when answers were wrong (ErrWrong).
func MSM(ctx context.Context, cfg Config) (_ []report.Run, _ []record.BackendInfo, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	all, err := openEngines(ctx, cfg.Open, cfg.Backends, cfg.Note, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, all.close()) }()
	m := &measuring{cfg: cfg}
	for _, c := range cfg.Curves {
		able := all.with(c, cfg.Note)
		if len(able) == 0 {
			continue
		}
		for _, g := range cfg.Groups {
			if err := m.group(ctx, able, c, g); err != nil {
				return m.runs, all.describe(), err
			}
		}
	}
	if len(m.runs) == 0 {
		err = fmt.Errorf("%w: no backend has any of the curves", backend.ErrUnsupported)
	}
	if cfg.Phases && cfg.Note != nil {
		noteWithoutPhases(m.runs, cfg.Note)
	}
	for _, r := range m.runs {
		if r.Op == "msm" && r.Wrong > 0 {
			err = errors.Join(err, fmt.Errorf("%w: %s, %s %s, %d points, %s scalars: %d answers", ErrWrong,
				r.Backend, r.Curve, r.Group, r.N, r.Distribution, r.Wrong))
		}
	}
	return m.runs, all.describe(), err
}

// measuring is a call of MSM.
type measuring struct {
	cfg  Config
	runs []report.Run
}

// inputs is the points of one group.
type inputs struct {
	group
	curve  backend.Curve
	points *fixtures.Points
	bytes  []byte // at least as many as the largest size
	name   string
	digest backend.Digest // of the bases of the size that is measured
}

// group measures all sizes of one group.
func (m *measuring) group(ctx context.Context, able engines, c backend.Curve, g backend.Group) (err error) {
	in := &inputs{curve: c, name: fmt.Sprintf("%v %v", c, g)}
	if in.group, err = groupOf(c, g); err != nil {
		return err
	}
	if in.points, err = fixtures.NewPoints(c, g, m.cfg.Seed); err != nil {
		return err
	}
	most := 0
	for _, n := range m.cfg.Sizes {
		most = max(most, n)
	}
	stage := fmt.Sprintf("%s: %s points", in.name, units.FormatSize(most))
	m.cfg.Progress.tell(stage, 0, most)
	cache := fixtures.Cache{Dir: m.cfg.CacheDir, Note: m.cfg.Note, Progress: func(done, total int) { m.cfg.Progress.tell(stage, done, total) }}
	f, err := cache.Open(ctx, in.points, most)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }() // after the bases in it were closed
	if in.bytes, err = f.Bytes(); err != nil {
		return err
	}
	if m.cfg.Check {
		if err := checkOracle(ctx, m.cfg, in); err != nil {
			return err
		}
	}
	for _, n := range m.cfg.Sizes {
		if err := m.size(ctx, able, in, n); err != nil {
			return err
		}
	}
	return nil
}

// oraclePoints is how many points double-and-add gets.
const oraclePoints = 64

// checkOracle compares the oracle with double-and-add, on the first points in
// the file and scalars of every distribution.
func checkOracle(ctx context.Context, cfg Config, in *inputs) (err error) {
	e, err := openEngine(ctx, cfg.Open, "reference", nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	n := min(oraclePoints, len(in.bytes)/in.points.Size())
	b, err := in.load(ctx, e.Engine, in.bytes[:n*in.points.Size()])
	if err != nil {
		return err
	}
	defer b.close()
	for _, d := range cfg.Distributions {
		scalars, err := fixtures.Scalars(in.curve, d, cfg.Seed, n)
		if err != nil {
			return err
		}
		want, err := in.points.Expected(0, scalars)
		if err != nil {
			return err
		}
		s, err := b.scalars(ctx, 0, scalars, report.Copy)
		if err != nil {
			return err
		}
		got, _, err := s.msm(ctx)
		if err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("%w: %s, %d points, %v scalars: double-and-add and the discrete logarithms differ", ErrWrong, in.name, n, d)
		}
	}
	return nil
}

// size measures all distributions of one size on bases loaded once.
func (m *measuring) size(ctx context.Context, able engines, in *inputs, n int) (err error) {
	loaded := make([]bases, len(able))
	took := make([]time.Duration, len(able))
	defer func() {
		for _, b := range loaded {
			if b != nil {
				err = errors.Join(err, b.close())
			}
		}
	}()
	stage := fmt.Sprintf("%s %s: loading", in.name, units.FormatSize(n))
	for i, e := range able {
		m.cfg.Progress.tell(stage, i, len(able))
		start := time.Now()
		if loaded[i], err = in.load(ctx, e.Engine, in.bytes[:n*in.points.Size()], msm.Multiples(max(1, m.cfg.Multiples))); err != nil {
			return err
		}
		took[i] = time.Since(start)
	}
	m.cfg.Progress.tell(stage, len(able), len(able))
	same := backend.Bases{Curve: in.curve, Group: in.points.Key().Group, Count: n, Bytes: in.bytes[:n*in.points.Size()]}
	if in.digest, err = same.Digest(ctx); err != nil {
		return err
	}
	for _, d := range m.cfg.Distributions {
		if err := m.distribution(ctx, able, loaded, took, in, n, d); err != nil {
			return err
		}
	}
	return nil
}

// distribution measures one vector of scalars on every backend and path.
func (m *measuring) distribution(ctx context.Context, able engines, loaded []bases, took []time.Duration, in *inputs, n int, d fixtures.Distribution) error {
	what := fmt.Sprintf("%s %s %v", in.name, units.FormatSize(n), d)
	m.cfg.Progress.tell(what+": scalars", 0, 1)
	scalars, err := fixtures.Scalars(in.curve, d, m.cfg.Seed, n)
	if err != nil {
		return err
	}
	var want []byte
	if m.cfg.Check {
		if want, err = in.points.Expected(0, scalars); err != nil {
			return err
		}
	}
	m.cfg.Progress.tell(what+": scalars", 1, 1)
	if err := ctx.Err(); err != nil {
		return err
	}
	var all []*series
	defer func() {
		for _, l := range all {
			l.input.free()
			for _, in := range l.batch {
				in.free()
			}
		}
	}()
	for i, e := range able {
		for _, p := range pathsOf(e, m.cfg.Paths) {
			s, err := loaded[i].scalars(ctx, 0, scalars, p)
			if err != nil {
				return fmt.Errorf("backend %s: %w", e.name, err)
			}
			l := &series{input: s, want: want, bases: loaded[i], energy: e.energy, run: report.Run{
				Op: "msm", Curve: in.curve.String(), Group: in.points.Key().Group.String(), N: n, Bases: in.digest.String(),
				Backend: e.name, Version: e.info.Version, Device: e.device(), Devices: len(e.info.Devices),
				Distribution: d.String(), Seed: m.cfg.Seed, Path: p, Measure: measureOf(e),
				LoadBase: record.Millis(took[i]), Multiples: m.cfg.Multiples,
			}}
			if m.cfg.Phases {
				l.phases = &phases{of: e}
			}
			all = append(all, l)
		}
	}
	if m.cfg.Batch {
		if err := m.batches(ctx, all, in, n, d); err != nil {
			return err
		}
	}
	progress := func(stage string) func(done, total int) {
		return func(done, total int) { m.cfg.Progress.tell(stage, done, total) }
	}
	start := time.Now()
	warmup := cmp.Or(m.cfg.Warmup, 1)
	err = alternate(all, warmup+m.cfg.Count, progress(what), func(l *series, round int) error { return l.once(ctx, round >= warmup) })
	for err == nil && m.cfg.Until > 0 && time.Since(start) < m.cfg.Within && !settled(all, m.cfg.Until) {
		stage := fmt.Sprintf("%s, run %d", what, 1+len(all[0].samples))
		err = alternate(all, 1, progress(stage), func(l *series, _ int) error { return l.once(ctx, true) })
	}
	if err == nil && m.cfg.Until > 0 && m.cfg.Note != nil && !settled(all, m.cfg.Until) {
		m.cfg.Note(fmt.Sprintf("%s: medians are not known to %.3g %% after %v", what, 100*m.cfg.Until, m.cfg.Within))
	}
	if calls := m.cfg.BackToBack; err == nil && calls > 0 {
		row := report.BackToBack{Calls: calls, Callers: m.cfg.Callers, Batch: m.cfg.Batch}
		err = alternate(all, m.cfg.Count, progress(what+", back to back"), func(l *series, _ int) error { return l.row(ctx, row) })
	}
	for _, l := range all {
		if len(l.samples) > 0 {
			run := l.result()
			m.runs = append(append(m.runs, run), l.phases.runs(run)...)
		}
	}
	return err
}

// batches gives every series the scalars of a batch, different for each MSM, and
// answers to compare with.
func (m *measuring) batches(ctx context.Context, all []*series, in *inputs, n int, d fixtures.Distribution) error {
	stage := fmt.Sprintf("%s %s %v: scalars of a batch", in.name, units.FormatSize(n), d)
	for k := range m.cfg.BackToBack {
		m.cfg.Progress.tell(stage, k, m.cfg.BackToBack)
		scalars, err := fixtures.Scalars(in.curve, d, m.cfg.Seed+uint64(k)+1, n)
		if err != nil {
			return err
		}
		var want []byte
		if m.cfg.Check {
			if want, err = in.points.Expected(0, scalars); err != nil {
				return err
			}
		}
		for _, l := range all {
			s, err := l.bases.scalars(ctx, 0, scalars, l.run.Path)
			if err != nil {
				return fmt.Errorf("backend %s: %w", l.run.Backend, err)
			}
			l.batch, l.wants = append(l.batch, s), append(l.wants, want)
		}
	}
	m.cfg.Progress.tell(stage, m.cfg.BackToBack, m.cfg.BackToBack)
	return nil
}

// pathsOf returns the paths that make a difference for a backend.
func pathsOf(e *single, paths []report.Path) []report.Path {
	if e.shared {
		return paths
	}
	return []report.Path{report.Copy}
}

func measureOf(e *single) string {
	if isPlugin(e.name) {
		return report.EndToEndPlugin
	}
	return report.EndToEnd
}

// series is the runs of one backend and path on one input.
type series struct {
	input   input
	want    []byte // nil when answers are not compared
	run     report.Run
	samples []time.Duration
	bases   bases
	batch   []input           // of rows that are batches
	wants   [][]byte          // their answers
	rows    []time.Duration   // of calls back to back
	each    report.BackToBack // what a row is
	energy  func(context.Context) uint64
	joules  []float64 // of rows of which it is known
	phases  *phases   // nil where they are not wanted
}

// alternate runs every series in turn, rounds times: a drift of the machine's
// speed meets all series alike. It ends early, with the samples so far, at the
// first error.
func alternate(all []*series, rounds int, progress func(done, total int), run func(s *series, round int) error) error {
	total := rounds * len(all)
	for round := range rounds {
		for i, s := range all {
			progress(round*len(all)+i, total)
			if err := run(s, round); err != nil {
				return err
			}
		}
	}
	progress(total, total)
	return nil
}

// settled reports whether every median is known to a share of it.
func settled(all []*series, share float64) bool {
	return !slices.ContainsFunc(all, func(s *series) bool { return !(report.Uncertainty(record.AllMillis(s.samples)) <= share) })
}

// once runs one MSM. Garbage of earlier ones is collected before the clock
// starts.
func (s *series) once(ctx context.Context, timed bool) error {
	runtime.GC()
	var got []byte
	var took time.Duration
	err := s.phases.around(ctx, timed, func() (err error) {
		got, took, err = s.input.msm(ctx)
		return err
	})
	if err != nil {
		return err
	}
	s.judge(got, s.want)
	if timed {
		s.samples = append(s.samples, took)
	}
	return nil
}

// row runs calls MSMs without a pause, one after the other by each of so many
// callers, or as one batch. One more before them is not timed: what a backend still
// does after it is in the time of the row, as what it does after the last is not.
// Answers are judged afterwards.
func (s *series) row(ctx context.Context, of report.BackToBack) error {
	runtime.GC()
	first, _, err := s.input.msm(ctx)
	if err != nil {
		return err
	}
	s.judge(first, s.want)
	before := s.energy(ctx)
	start := time.Now()
	var answers, wants [][]byte
	if of.Batch {
		answers, err = s.bases.batch(ctx, s.batch)
		wants = s.wants
	} else {
		answers, err = s.calls(ctx, of.Calls, of.Callers)
		wants = slices.Repeat([][]byte{s.want}, of.Calls)
	}
	if err != nil {
		return err
	}
	s.rows, s.each = append(s.rows, time.Since(start)), of
	if after := s.energy(ctx); before > 0 && after >= before {
		s.joules = append(s.joules, float64(after-before)/1e3)
	}
	for i, a := range answers {
		s.judge(a, wants[i])
	}
	return nil
}

// calls lets callers share so many calls.
func (s *series) calls(ctx context.Context, calls, callers int) ([][]byte, error) {
	answers := make([][]byte, calls)
	group, calling := errgroup.WithContext(ctx)
	group.SetLimit(max(1, callers))
	for i := range calls {
		group.Go(func() (err error) {
			answers[i], _, err = s.input.msm(calling)
			return err
		})
	}
	return answers, group.Wait()
}

// judge counts a wrong answer; want is nil where answers are not compared.
func (s *series) judge(got, want []byte) {
	if want != nil && !bytes.Equal(got, want) {
		s.run.Wrong++
	}
}

func (s *series) result() report.Run {
	r := s.run
	r.SetSamples(s.samples)
	if len(s.rows) > 0 {
		r.SetRows(s.each, s.rows, s.joules)
	}
	if s.want != nil {
		r.Oracle, r.Checked = report.Oracle, r.Wrong == 0
	}
	return r
}
