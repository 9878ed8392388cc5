package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/internal/units"
	"github.com/pippin-zk/pippin/msm"
)

// MSM measures MSMs: every curve with every group, size and distribution, on every backend
// and path, in turns.
type MSM struct {
	Common
	Curves        []backend.Curve
	Groups        []backend.Group
	Sizes         []int
	Distributions []fixtures.Distribution
	// Paths apply to backends that have shared memory; others know Copy only.
	Paths []report.Path

	// Warmup is the number of runs that are not timed, 1 when it is 0.
	Warmup int
	// Until, when above 0, adds rounds until the median of every backend and path is
	// known to this share of it, with confidence 0.95, but none after Within.
	Until  float64
	Within time.Duration
	// BackToBack, when above 0, adds Count rows of that many MSMs without a
	// pause on every backend and path.
	BackToBack int
	// Callers is how many goroutines share a row's calls: 0 is 1.
	Callers int
	// Batch makes each row one batch, every MSM of which has scalars of its own.
	Batch bool
	// Multiples is the hint that bases are loaded with: how many multiples of each a
	// backend may make before the first MSM. 0 is 1: none.
	Multiples int
	// Uniform is the hint that scalars look random.
	Uniform bool
	// Phases adds a run of every phase of the timed MSMs, on backends that count them
	// (backend.Usage.Stages). Note hears of others.
	Phases bool
	// Check compares every answer with the inner product of the scalars with the bases' known
	// discrete logarithms, and that itself with double-and-add on the first few points.
	Check bool
}

// Validate refuses an empty or senseless configuration with
// backend.ErrInvalidInput.
func (c *MSM) Validate() error {
	if err := c.ValidateCommon(); err != nil {
		return err
	}
	switch {
	case c.CacheDir == "":
		return Refused("bench needs a folder for points")
	case c.Warmup < 0:
		return Refused("%d runs to warm up", c.Warmup)
	case c.Until < 0 || c.Within < 0:
		return Refused("medians to a share of %v, within %v", c.Until, c.Within)
	case c.BackToBack < 0:
		return Refused("%d calls in a row", c.BackToBack)
	case c.Multiples < 0:
		return Refused("%d multiples of each base", c.Multiples)
	case c.Batch && (c.BackToBack == 0 || c.Callers > 1):
		return Refused("a batch of %d calls in a row by %d callers", c.BackToBack, c.Callers)
	case c.Callers < 0 || c.Callers > 1 && c.BackToBack == 0:
		return Refused("%d callers of %d calls in a row", c.Callers, c.BackToBack)
	}
	for _, p := range c.Paths {
		if p != report.Copy && p != report.Arena {
			return Refused("path %q (arena, copy)", p)
		}
	}
	return cmp.Or(Within("points", c.Sizes, 1, backend.MaxCount), Some("curves", c.Curves), Some("groups", c.Groups),
		Some("distributions", c.Distributions), Some("paths", c.Paths))
}

// discreteLogarithms is what answers are compared with.
const discreteLogarithms = "discrete logarithms"

// Sheet shows a line for each run, with phases and calls back to back where there are any.
func (c *MSM) Sheet() report.Sheet {
	return report.Sheet{
		Notes: c.legend,
		Before: []report.Column{
			report.ColumnCurve(7), report.ColumnGroup(4), report.ColumnN("n", report.Stays),
			report.ColumnInput("scalars", 5, report.InputDistribution), report.ColumnBackend(8), report.ColumnInput("path", 3, report.InputPath),
		},
		After: []report.Column{
			report.Text("Mpoints/s", 2, func(r *report.Run) string {
				if r.Op != report.OpMSM {
					return report.NoFigure
				}
				return fmt.Sprintf("%.3g", float64(r.N)/r.Median/1e3)
			}),
			report.ColumnMillis("back to back ms", 5, report.FigureBackToBack), report.ColumnMillis("in a batch ms", 5, report.FigureBatch),
			report.ColumnFigure("J a call", 5, report.FigureEnergy, "%.3g"),
		},
	}
}

// legend says what the numbers are.
func (c *MSM) legend(runs []report.Run) string {
	lines := []string{"Times are " + report.EndToEnd + ": from scalars in host memory to the affine point, bases loaded before."}
	for _, l := range []struct {
		of   func(report.Run) bool
		line string
	}{
		{func(r report.Run) bool { return r.Notes["measure"] == report.EndToEndPlugin },
			"Of plugins they include the way to the plugin's process and back."},
		{func(r report.Run) bool { return r.Op != report.OpMSM },
			"Phases: what the backend's devices took for each in the same calls, which timing them delays a little;\n" +
				"what runs side by side counts as one of them."},
		{func(r report.Run) bool { return r.Value(report.FigureCalls) > 0 },
			"Back to back, or in a batch: a call among many without a pause, so that what follows an answer, such as wiping, is in it."},
		{func(r report.Run) bool { return r.Value(report.FigureEnergy) > 0 },
			"J a call: all that the backend's devices used meanwhile, whatever for, divided by the calls."},
		{func(r report.Run) bool { return r.Oracle != "" },
			"Checked: every answer equals the one computed from the bases' " + discreteLogarithms + "."},
	} {
		if slices.ContainsFunc(runs, l.of) {
			lines = append(lines, l.line)
		}
	}
	return strings.Join(lines, "\n")
}

// measuring is a measurement of MSMs that runs.
type measuring struct {
	*Runner
	cfg *MSM
}

func (c *MSM) Measure(ctx context.Context, r *Runner) error {
	if err := r.Start(ctx, nil); err != nil {
		return err
	}
	m := &measuring{r, c}
	for _, curve := range c.Curves {
		able := r.Able(curve.String(), HasCurve(curve))
		if len(able) == 0 {
			continue
		}
		for _, g := range c.Groups {
			if err := m.group(ctx, able, curve, g); err != nil {
				return err
			}
		}
	}
	if c.Phases {
		noteWithoutPhases(r.Runs, r.Notef)
	}
	return nil
}

// inputs is the points of one group.
type inputs struct {
	group
	curve  backend.Curve
	points *fixtures.Points
	bytes  []byte // at least as many as the largest size
	name   string
}

// readPoints gives do the first points of a group, which lie in the cache.
func (c *Common) readPoints(ctx context.Context, curve backend.Curve, g backend.Group, most int, do func(*inputs) error) (err error) {
	in := &inputs{curve: curve, name: fmt.Sprintf("%v %v", curve, g)}
	if in.group, err = groupOf(curve, g); err != nil {
		return err
	}
	if in.points, err = fixtures.NewPoints(curve, g, c.Seed); err != nil {
		return err
	}
	stage := fmt.Sprintf("%s: %s points", in.name, units.FormatSize(most))
	c.Progress.Tell(stage, 0, most)
	cache := fixtures.Cache{Dir: c.CacheDir, Note: c.Note, Progress: func(done, total int) { c.Progress.Tell(stage, done, total) }}
	f, err := cache.Open(ctx, in.points, most)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }() // after the bases in it were closed
	if in.bytes, err = f.Bytes(); err != nil {
		return err
	}
	return do(in)
}

// group measures all sizes of one group.
func (m *measuring) group(ctx context.Context, able Engines, c backend.Curve, g backend.Group) error {
	return m.readPoints(ctx, c, g, slices.Max(m.cfg.Sizes), func(in *inputs) error {
		if m.cfg.Check {
			if err := m.checkOracle(ctx, in); err != nil {
				return err
			}
		}
		for _, n := range m.cfg.Sizes {
			if err := m.size(ctx, able, in, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// oraclePoints is how many points double-and-add gets.
const oraclePoints = 64

// checkOracle compares the oracle with double-and-add, on the first points in
// the file and scalars of every distribution.
func (m *measuring) checkOracle(ctx context.Context, in *inputs) (err error) {
	e, err := openEngine(ctx, m.Open, "reference", nil)
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
	for _, d := range m.cfg.Distributions {
		scalars, err := fixtures.Scalars(in.curve, d, m.Seed, n)
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

// loaded is the bases of one size on one engine.
type loaded struct {
	bases
	on   *Single
	took time.Duration
}

// size measures all distributions of one size on bases loaded once.
func (m *measuring) size(ctx context.Context, able Engines, in *inputs, n int) (err error) {
	points := in.bytes[:n*in.points.Size()]
	var all []loaded
	defer func() {
		for _, b := range all {
			err = errors.Join(err, b.close())
		}
	}()
	stage := fmt.Sprintf("%s %s: loading", in.name, units.FormatSize(n))
	for i, e := range able {
		m.Progress.Tell(stage, i, len(able))
		start := time.Now()
		hints := []msm.Hint{msm.Multiples(max(1, m.cfg.Multiples))}
		if m.cfg.Uniform {
			hints = append(hints, msm.Uniform())
		}
		b, err := in.load(ctx, e.Engine, points, hints...)
		if err != nil {
			return err
		}
		all = append(all, loaded{b, e, time.Since(start)})
	}
	m.Progress.Tell(stage, len(able), len(able))
	same := backend.Bases{Curve: in.curve, Group: in.points.Key().Group, Count: n, Bytes: points}
	digest, err := same.Digest(ctx)
	if err != nil {
		return err
	}
	run := report.Run{Op: report.OpMSM, Curve: in.curve.String(), Group: in.points.Key().Group.String(), N: n}
	run.Note("bases", digest.String())
	run.Figure("multiples", "", float64(m.cfg.Multiples))
	if m.cfg.Uniform {
		run.Note("hint", "uniform")
	}
	for _, d := range m.cfg.Distributions {
		if err := m.distribution(ctx, all, in, run, d); err != nil {
			return err
		}
	}
	return nil
}

// caller is a series of MSMs, with what its rows back to back need.
type caller struct {
	*Series
	bases
	on     *Single
	input  input
	want   []byte // nil when answers are not compared
	got    []byte
	batch  []input // of rows that are batches
	wants  [][]byte
	rows   []time.Duration // the time of a call back to back
	joules []float64       // of rows of which it is known
}

// distribution measures one vector of scalars on every backend and path.
func (m *measuring) distribution(ctx context.Context, all []loaded, in *inputs, run report.Run, d fixtures.Distribution) (err error) {
	what := fmt.Sprintf("%s %s %v", in.name, units.FormatSize(run.N), d)
	scalars, want, err := m.scalars(what+": scalars", in, run.N, d, m.Seed)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	run.Input(report.InputDistribution, d.String())
	var callers []*caller
	defer func() {
		for _, c := range callers {
			c.input.free()
			for _, in := range c.batch {
				in.free()
			}
		}
	}()
	t := m.Trial(what)
	for _, b := range all {
		for _, p := range pathsOf(b.on, m.cfg.Paths) {
			s, err := b.scalars(ctx, 0, scalars, p)
			if err != nil {
				return fmt.Errorf("backend %s: %w", b.on.Name, err)
			}
			c := m.caller(ctx, b, s, want, run, p)
			callers, t.Series = append(callers, c), append(t.Series, c.Series)
		}
	}
	if m.cfg.Batch {
		if err := m.batches(ctx, callers, in, run.N, d); err != nil {
			return err
		}
	}
	defer func() {
		if err == nil {
			noteSharedCards(what, callers, m.Notef)
		}
	}()
	t.Warmup = cmp.Or(m.cfg.Warmup, 1)
	start := time.Now()
	t.After = func() error {
		if err := m.until(ctx, t, start); err != nil {
			return err
		}
		return m.backToBack(ctx, what, callers)
	}
	return m.Compare(ctx, t)
}

// noteSharedCards names a backend that holds fewer multiples than another one with the same card: each has bases
// there, and what the first ones take is not there for the next, so that it is slower than it would be alone.
func noteSharedCards(what string, callers []*caller, note func(string, ...any)) {
	held := func(c *caller) float64 { return c.Run.Value(report.FigureMultiplesHeld) }
	for i, c := range callers {
		if slices.ContainsFunc(callers[:i], func(o *caller) bool { return o.on == c.on }) { // by another path
			continue
		}
		for _, o := range callers {
			if held(c) < 0.9*held(o) && sharesCard(c.on, o.on) {
				note("%s: %s holds %s of multiples on a card and %s %s: they share one; measure one backend at a time",
					what, c.on.Name, units.FormatBytes(uint64(held(c))), o.on.Name, units.FormatBytes(uint64(held(o))))
				break
			}
		}
	}
}

// sharesCard reports whether two backends have a card in common: its detail begins with its UUID.
func sharesCard(a, b *Single) bool {
	uuid := func(d backend.Device) string { id, _, _ := strings.Cut(d.Detail, ","); return id }
	return slices.ContainsFunc(a.info.Devices, func(d backend.Device) bool {
		return slices.ContainsFunc(b.info.Devices, func(o backend.Device) bool { return uuid(o) == uuid(d) })
	})
}

// scalars makes scalars, and the answer if it is compared.
func (m *measuring) scalars(stage string, in *inputs, n int, d fixtures.Distribution, seed uint64) (scalars, want []byte, err error) {
	m.Progress.Tell(stage, 0, 1)
	if scalars, err = fixtures.Scalars(in.curve, d, seed, n); err == nil && m.cfg.Check {
		want, err = in.points.Expected(0, scalars)
	}
	m.Progress.Tell(stage, 1, 1)
	return scalars, want, err
}

// caller returns the series of a backend and path.
func (m *measuring) caller(ctx context.Context, b loaded, in input, want []byte, run report.Run, p report.Path) *caller {
	run = run.Clone()
	run.Input(report.InputPath, string(p))
	run.Note("measure", measureOf(b.on))
	run.Took("load_bases", b.took)
	run.Figure("devices", "", float64(len(b.on.info.Devices)))
	c := &caller{bases: b.bases, on: b.on, input: in, want: want}
	c.Series = m.Series(b.on, run, func() (took time.Duration, err error) {
		c.got, took, err = in.msm(ctx)
		return took, err
	})
	if want != nil {
		c.Run.Oracle, c.Check = discreteLogarithms, func() (int, error) { return differs(c.got, want), nil }
	}
	if m.cfg.Phases {
		c.Phases = b.on.PhasesWith(nil)
	}
	c.Row = func(run *report.Run) {
		run.Figure(report.FigureMultiplesHeld, report.Bytes, float64(b.on.multiples(ctx)))
		name := report.FigureBackToBack
		if m.cfg.Batch {
			name = report.FigureBatch
		}
		if run.Sampled(name, c.rows, true); len(c.rows) > 0 {
			run.Figure(report.FigureCalls, "", float64(m.cfg.BackToBack))
			run.Figure(report.FigureCallers, "", float64(m.cfg.Callers))
			run.Figure(report.FigureEnergy, report.Joules, mean(c.joules)/float64(m.cfg.BackToBack))
		}
	}
	return c
}

// differs counts a wrong answer; want is nil where answers are not compared.
func differs(got, want []byte) int {
	if want != nil && !bytes.Equal(got, want) {
		return 1
	}
	return 0
}

func mean(all []float64) (m float64) {
	for _, v := range all {
		m += v / float64(len(all))
	}
	return m
}

// until adds rounds until medians are known.
func (m *measuring) until(ctx context.Context, t *Trial, start time.Time) error {
	if m.cfg.Until == 0 {
		return nil
	}
	more := *t
	more.Warmup, more.Timed = 0, 1
	for time.Since(start) < m.cfg.Within && !settled(t.Series, m.cfg.Until) {
		more.Stage = fmt.Sprintf("%s, run %d", t.Stage, 1+len(t.Series[0].Samples))
		if err := m.rounds(ctx, &more); err != nil {
			return err
		}
	}
	if !settled(t.Series, m.cfg.Until) {
		m.Notef("%s: medians are not known to %.3g %% after %v", t.Stage, 100*m.cfg.Until, m.cfg.Within)
	}
	return nil
}

// settled reports whether every median is known to a share of it.
func settled(all []*Series, share float64) bool {
	return !slices.ContainsFunc(all, func(s *Series) bool { return !(report.Uncertainty(record.AllMillis(s.Samples)) <= share) })
}

// backToBack adds rows of calls without a pause, in turns.
func (m *measuring) backToBack(ctx context.Context, what string, callers []*caller) error {
	if m.cfg.BackToBack == 0 {
		return nil
	}
	stage, total := what+", back to back", m.Count*len(callers)
	for i := range total {
		m.Progress.Tell(stage, i, total)
		if err := m.callsInARow(ctx, callers[i%len(callers)]); err != nil {
			return err
		}
	}
	m.Progress.Tell(stage, total, total)
	return nil
}

// callsInARow times MSMs back to back, by all callers or as one batch. One untimed MSM runs first:
// the work that a backend still does after it falls into the time, as the work after the last one
// falls outside. Answers are checked after the clock has stopped.
func (m *measuring) callsInARow(ctx context.Context, c *caller) error {
	runtime.GC()
	first, _, err := c.input.msm(ctx)
	if err != nil {
		return err
	}
	c.Run.Wrong += differs(first, c.want)
	before := c.on.energy(ctx)
	start := time.Now()
	answers, wants := [][]byte(nil), c.wants
	if m.cfg.Batch {
		answers, err = c.bases.batch(ctx, c.batch)
	} else {
		answers, err = c.calls(ctx, m.cfg.BackToBack, m.cfg.Callers)
		wants = slices.Repeat([][]byte{c.want}, m.cfg.BackToBack)
	}
	if err != nil {
		return err
	}
	c.rows = append(c.rows, time.Since(start)/time.Duration(m.cfg.BackToBack))
	if after := c.on.energy(ctx); before > 0 && after >= before {
		c.joules = append(c.joules, float64(after-before)/1e3)
	}
	for i, a := range answers {
		c.Run.Wrong += differs(a, wants[i])
	}
	return nil
}

// calls lets callers share calls.
func (c *caller) calls(ctx context.Context, calls, callers int) ([][]byte, error) {
	answers := make([][]byte, calls)
	group, calling := errgroup.WithContext(ctx)
	group.SetLimit(max(1, callers))
	for i := range calls {
		group.Go(func() (err error) {
			answers[i], _, err = c.input.msm(calling)
			return err
		})
	}
	return answers, group.Wait()
}

// batches gives every caller the scalars of a batch, different for each MSM, and
// answers to compare with.
func (m *measuring) batches(ctx context.Context, callers []*caller, in *inputs, n int, d fixtures.Distribution) error {
	for k := range m.cfg.BackToBack {
		stage := fmt.Sprintf("%s %s %v: scalars of a batch, %d of %d", in.name, units.FormatSize(n), d, k+1, m.cfg.BackToBack)
		scalars, want, err := m.scalars(stage, in, n, d, m.Seed+uint64(k)+1)
		if err != nil {
			return err
		}
		for _, c := range callers {
			s, err := c.bases.scalars(ctx, 0, scalars, report.Path(c.Run.Inputs[report.InputPath]))
			if err != nil {
				return fmt.Errorf("backend %s: %w", c.Run.Backend, err)
			}
			c.batch, c.wants = append(c.batch, s), append(c.wants, want)
		}
	}
	return nil
}

// pathsOf returns the paths that make a difference for a backend.
func pathsOf(e *Single, paths []report.Path) []report.Path {
	if e.shared {
		return paths
	}
	return []report.Path{report.Copy}
}

func measureOf(e *Single) string {
	if isPlugin(e.Name) {
		return report.EndToEndPlugin
	}
	return report.EndToEnd
}
