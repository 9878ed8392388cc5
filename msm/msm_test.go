package msm

import (
	"errors"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
)

func load(t testing.TB, e *engine.Engine, points []bn254.G1Affine) *Bases[bn254.G1Affine, fr254.Element] {
	t.Helper()
	b, err := BN254G1.Load(t.Context(), e, points)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEveryGroup(t *testing.T) {
	e := (&world{t: t}).engine(engine.Config{Check: engine.CheckSubgroup, CheckInput: true})
	t.Run("bn254g1", func(t *testing.T) { one(t, e, BN254G1, 1) })
	t.Run("bn254g2", func(t *testing.T) { one(t, e, BN254G2, 2) })
	t.Run("bls12377g1", func(t *testing.T) { one(t, e, BLS12377G1, 3) })
	t.Run("bls12377g2", func(t *testing.T) { one(t, e, BLS12377G2, 4) })
	t.Run("bls12381g1", func(t *testing.T) { one(t, e, BLS12381G1, 5) })
	t.Run("bls12381g2", func(t *testing.T) { one(t, e, BLS12381G2, 6) })
	t.Run("bw6761g1", func(t *testing.T) { one(t, e, BW6761G1, 7) })
	t.Run("bw6761g2", func(t *testing.T) { one(t, e, BW6761G2, 8) })
}

// generator returns the generator of a group's subgroup, as bytes.
func generator(c backend.Curve, g backend.Group) []byte {
	b := generators[int(c)*2+int(g)]
	return b()
}

// one computes an MSM over copies of the generator with small scalars, and compares it with
// repeated additions.
func one[P, S any](t *testing.T, e *engine.Engine, g *Group[P, S], seed byte) {
	gen, err := layout.View[P](generator(g.Curve(), g.Group()))
	if err != nil {
		t.Fatal(err)
	}
	points := []P{gen[0], gen[0], gen[0]}
	b, err := g.Load(t.Context(), e, points)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	scalars := make([]S, 3)
	for i := range scalars {
		setSmall(g.Curve(), layout.Bytes(scalars[i:i+1]), uint64(seed)+uint64(i))
	}
	got, err := b.MSM(t.Context(), scalars)
	if err != nil {
		t.Fatal(err)
	}
	total := make([]S, 1)
	setSmall(g.Curve(), layout.Bytes(total), 3*uint64(seed)+3)
	var want P
	if err := g.multiExp(&want, points[:1], total, ecc.MultiExpConfig{}); err != nil {
		t.Fatal(err)
	}
	if any(got) != any(want) {
		t.Errorf("%v: wrong point", g)
	}
	if _, err := b.MSM(t.Context(), scalars[:2]); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("lengths that differ: %v", err)
	}
}

func TestEmptyIsInfinity(t *testing.T) {
	e := (&world{t: t}).engine(engine.Config{})
	p, err := load(t, e, nil).MSM(t.Context(), nil)
	if err != nil || !p.IsInfinity() {
		t.Errorf("%v, %v", p, err)
	}
}

func TestSlice(t *testing.T) {
	e := (&world{t: t}).engine(engine.Config{})
	points, scalars, _ := input(20)
	b := load(t, e, points)
	part, err := b.Slice(3, 17)
	if err != nil {
		t.Fatal(err)
	}
	if part, err = part.Slice(2, 9); err != nil || part.Len() != 7 {
		t.Fatal(part.Len(), err)
	}
	got, err := part.MSM(t.Context(), scalars[:7])
	var want bn254.G1Affine
	want.MultiExp(points[5:12], scalars[:7], ecc.MultiExpConfig{})
	if err != nil || got != want {
		t.Errorf("wrong point, %v", err)
	}
	for _, r := range [][2]int{{-1, 2}, {3, 2}, {0, 21}} {
		if _, err := b.Slice(r[0], r[1]); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("[%d:%d]: %v", r[0], r[1], err)
		}
	}
	if err := part.Close(); err != nil {
		t.Error(err)
	}
	if _, err := b.MSM(t.Context(), scalars); err != nil {
		t.Errorf("closing a part closed the whole: %v", err)
	}
}

func TestBatchSendsScalarsOnce(t *testing.T) {
	w := &world{t: t}
	e := w.engine(engine.Config{})
	points, scalars, want := input(9)
	b := load(t, e, points)
	batch := NewBatch(e)
	a1, a2 := b.Add(batch, scalars), b.Add(batch, scalars)
	other := append([]fr254.Element(nil), scalars...)
	a3 := b.Add(batch, other)
	before := len(w.opened[0].jobs)
	if err := batch.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, a := range []*Answer[bn254.G1Affine]{a1, a2, a3} {
		if a.Point() != want {
			t.Errorf("answer %d is wrong", i)
		}
	}
	jobs := w.opened[0].jobs[before:]
	if len(jobs) != 3 || jobs[0].SameAs != 0 || jobs[1].SameAs != 1 || jobs[2].SameAs != 0 {
		t.Errorf("jobs %+v", jobs)
	}
	if err := batch.Run(t.Context()); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("second run: %v", err)
	}
}

func TestBatchRefuses(t *testing.T) {
	e, e2 := (&world{t: t}).engine(engine.Config{}), (&world{t: t}).engine(engine.Config{})
	points, scalars, _ := input(3)
	b := load(t, e, points)
	batch := NewBatch(e2)
	b.Add(batch, scalars)
	if err := batch.Run(t.Context()); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("bases of another engine: %v", err)
	}
	if err := NewBatch(e).Run(t.Context()); err != nil {
		t.Errorf("empty batch: %v", err)
	}
}

func TestScalarsInSharedMemory(t *testing.T) {
	w := &world{t: t}
	e := w.engine(engine.Config{Backend: "shared"})
	points, scalars, want := input(5)
	b := load(t, e, points)
	s, err := BN254G1.NewScalars(t.Context(), e, 5)
	if err != nil {
		t.Fatal(err)
	}
	copy(s.Slice(), scalars)
	for range 2 { // on the backend that owns the memory, then on another
		if got, err := b.MSM(t.Context(), s.Slice()); err != nil || got != want {
			t.Fatalf("wrong point, %v", err)
		}
		if err := e.Use(t.Context(), "cpu"); err != nil {
			t.Fatal(err)
		}
	}
	job := w.opened[0].jobs[len(w.opened[0].jobs)-1]
	if &job.Bytes[0] != &w.opened[0].allocs[0].b[0] {
		t.Error("the scalars were copied")
	}
	s.Free()
	s.Free()
	if n := w.opened[0].allocs[0].freed.Load(); n != 1 {
		t.Errorf("buffer freed %d times", n)
	}
	plain, err := BN254G1.NewScalars(t.Context(), e, 2)
	if err != nil {
		t.Fatal(err)
	}
	kept := plain.Slice()
	kept[1].SetUint64(3)
	plain.Free()
	if !kept[1].IsZero() {
		t.Error("freed scalars are not wiped")
	}
	for _, n := range []int{-1, backend.MaxCount + 1} {
		if _, err := BN254G1.NewScalars(t.Context(), e, n); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%d scalars: %v", n, err)
		}
	}
}

func TestDropIn(t *testing.T) {
	w := &world{t: t}
	e := w.engine(engine.Config{Threshold: 8})
	points, scalars, want := input(16)
	b := load(t, e, points)
	d := BN254G1.On(e)
	jobs := func() int { return len(w.opened[0].jobs) }

	var p bn254.G1Affine
	var j bn254.G1Jac
	start, loads := jobs(), w.opened[0].loads
	if got, err := d.MultiExp(&p, points, scalars, ecc.MultiExpConfig{}); err != nil || got != &p || p != want {
		t.Errorf("resident: wrong point, %v", err)
	}
	if _, err := MultiExpJac(d, &j, points, scalars, ecc.MultiExpConfig{}); err != nil || *new(bn254.G1Affine).FromJacobian(&j) != want {
		t.Errorf("resident, Jacobian: wrong point, %v", err)
	}
	if jobs()-start != 2 || w.opened[0].loads != loads {
		t.Error("resident bases were not used")
	}
	d.MultiExp(&p, points[4:13], scalars[:9], ecc.MultiExpConfig{})
	var part bn254.G1Affine
	part.MultiExp(points[4:13], scalars[:9], ecc.MultiExpConfig{})
	if p != part || w.opened[0].loads != loads {
		t.Error("a part of resident bases: wrong point or loaded again")
	}
	other := append([]bn254.G1Affine(nil), points...)
	if _, err := d.MultiExp(&p, other, scalars, ecc.MultiExpConfig{}); err != nil || p != want {
		t.Errorf("foreign points: wrong point, %v", err)
	}
	if w.opened[0].loads != loads+1 || w.opened[0].frees != 1 {
		t.Error("foreign points are not loaded for one call")
	}
	b.Close()
	start = jobs()
	if _, err := d.MultiExp(&p, points[:7], scalars[:7], ecc.MultiExpConfig{}); err != nil {
		t.Error(err)
	}
	if part.MultiExp(points[:7], scalars[:7], ecc.MultiExpConfig{}); p != part || jobs() != start {
		t.Error("below the threshold: wrong point, or the backend was asked")
	}
	if _, err := d.MultiExp(&p, points, scalars[:9], ecc.MultiExpConfig{}); err == nil {
		t.Error("lengths that differ are accepted")
	}
	if _, err := MultiExpJac(d, &j, nil, nil, ecc.MultiExpConfig{}); err != nil || !j.Z.IsZero() {
		t.Errorf("empty: %v", err)
	}
}

// BenchmarkDropInOverhead measures what the drop-in adds below the threshold: gnark-crypto's
// computation is left out.
func BenchmarkDropInOverhead(b *testing.B) { dropInOverhead(b, 1) }

func dropInOverhead(b *testing.B, n int) {
	e := (&world{t: b}).engine(engine.Config{})
	g := *BN254G1
	g.multiExp = func(*bn254.G1Affine, []bn254.G1Affine, []fr254.Element, ecc.MultiExpConfig) error { return nil }
	points, scalars, _ := input(n)
	d := g.On(e)
	var p bn254.G1Affine
	for b.Loop() {
		d.MultiExp(&p, points, scalars, ecc.MultiExpConfig{NbTasks: 1})
	}
}

func TestDropInOverheadBelowAMicrosecond(t *testing.T) {
	if testing.Short() {
		t.Skip("a time that the race detector, which runs the short tests, would be in")
	}
	// Take the best of a few tries, so that a busy machine does not fail the test.
	best := time.Hour
	for range 5 {
		r := testing.Benchmark(func(b *testing.B) { dropInOverhead(b, 100) })
		best = min(best, time.Duration(r.NsPerOp()))
		if best < time.Microsecond/2 {
			break
		}
	}
	t.Logf("%v a call", best)
	if best >= time.Microsecond {
		t.Errorf("the threshold path costs %v a call, want below 1 microsecond", best)
	}
}
