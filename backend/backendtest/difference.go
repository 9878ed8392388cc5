package backendtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/randprog"
)

// mostAtATime bounds the cases that run at the same time. While a backend on a card computes one
// case, the processors compute the expected answers of others.
const mostAtATime = 32

// Difference runs n small random cases of each kind on both backends and fails if their answers
// differ. The kinds are MSMs, programs over vectors, programs over points and operations on
// numbers. The same seed gives the same cases. They are of the curves that both backends have. Some
// run at the same time, as calls do.
func Difference(t testing.TB, a, b backend.Backend, seed uint64, n int) {
	t.Helper()
	DifferenceUntil(t, t.Context(), a, b, seed, n)
}

// DifferenceUntil does what Difference does, but begins no case after ctx has ended. It returns how
// many cases it ran.
func DifferenceUntil(t testing.TB, ctx context.Context, a, b backend.Backend, seed uint64, n int) (cases int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	g, going := errgroup.WithContext(ctx)
	g.SetLimit(min(2*runtime.GOMAXPROCS(0), mostAtATime))
	for i := 0; i < n && going.Err() == nil; i++ {
		for k, kind := range []struct {
			size   int
			differ differ
		}{{96, msms}, {400, programs}, {400, numbers}, {400, pointPrograms}} {
			data := randprog.Bytes(rng, kind.size)
			cases++
			g.Go(func() error {
				if err := kind.differ(t.Context(), a, b, data); err != nil {
					return fmt.Errorf("seed %d, case %d of kind %d (%x): %w", seed, i, k, data, err)
				}
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	return cases
}

// DifferenceOf reads one case of MSMs from data and fails if the backends differ. It is the body of
// a fuzz target: any data is a case.
func DifferenceOf(t testing.TB, a, b backend.Backend, data []byte) {
	t.Helper()
	if err := msms(t.Context(), a, b, data); err != nil {
		t.Fatalf("%x: %v", data, err)
	}
}

// DifferenceOfPrograms does what DifferenceOf does, for a program over vectors.
func DifferenceOfPrograms(t testing.TB, a, b backend.Backend, data []byte) {
	t.Helper()
	if err := programs(t.Context(), a, b, data); err != nil {
		t.Fatalf("%x: %v", data, err)
	}
}

// DifferenceOfNumbers does what DifferenceOf does, for a program of operations on numbers.
func DifferenceOfNumbers(t testing.TB, a, b backend.Backend, data []byte) {
	t.Helper()
	if err := numbers(t.Context(), a, b, data); err != nil {
		t.Fatalf("%x: %v", data, err)
	}
}

// numbers reads a case and runs it on both backends: a program of operations that both have.
func numbers(ctx context.Context, a, b backend.Backend, data []byte) error {
	var both []backend.NumberOp
	for _, op := range a.Info().Can.Numbers {
		if b.Info().Can.HasNumbers(op) {
			both = append(both, op)
		}
	}
	if len(both) == 0 {
		return nil
	}
	return randprog.Read(data).Numbers().Random(both).Differ(ctx, a, b)
}

// differ runs a case on both backends and returns how they differ.
type differ func(ctx context.Context, a, b backend.Backend, data []byte) error

// programs reads a case (see program) and runs it on both backends.
func programs(ctx context.Context, a, b backend.Backend, data []byte) error {
	p, err := program(data, a.Info().Can, b.Info().Can)
	if p == nil {
		return err
	}
	return p.Differ(ctx, a, b)
}

// program reads a case: curve, group, set of points, then a program. It returns nil if one of the
// backends is unable to run it.
func program(data []byte, able ...backend.Capabilities) (*randprog.Program, error) {
	const n = 40
	r := randprog.Read(data)
	c := backend.Curves()[r.Below(len(backend.Curves()))]
	g := backend.Groups()[r.Below(2)]
	for _, can := range able {
		if !can.HasPrograms(backend.ScalarOf(c)) || !can.HasMSM(c, g) {
			return nil, nil
		}
	}
	p, err := pointsOf(fixtures.Key{Curve: c, Group: g, Set: fixtures.Sets()[r.Below(len(fixtures.Sets()))]})
	if err != nil {
		return nil, err
	}
	points, err := p.Bytes(n)
	if err != nil {
		return nil, err
	}
	return r.Program(c, backend.Bases{Curve: c, Group: g, Count: n, Bytes: points}, randprog.Small), nil
}

// msms reads a case and runs it on both backends: curve, group, set of points, how many points, and
// then up to three jobs, each with a range and with scalars or those of the first job.
func msms(ctx context.Context, a, b backend.Backend, data []byte) error {
	r := randprog.Read(data)
	c := backend.Curves()[r.Below(len(backend.Curves()))]
	g := backend.Groups()[r.Below(2)]
	if !a.Info().Can.HasMSM(c, g) || !b.Info().Can.HasMSM(c, g) {
		return nil
	}
	set := fixtures.Sets()[r.Below(len(fixtures.Sets()))]
	n := r.Below(25)
	p, err := pointsOf(fixtures.Key{Curve: c, Group: g, Set: set})
	if err != nil {
		return err
	}
	points, err := p.Bytes(n)
	if err != nil {
		return err
	}
	var jobs []backend.Job
	for range 1 + r.Below(3) {
		j := backend.Job{Offset: r.Below(n + 1)}
		j.Count = r.Below(n - j.Offset + 1)
		j.Check = r.Below(2) == 1
		if len(jobs) > 0 && jobs[0].Count == j.Count && r.Below(2) == 1 {
			j.SameAs = 1
		} else {
			j.Bytes = r.Scalars(c, j.Count)
		}
		jobs = append(jobs, j)
	}
	bases := backend.Bases{Curve: c, Group: g, Count: n, Bytes: points}
	x, errA := compute(ctx, a, bases, jobs)
	y, errB := compute(ctx, b, bases, jobs)
	if err := errors.Join(in(errA, "%s", a.Info().Name), in(errB, "%s", b.Info().Name)); err != nil {
		return err
	}
	if len(x) != len(y) {
		return fmt.Errorf("%d and %d results", len(x), len(y))
	}
	for i := range x {
		if !bytes.Equal(x[i], y[i]) {
			return fmt.Errorf("%v %v, %v points, job %d of %d scalars from %d\n%s %x\n%s %x", c, g, set, i,
				jobs[i].Count, jobs[i].Offset, a.Info().Name, x[i], b.Info().Name, y[i])
		}
	}
	return nil
}

// compute loads the bases and runs the jobs over them.
func compute(ctx context.Context, b backend.Backend, bases backend.Bases, jobs []backend.Job) (_ [][]byte, err error) {
	id, err := b.LoadBases(ctx, bases)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.FreeBases(ctx, id)) }()
	jobs = slices.Clone(jobs)
	for i := range jobs {
		jobs[i].Bases = id
	}
	return b.MSM(ctx, jobs)
}
