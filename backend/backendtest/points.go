package backendtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/randprog"
)

// pointChecks are run for every group over whose points a backend has programs.
var pointChecks = []check{
	{"spaces of points", pointSpaces},
	{"products of points", pointProducts},
	{"transforms of points", pointTransforms},
	{"encodings", encodings},
	{"valid points", validPoints},
	{"random programs over points", randomPointPrograms},
	{"accesses of points", pointAccesses},
	{"wrong steps over points", wrongPointSteps},
	{"cancelled programs over points", cancelledPointPrograms},
}

func (s *suite) points(t *testing.T, b backend.Backend) {
	for _, curve := range s.curves {
		for _, group := range s.groups {
			if !b.Info().Can.HasPrograms(backend.PointOf(curve, group)) {
				continue
			}
			for _, c := range pointChecks {
				t.Run(fmt.Sprintf("%v/%v/%s", curve, group, c.name), func(t *testing.T) {
					s.report(t, c.run, &subject{suite: s, b: b, curve: curve, group: group})
				})
			}
		}
	}
}

// point returns the element of the subject's group.
func (s *subject) point() backend.Element { return backend.PointOf(s.curve, s.group) }

// pointsOf returns the first n points of a set.
func (s *subject) pointsOf(set fixtures.Set, n int) ([]byte, error) {
	p, err := s.set(set)
	if err != nil {
		return nil, err
	}
	return p.Bytes(n)
}

// overPoints returns a program over spaces of points and then of scalars.
func (s *subject) overPoints(points [][]byte, scalars ...[]byte) *randprog.Program {
	p := &randprog.Program{Element: s.point(), Spaces: append(slices.Clone(points), scalars...)}
	for range points {
		p.Of = append(p.Of, s.point())
	}
	for range scalars {
		p.Of = append(p.Of, backend.ScalarOf(s.curve))
	}
	return p
}

// pointSpaces checks that spaces are infinity at first, hold what is written and refuse a
// coordinate not below q.
func pointSpaces(s *subject) error {
	const n = 5
	points, err := s.pointsOf(fixtures.Random, n)
	if err != nil {
		return err
	}
	id, err := s.vectors().NewSpace(s.ctx, s.point(), n+1)
	if err != nil {
		return err
	}
	defer func() { _ = s.vectors().FreeSpace(s.ctx, id) }()
	size := s.point().Bytes()
	write := backend.Write{Dst: span(id, 1, n), Input: backend.Input{Bytes: points, Check: true}}
	got, err := s.vectors().Run(s.ctx, []backend.Step{write, backend.Read{Src: span(id, 0, n+1)}})
	if err != nil {
		return err
	}
	if err := equal(got[1], append(make([]byte, size), points...)); err != nil {
		return err
	}
	large := slices.Clone(points)
	fp := s.curve.FieldBytes()
	copy(large[3*size+size-fp:], fixtures.Raw(s.curve.BaseField(), fp))
	write.Bytes = large
	_, err = s.vectors().Run(s.ctx, []backend.Step{write})
	if e := refused(err, backend.ErrInvalidInput); e != nil {
		return in(e, "a coordinate that is q")
	}
	if !strings.Contains(err.Error(), "element 3") {
		return fmt.Errorf("%w: does not name the element", err)
	}
	return nil
}

// generator returns gnark-crypto's generator g and points of fixtures with their discrete
// logarithms to the base g.
func (s *subject) generator() (g, points, dlogs []byte, err error) {
	n := 300 // enough for a table to pay
	p, err := s.set(fixtures.Random)
	if err != nil {
		return nil, nil, nil, err
	}
	if points, err = p.Bytes(n); err != nil {
		return nil, nil, nil, err
	}
	dlogs = make([]byte, n*s.curve.ScalarBytes())
	if err = p.DLogs(dlogs, 0); err != nil {
		return nil, nil, nil, err
	}
	d := fixtures.ScalarValue(s.curve, dlogs)
	d.ModInverse(d, fixtures.Order(s.curve))
	out, err := s.overPointsRun([][]byte{points[:s.point().Bytes()]}, [][]byte{s.numbers(d)},
		backend.MultiplyPoints{Dst: span(1, 0, 1), Src: span(1, 0, 1), Scalars: span(2, 0, 1)})
	if err != nil {
		return nil, nil, nil, err
	}
	return out.Spaces[0], points, dlogs, nil
}

func (s *subject) overPointsRun(points, scalars [][]byte, steps ...backend.Step) (*randprog.Outcome, error) {
	p := s.overPoints(points, scalars...)
	p.Steps = steps
	return p.Run(s.ctx, s.b)
}

// pointProducts checks products by discrete logarithms: of fixed bases, of all points by one
// scalar, and sums of rows with one table.
func pointProducts(s *subject) error {
	g, points, dlogs, err := s.generator()
	if err != nil {
		return err
	}
	n, size := len(points)/s.point().Bytes(), s.point().Bytes()
	out, err := s.overPointsRun([][]byte{make([]byte, len(points)), g}, [][]byte{dlogs},
		backend.MultiplyPoints{Dst: span(1, 0, n), Src: span(2, 0, 1), Scalars: span(3, 0, n)})
	if err != nil {
		return err
	}
	if err := equal(out.Spaces[0], points); err != nil {
		return in(err, "multiples of the generator")
	}
	set, err := s.set(fixtures.Random)
	if err != nil {
		return err
	}
	const rows = 6
	for _, terms := range []int{1, 2, 7, 40} {
		k := s.scalars(fixtures.Witness, rows*terms, 91)
		row := terms * s.curve.ScalarBytes()
		for name, c := range map[string]struct {
			scalars []byte
			src     int
			want    func(j int) ([]byte, error)
		}{
			"a table for all rows": {k, terms, func(j int) ([]byte, error) { return set.Expected(0, k[j*row:(j+1)*row]) }},
			"other points a row": {k, rows * terms, func(j int) ([]byte, error) {
				return set.Expected(j*terms, k[j*row:(j+1)*row])
			}},
			"one scalar": {k[:s.curve.ScalarBytes()], rows * terms, func(j int) ([]byte, error) {
				return set.Expected(j*terms, bytes.Repeat(k[:s.curve.ScalarBytes()], terms))
			}},
			"no scalars": {nil, rows * terms, func(j int) ([]byte, error) {
				return set.Expected(j*terms, s.repeat(big.NewInt(1), terms))
			}},
		} {
			m := backend.MultiplyPoints{Dst: span(1, 0, rows), Src: span(2, 0, c.src), Terms: terms}
			if c.scalars != nil {
				m.Scalars = span(3, 0, len(c.scalars)/s.curve.ScalarBytes())
			}
			out, err := s.overPointsRun([][]byte{make([]byte, rows*size), points}, [][]byte{k}, m)
			if err != nil {
				return in(err, "%s, %d terms", name, terms)
			}
			for j := range rows {
				want, err := c.want(j)
				if err != nil {
					return err
				}
				if err := equal(out.Spaces[0][j*size:(j+1)*size], want); err != nil {
					return in(err, "%s, %d terms, row %d", name, terms, j)
				}
			}
		}
	}
	return nil
}

// pointTransforms compares a transform of points with the multiples of the generator by the
// transformed discrete logarithms.
func pointTransforms(s *subject) error {
	const n, batch = 16, 2
	g, points, dlogs, err := s.generator()
	if err != nil {
		return err
	}
	points, dlogs = points[:batch*n*s.point().Bytes()], dlogs[:batch*n*s.curve.ScalarBytes()]
	for _, o := range orders {
		for _, shift := range s.shifts() {
			for _, inverse := range []bool{false, true} {
				for _, given := range []int{n, n - 5} {
					if given < n && (inverse || o[0] == backend.Reversed) {
						continue
					}
					t := backend.Transform{
						Dst: span(1, 0, batch*n), Src: span(1, 0, batch*n), Batch: batch, From: o[0], To: o[1], Inverse: inverse, Shift: shift,
					}
					k := backend.Transform{
						Dst: span(5, 0, batch*n), Src: span(4, 0, batch*given), Batch: batch, From: o[0], To: o[1], Inverse: inverse, Shift: shift,
					}
					if given < n {
						t.Src = span(2, 0, batch*given)
					}
					out, err := s.overPointsRun([][]byte{points, points, g}, [][]byte{dlogs, make([]byte, len(dlogs))},
						t, k, backend.MultiplyPoints{Dst: span(2, 0, batch*n), Src: span(3, 0, 1), Scalars: span(5, 0, batch*n)})
					if err != nil {
						return err
					}
					if err := equal(out.Spaces[0], out.Spaces[1]); err != nil {
						return in(err, "%+v", t)
					}
				}
			}
		}
	}
	return nil
}

// encodings reads and writes points in each encoding. Bytes that encode no point must be refused
// with the index.
func encodings(s *subject) error {
	const n = 9
	points, err := s.pointsOf(fixtures.Infinities, n)
	if err != nil {
		return err
	}
	ref := cpu.NewReference()
	defer ref.Close()
	for _, c := range []backend.Encoding{backend.Compressed, backend.Uncompressed} {
		p := s.overPoints([][]byte{points})
		p.Steps = []backend.Step{backend.Read{Src: span(1, 0, n), Encoding: c}}
		if err := p.Differ(s.ctx, s.b, ref); err != nil {
			return err
		}
		out, err := p.Run(s.ctx, ref)
		if err != nil {
			return err
		}
		encoded := out.Answers[0]
		write := func(b []byte) (*randprog.Outcome, error) {
			return s.overPointsRun([][]byte{make([]byte, len(points))}, nil,
				backend.Write{Dst: span(1, 0, n), Input: backend.Input{Bytes: b}, Encoding: c})
		}
		if out, err = write(encoded); err != nil {
			return err
		}
		if err := equal(out.Spaces[0], points); err != nil {
			return err
		}
		size, fp := c.Bytes(s.point()), s.curve.FieldBytes()
		large := slices.Clone(encoded) // the last coordinate of element 6 is q
		q := s.curve.BaseField().FillBytes(make([]byte, fp))
		copy(large[7*size-fp:], q)
		if c == backend.Compressed && fp == size {
			large[6*size] |= 0x80
		}
		// Element 7 gets the first bits of another encoding than the one asked for.
		other := slices.Clone(encoded)
		other[7*size] ^= 0x80
		for at, b := range map[int][]byte{6: large, 7: other} {
			if _, err := write(b); err == nil || !errors.Is(err, backend.ErrInvalidInput) ||
				!strings.Contains(err.Error(), fmt.Sprintf("element %d ", at)) {
				return fmt.Errorf("encoding %d, element %d: %v", c, at, err)
			}
		}
	}
	return nil
}

// validPoints checks that CheckPoints finds points off the curve, points outside of the group and
// coordinates not below q.
func validPoints(s *subject) error {
	const n = 9
	points, err := s.pointsOf(fixtures.Infinities, n)
	if err != nil {
		return err
	}
	size, fp := s.point().Bytes(), s.curve.FieldBytes()
	off := slices.Clone(points)
	off[4*size]++ // X of 4, unless that is infinity
	copy(off[8*size-fp:], fixtures.Raw(s.curve.BaseField(), fp))
	// Where the group is not the whole curve, points with a small X are hardly ever in it.
	outside := make([]byte, 0, 3*size)
	for x := byte(1); len(outside) < 3*size; x++ {
		c := make([]byte, backend.Compressed.Bytes(s.point()))
		c[0], c[len(c)-1] = 0x80, x
		out, err := s.overPointsRun([][]byte{make([]byte, size)}, nil, backend.Write{
			Dst: span(1, 0, 1), Input: backend.Input{Bytes: c}, Encoding: backend.Compressed,
		})
		switch {
		case err == nil:
			outside = append(outside, out.Spaces[0]...)
		case !errors.Is(err, backend.ErrInvalidInput) || x == 255:
			return err
		}
	}
	outsiders := 3
	if s.curve == backend.BN254 && s.group == backend.G1 {
		outsiders = 0 // all points of the curve are in the group
	}
	for _, c := range []struct {
		points         []byte
		bad, subgroups int
	}{{points, 0, 0}, {off, 2, 2}, {outside, 0, outsiders}} {
		all := span(1, 0, len(c.points)/size)
		out, err := s.overPointsRun([][]byte{c.points}, nil, backend.CheckPoints{Src: all}, backend.CheckPoints{Src: all, Subgroup: true})
		if err != nil {
			return err
		}
		for i, want := range []int{c.bad, c.subgroups} {
			bad, first, err := backend.CheckedPoints(out.Answers[i])
			wantFirst := -1
			if want > 0 {
				wantFirst = map[int]int{2: 4, 3: 0}[want]
			}
			if err != nil || bad != want || first != wantFirst {
				return fmt.Errorf("subgroup %v: %d points are not valid, from %d on, want %d from %d (%v)", i == 1, bad, first, want, wantFirst, err)
			}
		}
	}
	return nil
}

// pointCase reads a case: curve, group, set of points, then a program. It returns nil if one of the
// backends is unable to run it.
func pointCase(data []byte, able ...backend.Capabilities) (*randprog.Program, error) {
	const n = 12
	r := randprog.Read(data)
	c := backend.Curves()[r.Below(len(backend.Curves()))]
	g := backend.Groups()[r.Below(2)]
	for _, can := range able {
		if !can.HasPrograms(backend.PointOf(c, g)) || !can.HasMSM(c, g) {
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
	return r.Points(backend.Bases{Curve: c, Group: g, Count: n, Bytes: points}, randprog.SmallPoints), nil
}

// pointPrograms reads a case and runs it on both backends.
func pointPrograms(ctx context.Context, a, b backend.Backend, data []byte) error {
	p, err := pointCase(data, a.Info().Can, b.Info().Can)
	if p == nil {
		return err
	}
	return p.Differ(ctx, a, b)
}

// DifferenceOfPoints does what DifferenceOf does, for a program over points.
func DifferenceOfPoints(t testing.TB, a, b backend.Backend, data []byte) {
	t.Helper()
	if err := pointPrograms(t.Context(), a, b, data); err != nil {
		t.Fatalf("%x: %v", data, err)
	}
}

// randomlyIn does what randomly does, in the subject's group.
func (s *subject) randomlyIn(seed uint64, n int, do func(data []byte) error) error {
	in := *s
	own := *s.suite
	own.groups = []backend.Group{s.group}
	in.suite = &own
	return in.randomly(seed, n, do)
}

func randomPointPrograms(s *subject) error {
	ref := cpu.NewReference()
	defer ref.Close()
	n := 16
	if s.full {
		n = 100
	}
	return s.randomlyIn(92, n, func(data []byte) error { return pointPrograms(s.ctx, s.b, ref, data) })
}

// pointAccesses checks that a step touches the ranges that it declares and nothing else.
func pointAccesses(s *subject) error {
	salt := uint64(93)
	return s.randomlyIn(93, 3, func(data []byte) error {
		p, err := pointCase(data, s.b.Info().Can)
		if p == nil {
			return err
		}
		return s.honest(p, func(e backend.Element, n int) []byte {
			salt++
			if e.Kind == backend.Scalars {
				return s.scalars(fixtures.Uniform, n, salt)
			}
			size := e.Bytes()
			all, err := s.pointsOf(fixtures.Random, int(salt)+n)
			if err != nil {
				panic(err) // the group is this suite's own
			}
			return all[int(salt)*size:]
		})
	})
}

// wrongPointSteps checks that wrong steps are refused by name before anything is written.
func wrongPointSteps(s *subject) error {
	const n = 16
	points, err := s.pointsOf(fixtures.Random, n)
	if err != nil {
		return err
	}
	v := s.vectors()
	elements := []backend.Element{s.point(), backend.ScalarOf(s.curve), backend.PointOf(s.curve, backend.G1+backend.G2-s.group)}
	var ids []backend.SpaceID
	defer func() {
		for _, id := range ids {
			_ = v.FreeSpace(s.ctx, id)
		}
	}()
	for _, e := range elements {
		id, err := v.NewSpace(s.ctx, e, n)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	if _, err := v.Run(s.ctx, []backend.Step{backend.Write{Dst: span(ids[0], 0, n), Input: backend.Input{Bytes: points}}}); err != nil {
		return err
	}
	return s.with(fixtures.Random, 8, func(l *loaded) error {
		for i, step := range randprog.WrongPoints(s.point()) {
			_, err := v.Run(s.ctx, randprog.Renamed([]backend.Step{backend.AddPoints{Dst: span(1, 0, n)}, step}, ids, []backend.BasesID{l.id}))
			if err := refused(err, backend.ErrInvalidInput); err != nil {
				return in(err, "wrong step %d: %T%+v", i, step, step)
			}
			if !strings.Contains(err.Error(), "step 1") {
				return fmt.Errorf("%T%+v: %w: does not name the step", step, step, err)
			}
		}
		got, err := v.Run(s.ctx, []backend.Step{backend.Read{Src: span(ids[0], 0, n)}})
		if err != nil {
			return err
		}
		return in(equal(got[0], points), "after programs that were refused")
	})
}

// cancelledPointPrograms checks that cancelled programs end and leave the backend usable.
func cancelledPointPrograms(s *subject) error {
	const n = 64
	points, err := s.pointsOf(fixtures.Random, n)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	p := s.overPoints([][]byte{points, points}, s.scalars(fixtures.Uniform, n, 94))
	all, other := span(1, 0, n), span(2, 0, n)
	p.Steps = []backend.Step{backend.Write{Dst: all, Input: backend.Input{Bytes: points, Ready: func(context.Context, int) error {
		cancel()
		return nil
	}}}}
	for range 100 {
		p.Steps = append(p.Steps, backend.Transform{Dst: all, Src: all}, backend.MultiplyPoints{Dst: other, Src: all, Scalars: span(3, 0, n)},
			backend.MultiplyPoints{Dst: span(2, 0, 1), Src: all, Scalars: span(3, 0, n), Terms: n})
	}
	v := s.vectors()
	var ids []backend.SpaceID
	for k := range p.Spaces {
		id, err := v.NewSpace(s.ctx, p.Of[k], n)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	_, err = v.Run(ctx, randprog.Renamed(p.Steps, ids, nil))
	err = in(refused(err, context.Canceled), "cancelled while it waits")
	later, cancel := context.WithTimeout(s.ctx, s.soon)
	defer cancel()
	p.Steps[0] = backend.Write{Dst: all, Input: backend.Input{Bytes: points}}
	if _, e := v.Run(later, randprog.Renamed(p.Steps, ids, nil)); e != nil { // a fast backend may have finished
		err = errors.Join(err, in(refused(e, context.DeadlineExceeded), "cancelled while it computes"))
	}
	for _, id := range ids {
		err = errors.Join(err, v.FreeSpace(s.ctx, id))
	}
	return errors.Join(err, s.alive())
}
