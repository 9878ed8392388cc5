//go:build cuda && cgo && linux && (amd64 || arm64)

package msm

import (
	"bytes"
	"context"
	"errors"
	"math/big"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-377"
	"github.com/consensys/gnark-crypto/ecc/bls12-377/fp"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/cuda/driver/fakecuda"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	"github.com/pippin-zk/pippin/internal/layout"
)

// everyMultiple is a hint that limits nothing.
const everyMultiple = 1000

// prepared loads bases with a hint for multiples, and fails if none were made. The bases are freed
// when the test ends.
func prepared(t *testing.T, c *Computer, of backend.Bases, most int) *Bases {
	t.Helper()
	of.Hints.Multiples = most
	b, err := c.Load(t.Context(), &of, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Free(); err != nil {
			t.Error(err)
		}
	})
	if b.table == nil || b.table.Rows < 2 || b.table.Rows > most {
		t.Fatalf("with a hint of %d there is %+v", most, b.table)
	}
	return b
}

// usedMultiples reports whether a plan of the computer used multiples since it was last called.
func usedMultiples(c *Computer) bool {
	defer forget(c)
	for _, p := range plansOf[c] {
		if p.Skip > 0 && p.Sets < p.Windows {
			return true
		}
	}
	return false
}

// scalarBytes returns values modulo r as scalars in memory.
func scalarBytes(c backend.Curve, values ...*big.Int) []byte {
	r, size := c.ScalarField(), c.ScalarBytes()
	var all []byte
	for _, v := range values {
		m := new(big.Int).Lsh(v, uint(8*size))
		b := m.Mod(m, r).FillBytes(make([]byte, size))
		slices.Reverse(b)
		all = append(all, b...)
	}
	return all
}

// hostile lists scalars at the borders of windows of c bits, n of each kind.
func hostile(curve backend.Curve, c, n int) map[string][]byte {
	r := curve.ScalarField()
	one, half := big.NewInt(1), new(big.Int).Rsh(r, 1)
	repeated := func(vs ...*big.Int) (all []*big.Int) {
		for i := range n {
			all = append(all, vs[i%len(vs)])
		}
		return all
	}
	var powers, borders []*big.Int
	for i := range r.BitLen() - 1 {
		powers = append(powers, new(big.Int).Lsh(one, uint(i)))
		if (i+1)%c == 0 {
			for d := int64(-1); d <= 1; d++ {
				borders = append(borders, new(big.Int).Add(powers[i], big.NewInt(d)))
			}
		}
	}
	all := make(map[string][]byte)
	for name, vs := range map[string][]*big.Int{
		"zero": repeated(new(big.Int)), "one": repeated(one), "r-1": repeated(new(big.Int).Sub(r, one)),
		"the middle": repeated(half, new(big.Int).Add(half, one)), "powers of two": repeated(powers...), "borders": repeated(borders...),
	} {
		all[name] = scalarBytes(curve, vs...)
	}
	return all
}

// compareSum compares an MSM over the bases from offset on with p's discrete logarithms.
func compareSum(t *testing.T, c *Computer, p *fixtures.Points, b *Bases, offset int, scalars []byte) {
	t.Helper()
	jobs := one(b, scalars)
	jobs[0].Offset = offset
	got, err := c.Compute(t.Context(), jobs)
	if err != nil {
		t.Fatal(err)
	}
	want, err := p.Expected(offset, scalars)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got[0], want) {
		t.Errorf("%d scalars from %d on: wrong, seed %d", jobs[0].Count, offset, *seed)
	}
}

// TestPrepared computes with multiples in every group: over bases of every set, all of them and
// some, with scalars of every distribution. In one group of either form it also uses scalars at the
// borders of windows. In one group it also uses hints that allow few multiples, and other windows
// than the table's.
func TestPrepared(t *testing.T) {
	cudatest.OnFake(t)
	_, c := open(t, device.Options{})
	check := func(t *testing.T, p *fixtures.Points, b *Bases, offset int, scalars []byte) {
		t.Helper()
		compareSum(t, c, p, b, offset, scalars)
		if !usedMultiples(c) {
			t.Error("no multiples were used")
		}
	}
	bases := func(t *testing.T, curve backend.Curve, group backend.Group, set fixtures.Set, n int) (*fixtures.Points, backend.Bases) {
		p, err := fixtures.New(fixtures.Key{Curve: curve, Group: group, Set: set, Seed: *seed})
		if err != nil {
			t.Fatal(err)
		}
		points, err := p.Bytes(n)
		if err != nil {
			t.Fatal(err)
		}
		return p, backend.Bases{Curve: curve, Group: group, Count: n, Bytes: points}
	}
	uniform := func(curve backend.Curve, d fixtures.Distribution, n int) []byte {
		s, err := fixtures.Scalars(curve, d, *seed, n)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	eachGroup(func(curve backend.Curve, group backend.Group) {
		t.Run(curve.String()+"/"+group.String(), func(t *testing.T) {
			const n = 40
			p, of := bases(t, curve, group, fixtures.Infinities, n)
			b := prepared(t, c, of, everyMultiple)
			check(t, p, b, 0, uniform(curve, fixtures.Uniform, n))
			check(t, p, b, 7, uniform(curve, fixtures.Witness, n-9))
		})
	})
	for _, curve := range []backend.Curve{backend.BN254, backend.BLS12377} {
		for _, set := range fixtures.Sets() {
			t.Run(curve.String()+" "+set.String(), func(t *testing.T) {
				const n = 150
				p, of := bases(t, curve, backend.G1, set, n)
				b := prepared(t, c, of, everyMultiple)
				if b.table.Edwards != (curve == backend.BLS12377) {
					t.Errorf("in Edwards form: %v", b.table.Edwards)
				}
				for _, d := range fixtures.Distributions() {
					check(t, p, b, 0, uniform(curve, d, n))
				}
				for name, scalars := range hostile(curve, b.table.Shift, n) {
					t.Run(name, func(t *testing.T) { check(t, p, b, 0, scalars) })
				}
			})
		}
	}
	curve, group := backend.BN254, backend.G1
	for _, most := range []int{2, 3, 7} {
		p, of := bases(t, curve, group, fixtures.Random, 60)
		check(t, p, prepared(t, c, of, most), 0, uniform(curve, fixtures.Uniform, 60))
	}
	// The rows have a shift of 12 bits. Windows have 6 bits, 12 bits, and 8 bits in three sets,
	// which use every second row.
	defer func() { c.tune = nil }()
	c.tune = func(t *msmplan.Params) { t.Window = 12 }
	p, of := bases(t, curve, group, fixtures.Random, 60)
	b := prepared(t, c, of, everyMultiple)
	for _, width := range []int{6, 8, 12} {
		c.tune = func(t *msmplan.Params) { t.Window = width }
		check(t, p, b, 0, uniform(curve, fixtures.Uniform, 60))
	}
}

// TestPreparedOutsideTheSubgroup: multiples are exact for every point of the curve, even if
// doubling makes some of them infinity. In Edwards form the answer is some point of the curve, even
// if a base has no such form.
func TestPreparedOutsideTheSubgroup(t *testing.T) {
	cudatest.OnFake(t)
	_, c := open(t, device.Options{})
	c.tune = func(t *msmplan.Params) { t.Edwards = 0 }
	var points []bls12377.G1Affine
	x := func(v int64) {
		var p bls12377.G1Affine
		p.X.SetInt64(v)
		var right, b fp.Element
		b.SetOne()
		right.Square(&p.X).Mul(&right, &p.X).Add(&right, &b)
		if p.Y.Sqrt(&right) != nil {
			points = append(points, p)
		}
	}
	x(-1) // of order 2
	x(0)  // of order 3
	for v := int64(1); len(points) < 28; v++ {
		x(v)
	}
	points = append(points, withoutForm(t)...)
	if !points[0].IsOnCurve() || !points[0].Y.IsZero() || points[5].IsInSubGroup() {
		t.Fatal("not the points that this test is for")
	}
	of := backend.Bases{
		Curve: backend.BLS12377, Group: backend.G1, Count: len(points), Bytes: layout.Bytes(points), Hints: backend.Hints{Multiples: 1},
	}
	scalars, err := fixtures.Scalars(of.Curve, fixtures.PlonkL, *seed, of.Count)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := c.Load(t.Context(), &of, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Free()
	want, err := c.Compute(t.Context(), one(alone, scalars))
	if err != nil || alone.table != nil || usedMultiples(c) {
		t.Fatalf("forbidden multiples: %+v, %v", alone.table, err)
	}
	got, err := c.Compute(t.Context(), one(prepared(t, c, of, everyMultiple), scalars))
	if err != nil || !bytes.Equal(got[0], want[0]) || !usedMultiples(c) {
		t.Errorf("wrong, or %v", err)
	}

	c.tune = nil
	b := prepared(t, c, of, everyMultiple)
	for from := range points {
		jobs := one(b, scalars[from*of.Curve.ScalarBytes():])
		jobs[0].Offset = from
		got, err := c.Compute(t.Context(), jobs)
		if err != nil || !b.table.Edwards {
			t.Fatal(err)
		}
		sum, err := layout.View[bls12377.G1Affine](got[0])
		if err != nil || !sum[0].IsOnCurve() {
			t.Errorf("bases from %d on: not a point of the curve, or %v", from, err)
		}
	}
}

// withoutForm returns the points that are at infinity in Edwards form: those with u = -1, where
// u = (x + 1)/sqrt(3).
func withoutForm(t *testing.T) (points []bls12377.G1Affine) {
	var root, one fp.Element
	if root.Sqrt(root.SetInt64(3)) == nil {
		t.Fatal("3 is not a square")
	}
	one.SetOne()
	for range 2 {
		var p bls12377.G1Affine
		var right fp.Element
		p.X.Neg(&root).Sub(&p.X, &one)
		right.Square(&p.X).Mul(&right, &p.X).Add(&right, &one)
		if p.Y.Sqrt(&right) != nil {
			points = append(points, p)
		}
		root.Neg(&root)
	}
	if points == nil {
		t.Fatal("no points")
	}
	return points
}

// TestPreparedInTheBackground: without a hint calls are answered at once, and with multiples as
// soon as there are any. The bases may be freed meanwhile.
func TestPreparedInTheBackground(t *testing.T) {
	cudatest.OnFake(t)
	_, c := open(t, device.Options{})
	s := newSmall(t, msmplan.LeastPrepared)
	turn, err := c.dev.Turn(t.Context()) // until it ends no multiples are made
	if err != nil {
		t.Fatal(err)
	}
	again := make(chan error)
	go func() { again <- turn.End() }()
	b, err := c.Load(t.Context(), &s.bases, 0)
	if err != nil || <-again != nil {
		t.Fatal(err)
	}
	answers := func(multiples bool) {
		t.Helper()
		got, err := c.Compute(t.Context(), one(b, s.scalars))
		if err != nil || !bytes.Equal(got[0], s.answer) {
			t.Errorf("wrong, or %v", err)
		}
		if used := usedMultiples(c); multiples && !used {
			t.Error("no multiples were used")
		}
	}
	answers(false)
	b.running.Wait()
	answers(true)
	if err := b.Free(); err != nil {
		t.Error(err)
	}
	for range 5 {
		b, err := c.Load(t.Context(), &s.bases, 0)
		if err == nil {
			err = b.Free()
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// TestTablesMakeRoom: multiples are dropped when memory is needed, those unused for the longest
// time first, but never those that the turn uses. MSMs go on without them, and after some time they
// are made again. If there is never room for them, there are none.
func TestTablesMakeRoom(t *testing.T) {
	cudatest.OnFake(t)
	d, c := open(t, device.Options{Memory: 8 << 20})
	s := newSmall(t, 300)
	older, newer := prepared(t, c, s.bases, 8), prepared(t, c, s.bases, 8)
	answers := func(b *Bases, multiples bool) {
		t.Helper()
		got, err := c.Compute(t.Context(), one(b, s.scalars))
		if err != nil || !bytes.Equal(got[0], s.answer) {
			t.Errorf("wrong, or %v", err)
		}
		if used := usedMultiples(c); used != multiples {
			t.Errorf("multiples used: %v", used)
		}
	}
	answers(newer, true)
	answers(older, true) // now newer is unused for longer

	turn, err := d.Turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	held := c.tables.Held()
	c.Use(turn, older)
	if c.tables.Held() != held/2 {
		t.Errorf("%d of %d bytes of tables are spare beside one in use", c.tables.Held(), held)
	}
	all := func(int64) error { return nil }
	rest, err := turn.Keep(turn.Available(), all)
	if err != nil {
		t.Fatal(err)
	}
	if newer.table.memory != nil || older.table.memory == nil {
		t.Error("the wrong table was dropped")
	}
	if _, err := turn.Keep(s.bases.Size(), all); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("in place of a table in use: %v", err)
	}
	if err := errors.Join(rest.Free(), turn.End()); err != nil {
		t.Fatal(err)
	}
	answers(older, true)
	for newer.running.Wait(); newer.table.memory == nil; newer.running.Wait() {
		if newer.tries > 1 {
			t.Fatal("it is not made again")
		}
		answers(newer, false)
	}
	answers(newer, true)

	// The bases fill the memory: there is no room for anything else.
	turn, err = d.Turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	in := c.inputFor(older.Elements, s.bases.Count, false, turn.Available())
	least := leastMemory(in)
	if rest, err = turn.Keep(turn.Available()-2*least-s.bases.Size(), all); err != nil {
		t.Fatal(err)
	}
	if err := turn.End(); err != nil {
		t.Fatal(err)
	}
	s.bases.Hints.Multiples = everyMultiple
	if err := s.compute(t, c); err != nil {
		t.Error(err)
	}
	if err := rest.Free(); err != nil {
		t.Error(err)
	}
}

// TestPreparingFails: if the context ends, or memory or a launch is refused, nothing is left
// behind. Refused memory alone is no error.
func TestPreparingFails(t *testing.T) {
	const outOfMemory, invalidValue = "2", "1"
	cudatest.OnFake(t)
	s := newSmall(t, 100)
	s.bases.Hints.Multiples = everyMultiple
	for rules, fails := range map[string]bool{
		"cuMemAlloc@2=" + outOfMemory:      false, // the table
		"cuMemAlloc@3=" + outOfMemory:      false, // its scratch
		"cuLaunchKernel@2=" + invalidValue: true,
	} {
		_, c := open(t, device.Options{}) // a new one, which holds no memory yet
		cudatest.Fail(t, rules)
		b, err := c.Load(t.Context(), &s.bases, 0)
		fakecuda.Reset()
		if (err != nil) != fails {
			t.Errorf("%s: %v", rules, err)
		}
		if err == nil && (b.table != nil || b.Free() != nil) {
			t.Errorf("%s: there are multiples", rules)
		}
		if n := c.tables.Held(); n != 0 {
			t.Errorf("%s: %d bytes are left", rules, n)
		}
	}
	_, c := open(t, device.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Load(ctx, &s.bases, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	if err := s.compute(t, c); err != nil {
		t.Error(err)
	}
}
