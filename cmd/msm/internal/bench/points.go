package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/fixtures"
)

// What Points measures.
const (
	FixedBase  = "fixed-base" // multiples of one point
	Lagrange   = "lagrange"   // the inverse transform of points, natural order
	Subgroup   = "subgroup"   // whether points are in the group
	Decompress = "decompress" // points from gnark-crypto's compressed bytes
)

// PointSteps lists them.
func PointSteps() []string { return []string{FixedBase, Lagrange, Subgroup, Decompress} }

// Points measures steps over points in a backend's memory: every step over every group at
// every size on every backend.
type Points struct {
	Common
	Steps  []string // of PointSteps
	Curves []backend.Curve
	Groups []backend.Group
	Sizes  []int // points, powers of two
	Stock  bool  // time gnark-crypto as well, once
}

// Validate refuses an empty or senseless configuration with backend.ErrInvalidInput.
func (c *Points) Validate() error {
	return cmp.Or(c.ValidateCommon(), Some("steps", c.Steps), Some("curves", c.Curves), Some("groups", c.Groups),
		Powers("points", c.Sizes, sampledPoints))
}

// Sheet shows gnark-crypto's times beside.
func (c *Points) Sheet() report.Sheet {
	return report.Sheet{
		Note: "Points and scalars are in the backend's memory, encodings in the caller's.",
		Before: []report.Column{
			report.ColumnWhat("step", report.Stays), report.ColumnCurve(report.Stays), report.ColumnGroup(6),
			report.ColumnN("points", 5), report.ColumnBackend(4),
		},
		After: []report.Column{report.ColumnMillis("gnark-crypto ms", 3, report.FigureStock)},
	}
}

// sampledPoints is how many points of an answer are compared.
const sampledPoints = 16

func (c *Points) Measure(ctx context.Context, r *Runner) error {
	if err := r.Start(ctx, nil); err != nil {
		return err
	}
	for _, curve := range c.Curves {
		for _, group := range c.Groups {
			able := r.WithPrograms(backend.PointOf(curve, group))
			for _, n := range c.Sizes {
				if len(able) == 0 {
					continue
				}
				if err := c.size(ctx, r, able, backend.PointOf(curve, group), n); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// size measures all steps over n points.
func (c *Points) size(ctx context.Context, r *Runner, able Engines, of backend.Element, n int) (err error) {
	w, err := newPointWork(ctx, of, n, c.Seed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.end()) }()
	for _, e := range able {
		if err := w.on(ctx, c, r, e); err != nil {
			return err
		}
	}
	return nil
}

// pointWork is a base, n scalars, and their inverse transform, with the backend that knows
// the answers: a sample of them by gnark-crypto.
type pointWork struct {
	of                     backend.Element
	n                      int
	base, scalars, inverse []byte
	oracle                 backend.Programs
	end                    func() error // of the oracle
	sample                 []int
	stock                  map[string]time.Duration
}

func newPointWork(ctx context.Context, of backend.Element, n int, seed uint64) (*pointWork, error) {
	p, err := fixtures.NewPoints(of.Curve, of.Group, seed)
	if err != nil {
		return nil, err
	}
	oracle := cpu.New(cpu.Options{})
	programs, _ := backend.As[backend.Programs](oracle)
	w := &pointWork{of: of, n: n, oracle: programs, end: oracle.Close, stock: map[string]time.Duration{}}
	if w.base, err = p.Bytes(1); err != nil {
		return nil, err
	}
	if w.scalars, err = fixtures.Scalars(of.Curve, fixtures.Uniform, seed, n); err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	w.sample = []int{0, n - 1}
	for len(w.sample) < sampledPoints {
		w.sample = append(w.sample, rng.IntN(n))
	}
	vector := []backend.Elements{{Element: backend.ScalarOf(of.Curve), Count: n}}
	answers, err := onSpaces(ctx, w.oracle, vector, func(all []backend.Range) []backend.Step {
		return []backend.Step{
			backend.Write{Dst: all[0], Input: backend.Input{Bytes: w.scalars}},
			backend.Transform{Dst: all[0], Src: all[0], Inverse: true},
			backend.Read{Src: all[0]},
		}
	})
	if err != nil {
		return nil, err
	}
	w.inverse = answers[2]
	return w, nil
}

// onSpaces runs steps over new spaces.
func onSpaces(ctx context.Context, b backend.Programs, of []backend.Elements,
	steps func([]backend.Range) []backend.Step) (_ [][]byte, err error) {
	s := &spaces{of: b}
	defer func() { err = errors.Join(err, s.free(ctx)) }()
	var all []backend.Range
	for _, e := range of {
		all = append(all, s.take(ctx, e.Element, e.Count))
	}
	if s.err != nil {
		return nil, s.err
	}
	return b.Run(ctx, steps(all))
}

// right compares a sample of points with the base times the scalars of the same places.
func (w *pointWork) right(ctx context.Context, points, scalars []byte) error {
	size, each := w.of.Bytes(), w.of.Curve.ScalarBytes()
	var some, got []byte
	for _, i := range w.sample {
		some, got = append(some, scalars[i*each:(i+1)*each]...), append(got, points[i*size:(i+1)*size]...)
	}
	k := len(w.sample)
	of := []backend.Elements{{Element: w.of, Count: 1}, {Element: w.of, Count: k}, {Element: backend.ScalarOf(w.of.Curve), Count: k}}
	answers, err := onSpaces(ctx, w.oracle, of, func(all []backend.Range) []backend.Step {
		base, to, by := all[0], all[1], all[2]
		return []backend.Step{
			backend.Write{Dst: base, Input: backend.Input{Bytes: w.base}}, backend.Write{Dst: by, Input: backend.Input{Bytes: some}},
			backend.MultiplyPoints{Dst: to, Src: base, Scalars: by}, backend.Read{Src: to},
		}
	})
	if err != nil {
		return err
	}
	if !bytes.Equal(answers[3], got) {
		return fmt.Errorf("%w: points that are not the base times their scalars", ErrWrong)
	}
	return nil
}

// pointsOn is the work in one backend's memory.
type pointsOn struct {
	*pointWork
	b                       backend.Programs
	base, points, other, by backend.Range // points are the multiples of base by by, other takes answers
	multiples, compressed   []byte        // of points
}

// on measures the steps on one backend.
func (w *pointWork) on(ctx context.Context, c *Points, r *Runner, e *Single) (err error) {
	b, _ := backend.As[backend.Programs](e.only)
	s, field := &spaces{of: b}, backend.ScalarOf(w.of.Curve)
	defer func() { err = errors.Join(err, s.free(ctx)) }()
	p := &pointsOn{pointWork: w, b: b, base: s.take(ctx, w.of, 1), points: s.take(ctx, w.of, w.n), other: s.take(ctx, w.of, w.n),
		by: s.take(ctx, field, w.n)}
	if s.err != nil {
		return s.err
	}
	if err := p.fill(ctx); err != nil {
		return err
	}
	// Shared memory, where there is some, is what a reader of keys fills.
	if a, ok := backend.As[backend.Allocator](e.only); ok {
		buffer, err := a.Alloc(ctx, len(p.compressed))
		if err != nil {
			return err
		}
		defer buffer.Free()
		p.compressed = buffer.Bytes()[:copy(buffer.Bytes(), p.compressed)]
	}
	for _, what := range c.Steps {
		if err := p.step(ctx, c, r, e, what); err != nil {
			return err
		}
	}
	return nil
}

// fill computes the points.
func (p *pointsOn) fill(ctx context.Context) error {
	answers, err := p.b.Run(ctx, []backend.Step{
		backend.Write{Dst: p.base, Input: backend.Input{Bytes: p.pointWork.base}},
		backend.Write{Dst: p.by, Input: backend.Input{Bytes: p.scalars}},
		backend.MultiplyPoints{Dst: p.points, Src: p.base, Scalars: p.by},
		backend.Read{Src: p.points}, backend.Read{Src: p.points, Encoding: backend.Compressed},
	})
	if err != nil {
		return err
	}
	p.multiples, p.compressed = answers[3], answers[4]
	return p.right(ctx, p.multiples, p.scalars)
}

// step times one step.
func (p *pointsOn) step(ctx context.Context, c *Points, r *Runner, e *Single, what string) error {
	step, check, err := p.what(ctx, what)
	if err != nil {
		return err
	}
	run := report.Run{Op: "points", What: what, Curve: p.of.Curve.String(), Group: p.of.Group.String(), N: p.n, Oracle: "gnark-crypto"}
	s := r.Series(e, run, Clock(func() error {
		_, err := p.b.Run(ctx, []backend.Step{step})
		return err
	}))
	t := r.Trial(fmt.Sprintf("%s of %d %v on %s", what, p.n, p.of, e.Name), s)
	t.Tight = true
	t.Check = func() (err error) {
		if s.Run.Compared, err = check(); err != nil {
			return err
		}
		s.Run.Checked = true
		if !c.Stock {
			return nil
		}
		if err := p.timeStock(ctx, what); err != nil {
			return err
		}
		s.Run.Took(report.FigureStock, p.stock[what])
		return nil
	}
	return r.Compare(ctx, t)
}

// what returns a step and what compares its answer, which says how many points it compared.
func (p *pointsOn) what(ctx context.Context, what string) (step backend.Step, check func() (int, error), err error) {
	answer := func(compare func(got []byte) (int, error)) func() (int, error) {
		return func() (int, error) {
			answers, err := p.b.Run(ctx, []backend.Step{backend.Read{Src: p.other}})
			if err != nil {
				return 0, err
			}
			return compare(answers[0])
		}
	}
	multiplesOf := func(scalars []byte) func() (int, error) {
		return answer(func(got []byte) (int, error) { return len(p.sample), p.right(ctx, got, scalars) })
	}
	switch what {
	case FixedBase:
		return backend.MultiplyPoints{Dst: p.other, Src: p.base, Scalars: p.by}, multiplesOf(p.scalars), nil
	case Lagrange:
		return backend.Transform{Dst: p.other, Src: p.points, Inverse: true}, multiplesOf(p.inverse), nil
	case Subgroup:
		return backend.CheckPoints{Src: p.points, Subgroup: true}, func() (int, error) { return p.faults(ctx) }, nil
	case Decompress:
		step := backend.Write{Dst: p.other, Input: backend.Input{Bytes: p.compressed}, Encoding: backend.Compressed}
		return step, answer(func(got []byte) (int, error) {
			if !bytes.Equal(got, p.multiples) {
				return 0, fmt.Errorf("%w: points other than those that were encoded", ErrWrong)
			}
			return p.n, nil
		}), nil
	}
	return nil, nil, Refused("there is no step %q", what)
}

// timeStock times gnark-crypto's function for a step, once for all backends.
func (p *pointsOn) timeStock(ctx context.Context, what string) error {
	if _, ok := p.stock[what]; ok {
		return nil
	}
	var took time.Duration
	if err := UntilEnded(ctx, func() (err error) {
		took, err = stockPoints(p.of, what, p.pointWork.base, p.scalars, p.multiples, p.compressed)
		return err
	}); err != nil {
		return err
	}
	p.stock[what] = took
	return nil
}

// faults reports whether all points are found valid, and one that is off the curve, in a
// copy of them, is found with its index.
func (p *pointsOn) faults(ctx context.Context) (int, error) {
	at, size := p.sample[2], p.of.Bytes()
	wrong := slices.Clone(p.multiples[at*size : (at+1)*size])
	wrong[0] ^= 1
	answers, err := p.b.Run(ctx, []backend.Step{
		backend.CheckPoints{Src: p.points, Subgroup: true},
		backend.AddPoints{Dst: p.other, Plus: []backend.Range{p.points}},
		backend.Write{Dst: backend.Range{Space: p.other.Space, Offset: at, Count: 1}, Input: backend.Input{Bytes: wrong}},
		backend.CheckPoints{Src: p.other, Subgroup: true},
	})
	if err != nil {
		return 0, err
	}
	none, _, err1 := backend.CheckedPoints(answers[0])
	one, first, err2 := backend.CheckedPoints(answers[3])
	if err := errors.Join(err1, err2); err != nil {
		return 0, err
	}
	if none != 0 || one != 1 || first != at {
		return 0, fmt.Errorf("%w: %d points are not valid, and with one, %d, it is %d with %d the first", ErrWrong, none, at, one, first)
	}
	return p.n, nil
}
