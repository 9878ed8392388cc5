package backendtest

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/randprog"
)

// some returns the size for checks that are not about sizes.
func (s *suite) some() int {
	if s.full {
		return 5003
	}
	return 611
}

func sizes(s *subject) error {
	ns := []int{0, 1, 2, 3, 31, 32, 33}
	for _, k := range s.logs {
		ns = append(ns, 1<<k-1, 1<<k, 1<<k+1)
	}
	for _, n := range ns {
		if err := s.with(fixtures.Random, n, func(l *loaded) error {
			return s.expect(l, 0, s.scalars(fixtures.Uniform, n, 1))
		}); err != nil {
			return in(err, "n = %d", n)
		}
	}
	return nil
}

func distributions(s *subject) error {
	n := s.some()
	return s.with(fixtures.Random, n, func(l *loaded) error {
		for _, d := range fixtures.Distributions() {
			if err := s.expect(l, 0, s.scalars(d, n, 2)); err != nil {
				return in(err, "%v", d)
			}
		}
		return nil
	})
}

// edges returns numbers near which digits, carries or signs change.
func (s *subject) edges() []*big.Int {
	r, one := fixtures.Order(s.curve), big.NewInt(1)
	minus := func(k int64) *big.Int { return new(big.Int).Sub(r, big.NewInt(k)) }
	half := new(big.Int).Rsh(r, 1)
	v := []*big.Int{big.NewInt(0), one, big.NewInt(2), minus(1), minus(2), half, new(big.Int).Add(half, one)}
	for j := range s.curve.ScalarBits() {
		p := new(big.Int).Lsh(one, uint(j))
		v = append(v, p, new(big.Int).Sub(p, one))
	}
	return v
}

func edgeScalars(s *subject) error {
	v := s.edges()
	for _, set := range []fixtures.Set{fixtures.Random, fixtures.Equal, fixtures.Alternating} {
		if err := s.with(set, len(v), func(l *loaded) error {
			return errors.Join(
				in(s.expect(l, 0, s.numbers(v...)), "all"),
				in(s.expect(l, 0, make([]byte, len(v)*s.curve.ScalarBytes())), "zeros"),
			)
		}); err != nil {
			return in(err, "%v points", set)
		}
	}
	return nil
}

// edgeScalarsAlone finds errors that would cancel out among other scalars.
func edgeScalarsAlone(s *subject) error {
	v := s.edges()
	if !s.full { // the special ones, and every 9th power with the number below it
		kept := v[:7:7]
		for j := 7; j+1 < len(v); j += 18 {
			kept = append(kept, v[j], v[j+1])
		}
		v = append(kept, v[len(v)-2:]...)
	}
	return s.with(fixtures.Random, 2, func(l *loaded) error {
		var jobs []backend.Job
		var want [][]byte
		for _, x := range v {
			k := s.numbers(x)
			w, err := l.want(1, k)
			if err != nil {
				return err
			}
			jobs, want = append(jobs, l.job(1, k)), append(want, w)
		}
		return s.all(jobs, want)
	})
}

func equalScalars(s *subject) error {
	n := s.some()
	r := fixtures.Order(s.curve)
	return s.with(fixtures.Random, n, func(l *loaded) error {
		for _, v := range []*big.Int{
			big.NewInt(0), big.NewInt(1), new(big.Int).Sub(r, big.NewInt(1)), new(big.Int).Rsh(r, 1),
			fixtures.ScalarValue(s.curve, s.scalars(fixtures.Uniform, 1, 3)),
		} {
			if err := s.expect(l, 0, s.repeat(v, n)); err != nil {
				return in(err, "all scalars %v", v)
			}
		}
		return nil
	})
}

func specialPoints(s *subject) error {
	n := s.some() &^ 1 // even: then equal scalars of P and -P cancel out
	for _, set := range fixtures.Sets()[1:] {
		if err := s.with(set, n, func(l *loaded) error {
			for _, d := range []fixtures.Distribution{fixtures.Uniform, fixtures.Small, fixtures.Witness} {
				if err := s.expect(l, 0, s.scalars(d, n, 4)); err != nil {
					return in(err, "%v", d)
				}
			}
			k := fixtures.ScalarValue(s.curve, s.scalars(fixtures.Uniform, 1, 5))
			return in(s.expect(l, 0, s.repeat(k, n)), "equal scalars")
		}); err != nil {
			return in(err, "%v points", set)
		}
	}
	return nil
}

func infinitiesOnly(s *subject) (err error) {
	const n = 33
	infinity := make([]byte, s.curve.PointBytes(s.group))
	id, err := s.b.LoadBases(s.ctx, backend.Bases{
		Curve: s.curve, Group: s.group, Count: n, Bytes: bytes.Repeat(infinity, n), Hints: backend.Hints{Check: true},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.b.FreeBases(s.ctx, id)) }()
	got, err := s.one(backend.Job{Bases: id, Count: n, Input: backend.Input{Bytes: s.scalars(fixtures.Uniform, n, 6)}})
	if err != nil {
		return err
	}
	return equal(got, infinity)
}

func ranges(s *subject) error {
	n := s.some()
	return s.with(fixtures.Random, n, func(l *loaded) error {
		for _, r := range [][2]int{{0, 1}, {1, 1}, {1, n - 1}, {3, 17}, {7, 64}, {n / 3, n / 2}, {n - 33, 33}, {n - 1, 1}, {n, 0}, {5, 0}} {
			if err := s.expect(l, r[0], s.scalars(fixtures.Uniform, r[1], 7)); err != nil {
				return in(err, "%d of %d from %d", r[1], n, r[0])
			}
		}
		return nil
	})
}

// batch mixes jobs with own and with shared scalars, empty jobs, and two loads.
func batch(s *subject) error {
	n := s.some()
	return s.with(fixtures.Random, n, func(a *loaded) error {
		return s.with(fixtures.Repeated, n, func(b *loaded) error {
			x, y, z := s.scalars(fixtures.Witness, n-9, 8), s.scalars(fixtures.Uniform, 40, 9), s.scalars(fixtures.Small, n-9, 10)
			return s.mixed([]part{
				{a, 9, x, 0}, {b, 0, x, 1}, {a, 1, y, 0}, {a, 3, nil, 0}, {a, 2, x, 1}, {b, 9, z, 0}, {b, 100, y, 3}, {a, 0, z, 6}, {b, 5, nil, 4},
			})
		})
	})
}

// part is one job of a batch: scalars over l from offset on. sameAs is that of backend.Job; scalars
// are set with it too.
type part struct {
	l       *loaded
	offset  int
	scalars []byte
	sameAs  int
}

// mixed runs a batch of the parts, and then an empty batch.
func (s *subject) mixed(parts []part) error {
	var jobs []backend.Job
	var want [][]byte
	for _, p := range parts {
		w, err := p.l.want(p.offset, p.scalars)
		if err != nil {
			return err
		}
		j := p.l.job(p.offset, p.scalars)
		if p.sameAs > 0 {
			j.SameAs, j.Bytes = p.sameAs, nil
		}
		jobs, want = append(jobs, j), append(want, w)
	}
	return errors.Join(s.all(jobs, want), in(s.all(nil, nil), "empty batch"))
}

// groupsTogether computes one batch over all curves and groups. The two groups of a curve share
// scalars.
func groupsTogether(s *subject) error {
	const n = 70
	var parts []part
	for _, c := range s.curves {
		first := 0
		for _, g := range s.groups {
			sub := *s
			sub.curve, sub.group = c, g
			l, err := sub.load(fixtures.Random, n)
			if err != nil {
				return in(err, "%v %v", c, g)
			}
			defer s.b.FreeBases(s.ctx, l.id) // other checks look at its errors
			parts = append(parts, part{l, 3, sub.scalars(fixtures.Uniform, n-3, 11), first})
			if first == 0 {
				first = len(parts)
			}
		}
	}
	return s.mixed(parts)
}

func unalignedScalars(s *subject) error {
	const n = 65
	return s.with(fixtures.Random, n, func(l *loaded) error {
		for shift := 1; shift < 8; shift += 3 {
			b := make([]byte, shift, shift+n*s.curve.ScalarBytes())
			b = append(b, s.scalars(fixtures.Uniform, n, 12)...)
			want, err := l.want(0, s.scalars(fixtures.Uniform, n, 12))
			if err != nil {
				return err
			}
			got, err := s.one(l.job(0, b[shift:]))
			if err != nil {
				return err
			}
			if err := equal(got, want); err != nil {
				return in(err, "scalars at address %d modulo 8", shift)
			}
		}
		return nil
	})
}

func argumentsUntouched(s *subject) error {
	n := s.some()
	p, err := s.set(fixtures.Random)
	if err != nil {
		return err
	}
	points, err := p.Bytes(n)
	if err != nil {
		return err
	}
	scalars := s.scalars(fixtures.Witness, n, 13)
	pointsBefore, scalarsBefore := slices.Clone(points), slices.Clone(scalars)
	id, err := s.b.LoadBases(s.ctx, backend.Bases{Curve: s.curve, Group: s.group, Count: n, Bytes: points})
	if err != nil {
		return err
	}
	_, err = s.one(backend.Job{Bases: id, Count: n, Input: backend.Input{Bytes: scalars}})
	if err := errors.Join(err, s.b.FreeBases(s.ctx, id)); err != nil {
		return err
	}
	if !bytes.Equal(scalars, scalarsBefore) {
		return errors.New("the backend changed the scalars")
	}
	if !bytes.Equal(points, pointsBefore) {
		return errors.New("the backend changed the bases")
	}
	return nil
}

// resultsOwned overwrites results up to their capacity: they belong to the caller.
func resultsOwned(s *subject) error {
	const n = 40
	return s.with(fixtures.Random, n, func(l *loaded) error {
		k := s.scalars(fixtures.Uniform, n, 14)
		jobs := []backend.Job{l.job(0, k), l.job(0, k), l.job(1, k[s.curve.ScalarBytes():])}
		first, err := s.b.MSM(s.ctx, jobs)
		if err != nil {
			return err
		}
		want := make([][]byte, len(first))
		for i := range first {
			want[i] = slices.Clone(first[i])
		}
		second, err := s.b.MSM(s.ctx, jobs)
		if err != nil {
			return err
		}
		for i := range first {
			whole := first[i][:cap(first[i])]
			for k := range whole {
				whole[k] = 0xa5
			}
			for j := i + 1; j < len(first); j++ {
				if err := equal(first[j], want[j]); err != nil {
					return in(err, "result %d after result %d of the same call was overwritten", j, i)
				}
			}
		}
		for i := range second {
			if err := equal(second[i], want[i]); err != nil {
				return in(err, "result %d after those of the call before were overwritten", i)
			}
		}
		return in(s.all(jobs, want), "call after results were overwritten")
	})
}

// sum adds points with the backend: an MSM with scalars one.
func (s *subject) sum(points ...[]byte) (_ []byte, err error) {
	id, err := s.b.LoadBases(s.ctx, backend.Bases{Curve: s.curve, Group: s.group, Count: len(points), Bytes: bytes.Join(points, nil)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.b.FreeBases(s.ctx, id)) }()
	return s.one(backend.Job{Bases: id, Count: len(points), Input: backend.Input{Bytes: s.repeat(big.NewInt(1), len(points))}})
}

// linearity checks that the sums for a and for b add up to the sum for a+b.
func linearity(s *subject) error {
	const n = 100
	return s.with(fixtures.Random, n, func(l *loaded) error {
		a, b := s.scalars(fixtures.Uniform, n, 15), s.scalars(fixtures.Witness, n, 16)
		var both []byte
		for size, i := s.curve.ScalarBytes(), 0; i < n*size; i += size {
			v := fixtures.ScalarValue(s.curve, a[i:])
			both = append(both, s.numbers(v.Add(v, fixtures.ScalarValue(s.curve, b[i:])))...)
		}
		return s.addUp(l.job(0, both), l.job(0, a), l.job(0, b))
	})
}

func splitAndConcatenate(s *subject) error {
	n := s.some()
	return s.with(fixtures.Random, n, func(l *loaded) error {
		k, size := s.scalars(fixtures.Witness, n, 17), s.curve.ScalarBytes()
		for _, cut := range []int{1, n / 3, n - 1} {
			if err := s.addUp(l.job(0, k), l.job(0, k[:cut*size]), l.job(cut, k[cut*size:])); err != nil {
				return in(err, "cut at %d of %d", cut, n)
			}
		}
		return nil
	})
}

// addUp checks that the answer of whole is the sum of those of a and b.
func (s *subject) addUp(whole, a, b backend.Job) error {
	got, err := s.b.MSM(s.ctx, []backend.Job{whole, a, b})
	if err != nil {
		return err
	}
	sum, err := s.sum(got[1], got[2])
	if err != nil {
		return err
	}
	return equal(sum, got[0])
}

// permutation checks that reordering points and scalars leaves the sum as it is.
func permutation(s *subject) error {
	n := s.some()
	return s.with(fixtures.Infinities, n, func(l *loaded) error {
		k := s.scalars(fixtures.Witness, n, 18)
		want, err := s.one(l.job(0, k))
		if err != nil {
			return err
		}
		point, size := len(l.bytes)/n, s.curve.ScalarBytes()
		var points, scalars []byte
		for _, i := range rand.New(rand.NewPCG(s.seed, 19)).Perm(n) {
			points = append(points, l.bytes[i*point:(i+1)*point]...)
			scalars = append(scalars, k[i*size:(i+1)*size]...)
		}
		id, err := s.b.LoadBases(s.ctx, backend.Bases{Curve: s.curve, Group: s.group, Count: n, Bytes: points})
		if err != nil {
			return err
		}
		got, err := s.one(backend.Job{Bases: id, Count: n, Input: backend.Input{Bytes: scalars}})
		if err := errors.Join(err, s.b.FreeBases(s.ctx, id)); err != nil {
			return err
		}
		return equal(got, want)
	})
}

// reference compares tiny random cases with double-and-add.
func reference(s *subject) error {
	ref := cpu.NewReference()
	defer ref.Close()
	n := 4
	if s.full {
		n = 40
	}
	rng := rand.New(rand.NewPCG(s.seed, 20))
	for i := range n {
		data := randprog.Bytes(rng, 64)
		data[0] = byte(slices.Index(backend.Curves(), s.curve))
		data[1] = byte(slices.Index(backend.Groups(), s.group))
		if err := msms(s.ctx, s.b, ref, data); err != nil {
			return fmt.Errorf("case %d (%x): %w", i, data, err)
		}
	}
	return nil
}
