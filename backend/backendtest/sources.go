package backendtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/big"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/fixtures"
)

// cuts are the lengths of pieces, again and again: odd ones, zero, shorter and longer than a point,
// and at last a large one.
var cuts = []int{1, 7, 0, 31, 95, 193, 4099, 70001}

// pieces yields b in odd pieces. It overwrites a piece when the next one is asked for.
func pieces(b []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		buf := make([]byte, slices.Max(cuts))
		for i := 0; len(b) > 0; i++ {
			p := buf[:copy(buf[:cuts[i%len(cuts)]], b)]
			b = b[len(p):]
			if !yield(p, nil) {
				return
			}
			for k := range buf {
				buf[k] = 0x5a
			}
		}
	}
}

// withFile writes skip bytes and then b to a file, and calls do.
func withFile(b []byte, skip int, do func(*os.File) error) error {
	f, err := os.CreateTemp("", "backendtest-*.points")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	for _, part := range [][]byte{make([]byte, skip), b} {
		if _, err := f.Write(part); err != nil {
			return err
		}
	}
	return do(f)
}

// sources loads the same points in every way.
func sources(s *subject) error {
	n := s.some()
	return s.with(fixtures.Infinities, n, func(l *loaded) error {
		load := func(b backend.Bases) error {
			b.Curve, b.Group, b.Count = s.curve, s.group, n
			id, err := s.b.LoadBases(s.ctx, b)
			if err != nil {
				return err
			}
			other := *l
			other.id = id
			if b.File != nil { // read to its end by now, as pieces are
				err = b.File.Truncate(0)
			}
			return errors.Join(err, s.expect(&other, 1, s.scalars(fixtures.Uniform, n-1, 21)), s.b.FreeBases(s.ctx, id))
		}
		for _, check := range []bool{false, true} {
			hints := backend.Hints{Check: check}
			if err := load(backend.Bases{Bytes: l.bytes, Hints: hints}); err != nil {
				return in(err, "from memory")
			}
			if err := load(backend.Bases{Pieces: pieces(l.bytes), Hints: hints}); err != nil {
				return in(err, "from pieces")
			}
			for _, skip := range []int{0, 13, 4096} {
				if err := withFile(l.bytes, skip, func(f *os.File) error {
					return load(backend.Bases{File: f, FileOffset: int64(skip), Hints: hints})
				}); err != nil {
					return in(err, "from a file, offset %d", skip)
				}
			}
		}
		return nil
	})
}

func brokenSources(s *subject) error {
	const n = 50
	return s.with(fixtures.Random, n, func(l *loaded) error {
		load := func(p iter.Seq2[[]byte, error]) error {
			id, err := s.b.LoadBases(s.ctx, backend.Bases{Curve: s.curve, Group: s.group, Count: n, Pieces: p})
			if err == nil {
				err = s.b.FreeBases(s.ctx, id)
			}
			return err
		}
		mine := errors.New("this source is broken")
		breaking := func(yield func([]byte, error) bool) {
			if yield(l.bytes[:100], nil) {
				yield(nil, mine)
			}
		}
		return errors.Join(
			in(refused(load(pieces(l.bytes[:len(l.bytes)-1])), backend.ErrInvalidInput), "one byte too few"),
			in(refused(load(pieces(append(slices.Clone(l.bytes), 0))), backend.ErrInvalidInput), "one byte too many"),
			in(refused(load(pieces(nil)), backend.ErrInvalidInput), "no piece"),
			in(refused(load(breaking), mine), "error between pieces"),
			s.alive(),
		)
	})
}

// late is scalars that are written only when the backend asks for them.
type late struct {
	size     int
	dst, src []byte

	mu   sync.Mutex
	last int
	err  error
}

// newLate returns scalars that hold a decoy until the right ones are asked for.
func (s *subject) newLate(right, decoy []byte) *late {
	return &late{size: s.curve.ScalarBytes(), dst: slices.Clone(decoy), src: right}
}

// ready takes its time, as an Input.Ready may.
func (l *late) ready(_ context.Context, n int) error {
	time.Sleep(2 * time.Millisecond)
	l.mu.Lock()
	defer l.mu.Unlock()
	if count := len(l.src) / l.size; n < l.last || n > count {
		l.err = fmt.Errorf("the callback Ready was asked for %d scalars of %d after %d", n, count, l.last)
		return l.err
	}
	copy(l.dst[l.last*l.size:], l.src[l.last*l.size:n*l.size])
	l.last = n
	return nil
}

// asked returns an error unless all scalars were asked for.
func (l *late) asked() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if count := len(l.src) / l.size; l.err == nil && l.last != count {
		return fmt.Errorf("the callback Ready was asked for %d of %d scalars", l.last, count)
	}
	return l.err
}

func ready(s *subject) error {
	n := s.some()
	return s.with(fixtures.Random, n, func(l *loaded) error {
		x, y, decoy := s.scalars(fixtures.Uniform, n, 22), s.scalars(fixtures.Witness, n, 23), s.repeat(big.NewInt(7), n)
		wantX, err := l.want(0, x)
		if err != nil {
			return err
		}
		wantY, err := l.want(0, y)
		if err != nil {
			return err
		}
		for _, check := range []bool{false, true} {
			a, b := s.newLate(x, decoy), s.newLate(y, decoy)
			j, k := l.job(0, a.dst), l.job(0, b.dst)
			j.Ready, k.Ready, j.Check, k.Check = a.ready, b.ready, check, check
			same := backend.Job{Bases: l.id, Count: n, SameAs: 1}
			none := l.job(n, nil)
			none.Ready = s.newLate(nil, nil).ready
			if err := errors.Join(
				s.all([]backend.Job{j, none, same, k, same}, [][]byte{wantX, make([]byte, len(wantX)), wantX, wantY, wantX}),
				a.asked(), b.asked(),
			); err != nil {
				return err
			}
		}
		return nil
	})
}

// bad is bytes that must be refused.
type bad struct {
	what string
	b    []byte
}

// badElements returns values not below m, to be put in place of the element p.
func badElements(p []byte, m *big.Int) []bad {
	limit := new(big.Int).Lsh(big.NewInt(1), uint(8*len(p)))
	list := []bad{
		{"modulus", fixtures.Raw(m, len(p))},
		{"modulus + 1", fixtures.Raw(new(big.Int).Add(m, big.NewInt(1)), len(p))},
		{"all ones", fixtures.Raw(limit.Sub(limit, big.NewInt(1)), len(p))},
	}
	if v := new(big.Int).Add(fixtures.FromRaw(p), m); v.Cmp(limit) <= 0 {
		list = append(list, bad{"right value + modulus", fixtures.Raw(v, len(p))})
	}
	return list
}

// put returns a copy of b with v at offset at.
func put(b []byte, at int, v []byte) []byte {
	b = slices.Clone(b)
	copy(b[at:], v)
	return b
}

func checkOfPoints(s *subject) error {
	const n = 70
	field, point := s.curve.FieldBytes(), s.curve.PointBytes(s.group)
	q := fixtures.Modulus(s.curve)
	return s.with(fixtures.Random, n, func(l *loaded) error {
		var list []bad
		for _, i := range []int{0, 31, n - 1} {
			at := i * point
			p := l.bytes[at : at+point]
			for c := 0; c < point; c += field {
				for _, e := range badElements(p[c:c+field], q) {
					list = append(list, bad{fmt.Sprintf("coordinate %d of point %d is %s", c/field, i, e.what), put(l.bytes, at+c, e.b)})
				}
				// Another coordinate below q is a point of the curve for at most
				// three values of X or two of Y.
				list = append(list, bad{fmt.Sprintf("coordinate %d of point %d changed", c/field, i), put(l.bytes, at+c, make([]byte, field))})
			}
			list = append(list, bad{fmt.Sprintf("X and Y of point %d swapped", i), put(put(l.bytes, at, p[point/2:]), at+point/2, p[:point/2])})
		}
		load := func(b backend.Bases) error {
			b.Curve, b.Group, b.Count, b.Hints.Check = s.curve, s.group, n, true
			id, err := s.b.LoadBases(s.ctx, b)
			if err == nil {
				err = s.b.FreeBases(s.ctx, id)
			}
			return err
		}
		for i, e := range list {
			err := refused(load(backend.Bases{Bytes: e.b}), backend.ErrInvalidInput)
			if i%8 == 0 {
				err = errors.Join(err,
					in(refused(load(backend.Bases{Pieces: pieces(e.b)}), backend.ErrInvalidInput), "in pieces"),
					in(withFile(e.b, 0, func(f *os.File) error {
						return refused(load(backend.Bases{File: f}), backend.ErrInvalidInput)
					}), "in a file"))
			}
			if err != nil {
				return in(err, "%s", e.what)
			}
		}
		return errors.Join(in(load(backend.Bases{Bytes: l.bytes}), "good points"), s.alive())
	})
}

func checkOfScalars(s *subject) error {
	const n = 70
	size, r := s.curve.ScalarBytes(), fixtures.Order(s.curve)
	return s.with(fixtures.Random, n, func(l *loaded) error {
		good := s.scalars(fixtures.Uniform, n, 24)
		for _, i := range []int{0, 32, n - 1} {
			for _, e := range badElements(good[i*size:(i+1)*size], r) {
				j := l.job(0, put(good, i*size, e.b))
				j.Check = true
				_, err := s.b.MSM(s.ctx, []backend.Job{l.job(0, good), j})
				if err := refused(err, backend.ErrInvalidInput); err != nil {
					return in(err, "scalar %d is %s", i, e.what)
				}
			}
		}
		// r-1 is the largest that is allowed, in Montgomery form as such.
		top := put(good, 32*size, fixtures.Raw(new(big.Int).Sub(r, big.NewInt(1)), size))
		want, err := l.want(0, top)
		if err != nil {
			return err
		}
		j := l.job(0, top)
		j.Check = true
		return in(s.all([]backend.Job{j}, [][]byte{want}), "good scalars")
	})
}
