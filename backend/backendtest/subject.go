package backendtest

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/fixtures"
)

// loaded is bases that a check has loaded.
type loaded struct {
	id     backend.BasesID
	curve  backend.Curve
	group  backend.Group
	points *fixtures.Points
	bytes  []byte
	n      int
}

// made keeps the generators of points as long as the process lives: making their tables takes
// longer than most checks do.
var made sync.Map // of fixtures.Key to *fixtures.Points

func pointsOf(k fixtures.Key) (*fixtures.Points, error) {
	if p, ok := made.Load(k); ok {
		return p.(*fixtures.Points), nil
	}
	p, err := fixtures.New(k)
	if err != nil {
		return nil, err
	}
	kept, _ := made.LoadOrStore(k, p)
	return kept.(*fixtures.Points), nil
}

// set returns the points of a kind in the subject's group.
func (s *subject) set(set fixtures.Set) (*fixtures.Points, error) {
	return pointsOf(fixtures.Key{Curve: s.curve, Group: s.group, Set: set, Seed: s.seed})
}

// with loads the first n points of a set, calls do and frees them.
func (s *subject) with(set fixtures.Set, n int, do func(*loaded) error) (err error) {
	l, err := s.load(set, n)
	if err != nil {
		return err
	}
	defer func() {
		if e := s.b.FreeBases(s.ctx, l.id); e != nil {
			err = errors.Join(err, fmt.Errorf("FreeBases: %w", e))
		}
	}()
	return do(l)
}

// load loads the first n points of a set from memory.
func (s *subject) load(set fixtures.Set, n int) (*loaded, error) {
	p, err := s.set(set)
	if err != nil {
		return nil, err
	}
	b, err := p.Bytes(n)
	if err != nil {
		return nil, err
	}
	id, err := s.b.LoadBases(s.ctx, backend.Bases{Curve: s.curve, Group: s.group, Count: n, Bytes: b})
	if err != nil {
		return nil, fmt.Errorf("loading %d %v points: %w", n, set, err)
	}
	if id == 0 {
		return nil, errors.New("LoadBases returned the id zero")
	}
	return &loaded{id, s.curve, s.group, p, b, n}, nil
}

// job returns an MSM of scalars over l from offset on.
func (l *loaded) job(offset int, scalars []byte) backend.Job {
	return backend.Job{Bases: l.id, Offset: offset, Count: len(scalars) / l.curve.ScalarBytes(), Input: backend.Input{Bytes: scalars}}
}

// want returns the right answer for such a job.
func (l *loaded) want(offset int, scalars []byte) ([]byte, error) {
	return l.points.Expected(offset, scalars)
}

// expect runs one MSM and compares it with the right answer.
func (s *subject) expect(l *loaded, offset int, scalars []byte) error {
	want, err := l.want(offset, scalars)
	if err != nil {
		return err
	}
	got, err := s.one(l.job(offset, scalars))
	if err != nil {
		return err
	}
	return equal(got, want)
}

// one runs a batch of one job.
func (s *subject) one(j backend.Job) ([]byte, error) {
	got, err := s.b.MSM(s.ctx, []backend.Job{j})
	if err != nil {
		return nil, fmt.Errorf("MSM of %d: %w", j.Count, err)
	}
	if len(got) != 1 {
		return nil, fmt.Errorf("%d results of one job", len(got))
	}
	return got[0], nil
}

// all runs a batch and compares the results with want.
func (s *subject) all(jobs []backend.Job, want [][]byte) error {
	got, err := s.b.MSM(s.ctx, jobs)
	if err != nil {
		return fmt.Errorf("MSM of a batch of %d: %w", len(jobs), err)
	}
	if len(got) != len(jobs) {
		return fmt.Errorf("%d results of %d jobs", len(got), len(jobs))
	}
	for i := range got {
		if err := equal(got[i], want[i]); err != nil {
			return fmt.Errorf("job %d of %d: %w", i, len(jobs), err)
		}
	}
	return nil
}

func equal(got, want []byte) error {
	if !bytes.Equal(got, want) {
		return fmt.Errorf("wrong point\n got %x\nwant %x", got, want)
	}
	return nil
}

// in says in the error where the check was.
func in(err error, format string, a ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(a, err)...)
}

// scalars returns n scalars of a distribution. salt makes them differ within one check.
func (s *subject) scalars(d fixtures.Distribution, n int, salt uint64) []byte {
	b, err := fixtures.Scalars(s.curve, d, s.seed+salt<<32, n)
	if err != nil {
		panic(err) // curve, distribution and n are this package's own
	}
	return b
}

// numbers returns scalars with the given values, modulo r.
func (s *subject) numbers(v ...*big.Int) []byte {
	var b []byte
	for _, x := range v {
		b = append(b, fixtures.Scalar(s.curve, x)...)
	}
	return b
}

// repeat returns n copies of one scalar.
func (s *subject) repeat(v *big.Int, n int) []byte {
	return bytes.Repeat(fixtures.Scalar(s.curve, v), n)
}

// refused returns an error unless err wraps sentinel.
func refused(err, sentinel error) error {
	if err == nil {
		return fmt.Errorf("no error, want one that wraps %q", sentinel)
	}
	if !errors.Is(err, sentinel) {
		return fmt.Errorf("error %q does not wrap %q", err, sentinel)
	}
	return nil
}

// alive checks for a right answer, after an error or another disturbance.
func (s *subject) alive() error {
	return in(s.with(fixtures.Random, 5, func(l *loaded) error {
		return s.expect(l, 1, s.scalars(fixtures.Uniform, 4, 77))
	}), "afterwards")
}

// any returns the subject with the first curve and group of the run.
func (s *subject) any() *subject {
	a := *s
	a.curve, a.group = s.curves[0], s.groups[0]
	return &a
}
