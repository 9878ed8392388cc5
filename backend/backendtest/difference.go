package backendtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/fixtures"
)

// Difference runs a number of small random cases on both backends and fails
// where they differ; the seed gives the same cases again. Cases are of the
// curves that both have.
func Difference(t testing.TB, a, b backend.Backend, seed uint64, cases int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range cases {
		data := randomBytes(rng, 96)
		if err := differ(t.Context(), a, b, data); err != nil {
			t.Fatalf("seed %d, case %d (%x): %v", seed, i, data, err)
		}
	}
}

// DifferenceOf is the body of a fuzz target: it reads one case from data, of
// which every value is a case, and fails where the backends differ.
func DifferenceOf(t testing.TB, a, b backend.Backend, data []byte) {
	t.Helper()
	if err := differ(t.Context(), a, b, data); err != nil {
		t.Fatalf("%x: %v", data, err)
	}
}

func randomBytes(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// reader hands out bytes of a case, zeros after its end.
type reader struct{ data []byte }

func (r *reader) next() byte {
	if len(r.data) == 0 {
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return b
}

// below is a number below n, which is at most 256.
func (r *reader) below(n int) int { return int(r.next()) % n }

// differ reads a case (curve, group, set of points, how many of them; then up
// to three jobs: range, scalars or those of the first job) and runs it on both.
func differ(ctx context.Context, a, b backend.Backend, data []byte) error {
	r := &reader{data}
	c := backend.Curves()[r.below(len(backend.Curves()))]
	g := backend.Groups()[r.below(2)]
	if !a.Info().Can.HasMSM(c, g) || !b.Info().Can.HasMSM(c, g) {
		return nil
	}
	set := fixtures.Sets()[r.below(len(fixtures.Sets()))]
	n := r.below(25)
	p, err := pointsOf(fixtures.Key{Curve: c, Group: g, Set: set})
	if err != nil {
		return err
	}
	points, err := p.Bytes(n)
	if err != nil {
		return err
	}
	var jobs []backend.Job
	for range 1 + r.below(3) {
		j := backend.Job{Offset: r.below(n + 1)}
		j.Count = r.below(n - j.Offset + 1)
		j.Check = r.below(2) == 1
		if len(jobs) > 0 && jobs[0].Count == j.Count && r.below(2) == 1 {
			j.SameAs = 1
		} else {
			j.Scalars = r.scalars(c, j.Count)
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

// scalars reads scalars of which edges are likely.
func (r *reader) scalars(c backend.Curve, n int) []byte {
	order, one := fixtures.Order(c), big.NewInt(1)
	var out []byte
	for i := range n {
		v := new(big.Int)
		switch r.below(8) {
		case 0: // zero
		case 1:
			v.SetInt64(int64(r.next()))
		case 2:
			v.Sub(order, big.NewInt(1+int64(r.next())))
		case 3:
			v.Lsh(one, uint(r.next())*2)
		case 4:
			v.Sub(v.Lsh(one, uint(r.next())*2), one)
		case 5:
			rng := rand.New(rand.NewPCG(uint64(r.next()), uint64(r.next())))
			v.SetBytes(randomBytes(rng, c.ScalarBytes()+8))
		case 6: // the scalar before
			if i > 0 {
				v = fixtures.ScalarValue(c, out[len(out)-c.ScalarBytes():])
			}
		case 7: // half of the order, and near it
			v.Add(v.Rsh(order, 1), big.NewInt(int64(r.next())-128))
		}
		out = append(out, fixtures.Scalar(c, v)...)
	}
	return out
}

// compute runs the jobs over freshly loaded bases.
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
