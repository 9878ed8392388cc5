package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	core "github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/record"
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

// PointsConfig says what Points measures: every step over every group at every size on
// every backend.
type PointsConfig struct {
	Open     core.Opener
	Backends []string
	Steps    []string // of PointSteps
	Curves   []backend.Curve
	Groups   []backend.Group
	Sizes    []int // points, powers of two
	Count    int   // timed runs, after one that is not
	Seed     uint64
	Stock    bool // time gnark-crypto as well, once

	Progress Progress
	Note     func(string)
}

// Validate refuses an empty or senseless configuration with backend.ErrInvalidInput.
func (c *PointsConfig) Validate() error {
	if c.Open == nil || len(c.Backends) == 0 || len(c.Steps) == 0 || len(c.Curves) == 0 || len(c.Groups) == 0 || len(c.Sizes) == 0 || c.Count < 1 {
		return fmt.Errorf("%w: nothing to measure: backends, steps, groups, sizes and a count must be given", backend.ErrInvalidInput)
	}
	for _, n := range c.Sizes {
		if n < sampledPoints || n&(n-1) != 0 {
			return fmt.Errorf("%w: %d points, a power of two from %d on is wanted", backend.ErrInvalidInput, n, sampledPoints)
		}
	}
	return nil
}

// sampledPoints is how many points of an answer are compared.
const sampledPoints = 16

// Points measures what cfg says, and answers as MSM does.
func Points(ctx context.Context, cfg PointsConfig) (runs []report.PointRun, infos []record.BackendInfo, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	all, err := openEngines(ctx, cfg.Open, cfg.Backends, cfg.Note, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, all.close()) }()
	infos = all.describe()
	for _, curve := range cfg.Curves {
		for _, group := range cfg.Groups {
			for _, n := range cfg.Sizes {
				w, err := newPointWork(ctx, backend.PointOf(curve, group), n, cfg.Seed)
				if err != nil {
					return runs, infos, err
				}
				for _, e := range all {
					done, err := w.measure(ctx, &cfg, e)
					runs = append(runs, done...)
					if err != nil {
						return runs, infos, errors.Join(err, w.close())
					}
				}
				if err := w.close(); err != nil {
					return runs, infos, err
				}
			}
		}
	}
	if len(runs) == 0 {
		return nil, infos, fmt.Errorf("%w: no backend has programs over these points", backend.ErrUnsupported)
	}
	return runs, infos, nil
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
	stock                  map[string]float64
}

func newPointWork(ctx context.Context, of backend.Element, n int, seed uint64) (*pointWork, error) {
	p, err := fixtures.NewPoints(of.Curve, of.Group, seed)
	if err != nil {
		return nil, err
	}
	oracle := cpu.New(cpu.Options{})
	programs, _ := backend.As[backend.Programs](oracle)
	w := &pointWork{of: of, n: n, oracle: programs, end: oracle.Close, stock: map[string]float64{}}
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
	field := backend.ScalarOf(of.Curve)
	r := backend.Range{Count: n}
	answers, err := onSpaces(ctx, w.oracle, []backend.Elements{{Element: field, Count: n}}, func(ids []backend.SpaceID) []backend.Step {
		r.Space = ids[0]
		return []backend.Step{
			backend.Write{Dst: r, Input: backend.Input{Bytes: w.scalars}},
			backend.Transform{Dst: r, Src: r, Inverse: true},
			backend.Read{Src: r},
		}
	})
	if err != nil {
		return nil, err
	}
	w.inverse = answers[2]
	return w, nil
}

func (w *pointWork) close() error { return w.end() }

// onSpaces runs steps over new spaces.
func onSpaces(ctx context.Context, b backend.Programs, of []backend.Elements, steps func([]backend.SpaceID) []backend.Step) (_ [][]byte, err error) {
	var ids []backend.SpaceID
	defer func() {
		for _, id := range ids {
			err = errors.Join(err, b.FreeSpace(context.WithoutCancel(ctx), id))
		}
	}()
	for _, e := range of {
		id, err := b.NewSpace(ctx, e.Element, e.Count)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return b.Run(ctx, steps(ids))
}

// right compares a sample of points with the base times the scalars of the same places.
func (w *pointWork) right(ctx context.Context, points, scalars []byte) error {
	size, each := w.of.Bytes(), w.of.Curve.ScalarBytes()
	var some, got []byte
	for _, i := range w.sample {
		some, got = append(some, scalars[i*each:(i+1)*each]...), append(got, points[i*size:(i+1)*size]...)
	}
	k := len(w.sample)
	answers, err := onSpaces(ctx, w.oracle, []backend.Elements{{Element: w.of, Count: k + 1}, {Element: backend.ScalarOf(w.of.Curve), Count: k}}, func(ids []backend.SpaceID) []backend.Step {
		base, all, by := backend.Range{Space: ids[0], Offset: k, Count: 1}, backend.Range{Space: ids[0], Count: k}, backend.Range{Space: ids[1], Count: k}
		return []backend.Step{
			backend.Write{Dst: base, Input: backend.Input{Bytes: w.base}}, backend.Write{Dst: by, Input: backend.Input{Bytes: some}},
			backend.MultiplyPoints{Dst: all, Src: base, Scalars: by}, backend.Read{Src: all},
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

// measure times the steps on one backend.
func (w *pointWork) measure(ctx context.Context, cfg *PointsConfig, e *single) (runs []report.PointRun, err error) {
	b, ok := backend.As[backend.Programs](e.only)
	if !ok || !e.info.Can.HasPrograms(w.of) {
		if cfg.Note != nil {
			cfg.Note(fmt.Sprintf("backend %s has no programs over %v: left out", e.name, w.of))
		}
		return nil, nil
	}
	n := w.n
	var ids []backend.SpaceID
	defer func() {
		for _, id := range ids {
			err = errors.Join(err, b.FreeSpace(context.WithoutCancel(ctx), id))
		}
	}()
	space := func(e backend.Element, count int) (backend.Range, error) {
		id, err := b.NewSpace(ctx, e, count)
		if err == nil {
			ids = append(ids, id)
		}
		return backend.Range{Space: id, Count: count}, err
	}
	base, e1 := space(w.of, 1)
	points, e2 := space(w.of, n)
	other, e3 := space(w.of, n)
	by, e4 := space(backend.ScalarOf(w.of.Curve), n)
	if err := errors.Join(e1, e2, e3, e4); err != nil {
		return nil, err
	}
	fixed := backend.MultiplyPoints{Dst: points, Src: base, Scalars: by}
	answers, err := b.Run(ctx, []backend.Step{
		backend.Write{Dst: base, Input: backend.Input{Bytes: w.base}}, backend.Write{Dst: by, Input: backend.Input{Bytes: w.scalars}},
		fixed, backend.Read{Src: points}, backend.Read{Src: points, Encoding: backend.Compressed},
	})
	if err != nil {
		return nil, err
	}
	multiples, compressed := answers[3], answers[4]
	if err := w.right(ctx, multiples, w.scalars); err != nil {
		return nil, err
	}
	// Shared memory, where there is some, is what a reader of keys fills.
	if a, ok := backend.As[backend.Allocator](e.only); ok {
		buffer, err := a.Alloc(ctx, len(compressed))
		if err != nil {
			return nil, err
		}
		defer buffer.Free()
		copy(buffer.Bytes(), compressed)
		compressed = buffer.Bytes()[:len(compressed)]
	}
	for _, what := range cfg.Steps {
		var step backend.Step
		var check func() (compared int, err error)
		read := func() ([]byte, error) {
			answers, err := b.Run(ctx, []backend.Step{backend.Read{Src: other}})
			if err != nil {
				return nil, err
			}
			return answers[0], nil
		}
		switch what {
		case FixedBase:
			fixed.Dst = other
			step, check = fixed, func() (int, error) {
				got, err := read()
				if err == nil {
					err = w.right(ctx, got, w.scalars)
				}
				return len(w.sample), err
			}
		case Lagrange:
			step, check = backend.Transform{Dst: other, Src: points, Inverse: true}, func() (int, error) {
				got, err := read()
				if err == nil {
					err = w.right(ctx, got, w.inverse)
				}
				return len(w.sample), err
			}
		case Subgroup:
			step, check = backend.CheckPoints{Src: points, Subgroup: true}, func() (int, error) { return w.faults(ctx, b, points, other, multiples) }
		case Decompress:
			step, check = backend.Write{Dst: other, Input: backend.Input{Bytes: compressed}, Encoding: backend.Compressed}, func() (int, error) {
				got, err := read()
				if err == nil && !bytes.Equal(got, multiples) {
					err = fmt.Errorf("%w: points other than those that were encoded", ErrWrong)
				}
				return n, err
			}
		default:
			return runs, fmt.Errorf("%w: there is no step %q", backend.ErrInvalidInput, what)
		}
		run := report.PointRun{Op: "points", What: what, Curve: w.of.Curve.String(), Group: w.of.Group.String(), N: n, Backend: e.name,
			Version: e.info.Version, Device: e.device(), Seed: cfg.Seed, Count: cfg.Count, Oracle: "gnark-crypto"}
		var samples []time.Duration
		stage := fmt.Sprintf("%s of %d %v on %s", what, n, w.of, e.name)
		for round := range cfg.Count + 1 {
			cfg.Progress.tell(stage, round, cfg.Count+1)
			start := time.Now()
			if _, err := b.Run(ctx, []backend.Step{step}); err != nil {
				return runs, err
			}
			if round > 0 {
				samples = append(samples, time.Since(start))
			}
		}
		cfg.Progress.tell(stage, cfg.Count+1, cfg.Count+1)
		if run.Compared, err = check(); err != nil {
			return runs, fmt.Errorf("%s: %w", stage, err)
		}
		run.Checked = true
		run.Min, run.Median, run.Samples = record.Millis(record.Min(samples)), record.Millis(record.Median(samples)), record.AllMillis(samples)
		if cfg.Stock {
			if _, ok := w.stock[what]; !ok {
				var took time.Duration
				if err := untilEnded(ctx, func() (err error) {
					took, err = stockPoints(w.of, what, w.base, w.scalars, multiples, compressed)
					return err
				}); err != nil {
					return runs, err
				}
				w.stock[what] = record.Millis(took)
			}
			run.Stock = w.stock[what]
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// faults reports whether all points are found valid, and one that is off the curve, in a
// copy of them, is found with its index.
func (w *pointWork) faults(ctx context.Context, b backend.Programs, points, other backend.Range, all []byte) (int, error) {
	at, size := w.sample[2], w.of.Bytes()
	wrong := slices.Clone(all[at*size : (at+1)*size])
	wrong[0] ^= 1
	answers, err := b.Run(ctx, []backend.Step{
		backend.CheckPoints{Src: points, Subgroup: true},
		backend.AddPoints{Dst: other, Plus: []backend.Range{points}},
		backend.Write{Dst: backend.Range{Space: other.Space, Offset: at, Count: 1}, Input: backend.Input{Bytes: wrong}},
		backend.CheckPoints{Src: other, Subgroup: true},
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
	return w.n, nil
}
