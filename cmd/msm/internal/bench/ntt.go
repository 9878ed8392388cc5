package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	core "github.com/pippin-zk/pippin/engine"
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

// TransformsConfig says what Transforms measures: every way over every curve's scalar field
// at every size on every backend.
type TransformsConfig struct {
	Open     core.Opener
	Backends []string
	Ways     []string // of TransformWays
	Curves   []backend.Curve
	Sizes    []int // elements of a vector, powers of two
	Batch    int   // vectors in one step, 1 when it is 0
	Count    int   // timed runs, after one that is not
	Seed     uint64

	Progress Progress
	Note     func(string)
}

// Validate refuses an empty or senseless configuration with backend.ErrInvalidInput.
func (c *TransformsConfig) Validate() error {
	if c.Open == nil || len(c.Backends) == 0 || len(c.Ways) == 0 || len(c.Curves) == 0 || len(c.Sizes) == 0 || c.Count < 1 || c.Batch < 0 {
		return fmt.Errorf("%w: nothing to measure: backends, ways, curves, sizes and counts must be given", backend.ErrInvalidInput)
	}
	for _, n := range c.Sizes {
		if n < 2 || n&(n-1) != 0 {
			return fmt.Errorf("%w: vectors of %d elements, a power of two from 2 on is wanted", backend.ErrInvalidInput, n)
		}
	}
	return nil
}

// Transforms measures what cfg says, and answers as MSM does.
func Transforms(ctx context.Context, cfg TransformsConfig) (runs []report.TransformRun, infos []record.BackendInfo, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	cfg.Batch = max(1, cfg.Batch)
	all, err := openEngines(ctx, cfg.Open, cfg.Backends, cfg.Note, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, all.close()) }()
	infos = all.describe()
	oracle := cpu.New(cpu.Options{})
	defer func() { err = errors.Join(err, oracle.Close()) }()
	known, _ := backend.As[backend.Programs](oracle)
	for _, curve := range cfg.Curves {
		for _, n := range cfg.Sizes {
			for _, way := range transformWays {
				if !slices.Contains(cfg.Ways, way.name) {
					continue
				}
				w := &transformWork{curve: curve, n: n, batch: cfg.Batch, way: way}
				if err := w.answer(ctx, known, cfg.Seed); err != nil {
					return runs, infos, err
				}
				for _, e := range all {
					run, err := w.measure(ctx, &cfg, e)
					if err != nil {
						return runs, infos, err
					}
					if run != nil {
						runs = append(runs, *run)
					}
				}
			}
		}
	}
	if len(runs) == 0 {
		return nil, infos, fmt.Errorf("%w: no backend has programs over these fields", backend.ErrUnsupported)
	}
	return runs, infos, nil
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
		took, err := repeated(oracleTries, step)
		w.took = record.Min(took)
		return err
	})
}

// on gives what runs the transform of vectors in a backend's memory, and what writes them
// there before, and reads the answer.
func (w *transformWork) on(ctx context.Context, b backend.Programs, do func(step func() error, answer func() ([]byte, error)) error) (err error) {
	field := backend.ScalarOf(w.curve)
	var ids []backend.SpaceID
	defer func() {
		for _, id := range ids {
			err = errors.Join(err, b.FreeSpace(context.WithoutCancel(ctx), id))
		}
	}()
	space := func() (backend.Range, error) {
		id, err := b.NewSpace(ctx, field, w.n*w.batch)
		if err == nil {
			ids = append(ids, id)
		}
		return backend.Range{Space: id, Count: w.n * w.batch}, err
	}
	from, err := space()
	if err != nil {
		return err
	}
	to := from // in place
	if w.way.step.From == w.way.step.To {
		if to, err = space(); err != nil {
			return err
		}
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

// repeated times a function so many times.
func repeated(count int, f func() error) (took []time.Duration, err error) {
	for range count {
		start := time.Now()
		if err := f(); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
	}
	return took, nil
}

// measure times the transform on one backend, nil if that has none.
func (w *transformWork) measure(ctx context.Context, cfg *TransformsConfig, e *single) (*report.TransformRun, error) {
	field := backend.ScalarOf(w.curve)
	b, ok := backend.As[backend.Programs](e.only)
	if !ok || !e.info.Can.HasPrograms(field) {
		if cfg.Note != nil {
			cfg.Note(fmt.Sprintf("backend %s has no programs over %v: left out", e.name, field))
		}
		return nil, nil
	}
	run := &report.TransformRun{Op: "ntt", Curve: w.curve.String(), Order: w.way.order, N: w.n, Batch: w.batch, Backend: e.name,
		Version: e.info.Version, Device: e.device(), Seed: cfg.Seed, Count: cfg.Count, CPU: record.Millis(w.took), Oracle: "gnark-crypto"}
	if w.batch > 1 {
		run.Order += fmt.Sprintf(", %d of them", w.batch)
	}
	stage := fmt.Sprintf("%s of %d %v on %s", w.way.name, w.n, field, e.name)
	err := w.on(ctx, b, func(step func() error, answer func() ([]byte, error)) error {
		got, err := answer() // the run that is not timed
		if err != nil {
			return err
		}
		if !bytes.Equal(got, w.want) {
			return fmt.Errorf("%w: a transform other than gnark-crypto's", ErrWrong)
		}
		run.Checked = true
		done := 0
		samples, err := repeated(cfg.Count, func() error {
			cfg.Progress.tell(stage, done, cfg.Count)
			done++
			return step()
		})
		cfg.Progress.tell(stage, cfg.Count, cfg.Count)
		if err == nil {
			run.Min, run.Median, run.Samples = record.Millis(record.Min(samples)), record.Millis(record.Median(samples)), record.AllMillis(samples)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", stage, err)
	}
	return run, nil
}
