package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/record"
)

// transformWay is a direction of a transform, with the orders of what it reads and writes.
type transformWay struct {
	name, order string // of the command line, of records
	step        backend.Transform
	coset       bool
}

var transformWays = []transformWay{
	{"forward", "natural to reversed", backend.Transform{To: backend.Reversed}, false},
	{"forward-coset", "natural to reversed, on a coset", backend.Transform{To: backend.Reversed}, true},
	{"inverse", "reversed to natural, inverse", backend.Transform{From: backend.Reversed, Inverse: true}, false},
	{"inverse-coset", "reversed to natural, inverse, on a coset", backend.Transform{From: backend.Reversed, Inverse: true}, true},
	{"natural", "natural to natural", backend.Transform{}, false},
}

// TransformWays lists what Transforms measures.
func TransformWays() (names []string) {
	for _, w := range transformWays {
		names = append(names, w.name)
	}
	return names
}

// Transforms measures transforms of vectors in a backend's memory: every way over every
// curve's scalar field at every size on every backend.
type Transforms struct {
	Common
	Ways   []string // of TransformWays
	Curves []backend.Curve
	Sizes  []int // elements of a vector, powers of two
	Batch  int   // vectors in one step
}

// Validate refuses an empty or senseless configuration with backend.ErrInvalidInput.
func (c *Transforms) Validate() error {
	if c.Batch < 1 {
		return Refused("a batch of %d vectors", c.Batch)
	}
	return cmp.Or(c.ValidateCommon(), Some("ways", c.Ways), Some("curves", c.Curves), Powers("elements", c.Sizes, 2))
}

// Sheet shows the CPU backend's time beside.
func (c *Transforms) Sheet() report.Sheet {
	return report.Sheet{
		Note: "Vectors are in the backend's memory. CPU ms is the CPU backend's shortest of three.",
		Before: []report.Column{
			report.ColumnWhat("transform", report.Stays), report.ColumnCurve(report.Stays), report.ColumnN("elements", 5),
			report.ColumnSize("vectors", 5, "batch"), report.ColumnBackend(4),
		},
		After: []report.Column{report.ColumnMillis("CPU ms", 3, report.FigureCPU)},
	}
}

func (c *Transforms) Measure(ctx context.Context, r *Runner) (err error) {
	if err := r.Start(ctx, nil); err != nil {
		return err
	}
	oracle := cpu.New(cpu.Options{})
	defer func() { err = errors.Join(err, oracle.Close()) }()
	known, _ := backend.As[backend.Programs](oracle)
	for _, curve := range c.Curves {
		able := r.WithPrograms(backend.ScalarOf(curve))
		for _, n := range c.Sizes {
			for _, way := range transformWays {
				if len(able) == 0 || !slices.Contains(c.Ways, way.name) {
					continue
				}
				w := &transformWork{curve: curve, n: n, batch: c.Batch, way: way}
				if err := w.answer(ctx, known, c.Seed); err != nil {
					return err
				}
				for _, e := range able {
					if err := w.compare(ctx, r, e); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// transformWork is vectors, and their transforms by the CPU backend, which are gnark-crypto's.
type transformWork struct {
	curve    backend.Curve
	n, batch int
	way      transformWay
	in, want []byte
	took     time.Duration // the CPU backend's shortest
}

// oracleTries is how often the CPU backend is timed.
const oracleTries = 3

func (w *transformWork) answer(ctx context.Context, b backend.Programs, seed uint64) (err error) {
	if w.in, err = fixtures.Scalars(w.curve, fixtures.Uniform, seed, w.n*w.batch); err != nil {
		return err
	}
	if w.way.coset {
		if w.way.step.Shift, err = fixtures.Scalars(w.curve, fixtures.Uniform, seed+1, 1); err != nil {
			return err
		}
	}
	return w.on(ctx, b, func(step func() error, answer func() ([]byte, error)) error {
		if w.want, err = answer(); err != nil {
			return err
		}
		var all []time.Duration
		for range oracleTries {
			took, err := Clock(step)()
			if err != nil {
				return err
			}
			all = append(all, took)
		}
		w.took = record.Min(all)
		return nil
	})
}

// on gives what runs the transform of vectors in a backend's memory, and what writes them
// there before, and reads the answer.
func (w *transformWork) on(ctx context.Context, b backend.Programs,
	do func(step func() error, answer func() ([]byte, error)) error) (err error) {
	s := &spaces{of: b}
	defer func() { err = errors.Join(err, s.free(ctx)) }()
	from := s.take(ctx, backend.ScalarOf(w.curve), w.n*w.batch)
	to := from // in place
	if w.way.step.From == w.way.step.To {
		to = s.take(ctx, backend.ScalarOf(w.curve), w.n*w.batch)
	}
	if s.err != nil {
		return s.err
	}
	t := w.way.step
	t.Src, t.Dst, t.Batch = from, to, w.batch
	return do(func() error {
		_, err := b.Run(ctx, []backend.Step{t})
		return err
	}, func() ([]byte, error) {
		answers, err := b.Run(ctx, []backend.Step{backend.Write{Dst: from, Input: backend.Input{Bytes: w.in}}, t, backend.Read{Src: to}})
		if err != nil {
			return nil, err
		}
		return answers[2], nil
	})
}

// compare times the transform on one backend. The first answer, which is not timed, is
// compared.
func (w *transformWork) compare(ctx context.Context, r *Runner, e *Single) error {
	b, _ := backend.As[backend.Programs](e.only)
	return w.on(ctx, b, func(step func() error, answer func() ([]byte, error)) error {
		run := report.Run{Op: "ntt", What: w.way.order, Curve: w.curve.String(), N: w.n, Checked: true, Oracle: "gnark-crypto"}
		run.Size("batch", w.batch)
		run.Took(report.FigureCPU, w.took)
		t := r.Trial(fmt.Sprintf("%s of %d %v on %s", w.way.name, w.n, backend.ScalarOf(w.curve), e.Name), r.Series(e, run, Clock(step)))
		t.Warmup, t.Tight = 0, true
		got, err := answer()
		if err == nil && !bytes.Equal(got, w.want) {
			err = fmt.Errorf("%w: a transform other than gnark-crypto's", ErrWrong)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.Stage, err)
		}
		return r.Compare(ctx, t)
	})
}

// spaces is memory of a backend that is taken piece by piece.
type spaces struct {
	of  backend.Programs
	ids []backend.SpaceID
	err error // the first
}

// take takes a space and returns all of it.
func (s *spaces) take(ctx context.Context, e backend.Element, count int) backend.Range {
	if s.err != nil {
		return backend.Range{}
	}
	id, err := s.of.NewSpace(ctx, e, count)
	if s.err = err; err == nil {
		s.ids = append(s.ids, id)
	}
	return backend.Range{Space: id, Count: count}
}

// free frees what was taken.
func (s *spaces) free(ctx context.Context) (err error) {
	for _, id := range s.ids {
		err = errors.Join(err, s.of.FreeSpace(context.WithoutCancel(ctx), id))
	}
	return err
}
