//go:build cuda

package cuda

import (
	"bytes"
	"math/big"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendtest"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/fixtures"
	programs "github.com/pippin-zk/pippin/internal/randprog"
)

// pointCase returns a program with every step over points and every kernel. Products are single
// ones, of a fixed base, by one scalar and of rows; infinity is among the points, and 0, 1 and -1
// are among the scalars. There are sums; transforms in rows, of both directions and orders and on a
// coset; checks of points, one of which is off the curve; encodings; and an MSM into a space.
func pointCase(t testing.TB, e backend.Element, n int, seed uint64) *programs.Program {
	t.Helper()
	p, err := fixtures.New(fixtures.Key{Curve: e.Curve, Group: e.Group, Set: fixtures.Infinities, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	points, err := p.Bytes(n)
	if err != nil {
		t.Fatal(err)
	}
	scalars, err := fixtures.Scalars(e.Curve, fixtures.Uniform, seed, n)
	if err != nil {
		t.Fatal(err)
	}
	size := e.Curve.ScalarBytes()
	r := e.Curve.ScalarField()
	radix := new(big.Int).Lsh(big.NewInt(1), uint(8*size))
	for i, v := range []*big.Int{big.NewInt(0), big.NewInt(1), new(big.Int).Sub(r, big.NewInt(1))} {
		v.Mod(v.Mul(v, radix), r)
		copy(scalars[i*size:(i+1)*size], fixtures.Raw(v, size))
	}
	field := backend.ScalarOf(e.Curve)
	on := func(space, offset, count int) backend.Range {
		return backend.Range{Space: backend.SpaceID(space), Offset: offset, Count: count}
	}
	all := func(space int) backend.Range { return on(space, 0, n) }
	shift := scalars[5*size : 6*size]
	return &programs.Program{
		Element: e, Of: []backend.Element{e, e, e, field},
		Spaces: [][]byte{points, make([]byte, len(points)), make([]byte, len(points)), scalars},
		Bases:  []backend.Bases{{Curve: e.Curve, Group: e.Group, Count: n, Bytes: points}},
		Steps: []backend.Step{
			backend.MultiplyPoints{Dst: all(2), Src: all(1), Scalars: all(4)},
			backend.Read{Src: all(2)},
			backend.MultiplyPoints{Dst: all(3), Src: on(2, n/2, 1), Scalars: all(4)},
			backend.Read{Src: all(3), Encoding: backend.Compressed},
			backend.Read{Src: all(3), Encoding: backend.Uncompressed},
			backend.MultiplyPoints{Dst: all(3), Src: all(3), Scalars: on(4, n/2, 1)},
			backend.MultiplyPoints{Dst: on(2, 0, n/8), Src: on(3, 0, 8), Scalars: all(4), Terms: 8},
			backend.MultiplyPoints{Dst: on(2, n/8, 2), Src: all(3), Terms: n / 2},
			backend.AddPoints{Dst: all(3), Plus: []backend.Range{all(3), on(2, 0, n/8)}, Minus: []backend.Range{all(1), on(2, n/8, 1)}},
			backend.Read{Src: all(3)},
			backend.Transform{Dst: all(2), Src: all(3), Batch: 4, To: backend.Reversed, Shift: shift},
			backend.Transform{Dst: all(2), Src: all(2), Batch: 4, From: backend.Reversed, Inverse: true, Shift: shift},
			backend.Read{Src: all(2)},
			backend.Transform{Dst: on(2, 0, n/2), Src: on(3, 0, n/4)},
			backend.Transform{Dst: on(2, n/2, n/2), Src: on(3, 0, n/2), Inverse: true},
			backend.Job{Bases: 1, Count: n, Src: all(4), Dst: on(2, 3, 1)},
			backend.Job{Bases: 1, Count: n - 1, Offset: 1, Input: backend.Input{Bytes: scalars[size:]}, Dst: on(2, 4, 1)},
			backend.Job{Bases: 1, Count: n - 1, SameAs: 17},
			backend.Job{Bases: 1, Count: n - 1, SameAs: 17, Dst: on(2, 5, 1)},
			backend.CheckPoints{Src: all(2), Subgroup: true},
			backend.Write{Dst: on(3, n/2, 1), Input: backend.Input{Bytes: append([]byte{1}, make([]byte, e.Bytes()-1)...)}},
			backend.CheckPoints{Src: all(3)},
			backend.Write{Dst: on(3, n/2, 1), Input: backend.Input{Bytes: points[:e.Bytes()], Check: true}},
		},
	}
}

// TestEveryPointStep compares every step with gnark-crypto, over every group, on all cards. On the
// fake driver it takes three groups: one for each form of Fp2, one of them over a field whose roots
// take more than one power, and one that shares its kernels with another.
func TestEveryPointStep(t *testing.T) {
	b := open(t, Options{})
	defer b.Close()
	c := cpu.New(cpu.Options{})
	defer c.Close()
	cudatest.EachGroup(t, *groups, func(t *testing.T, curve backend.Curve, group backend.Group) {
		n := 1 << 10
		if cudatest.Slow() {
			n = 1 << 5
			if e := backend.PointOf(curve, group); !*full && e != backend.PointOf(backend.BN254, backend.G2) &&
				e != backend.PointOf(backend.BLS12377, backend.G2) && e != backend.PointOf(backend.BW6761, backend.G2) {
				t.Skip("-full runs this test on the fake driver")
			}
		}
		if err := pointCase(t, backend.PointOf(curve, group), n, *seed).Differ(t.Context(), b, c); err != nil {
			t.Errorf("seed %d: %v", *seed, err)
		}
	})
}

// TestFixedBases compares multiples of one point, at counts for which each width of windows is
// used.
func TestFixedBases(t *testing.T) {
	onGPU(t)
	b := open(t, Options{})
	defer b.Close()
	c := cpu.New(cpu.Options{})
	defer c.Close()
	cudatest.EachGroup(t, *groups, func(t *testing.T, curve backend.Curve, group backend.Group) {
		e := backend.PointOf(curve, group)
		for _, n := range []int{300, 1<<13 + 1, 1 << 18} {
			if cudatest.Slow() && n > 300 {
				continue
			}
			p, err := fixtures.NewPoints(curve, group, *seed)
			if err != nil {
				t.Fatal(err)
			}
			points, err := p.Bytes(1)
			if err != nil {
				t.Fatal(err)
			}
			scalars, err := fixtures.Scalars(curve, fixtures.Uniform, *seed, n)
			if err != nil {
				t.Fatal(err)
			}
			// Compare a sample with the oracle.
			sample := &programs.Program{
				Element: e, Of: []backend.Element{e, e, backend.ScalarOf(curve)}, Spaces: [][]byte{points, make([]byte, n*e.Bytes()), scalars},
			}
			sample.Steps = []backend.Step{
				backend.MultiplyPoints{
					Dst: backend.Range{Space: 2, Count: n}, Src: backend.Range{Space: 1, Count: 1}, Scalars: backend.Range{Space: 3, Count: n},
				},
			}
			got, err := sample.Run(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			const some = 256
			sample.Spaces[1], sample.Spaces[2] = sample.Spaces[1][:some*e.Bytes()], scalars[(n-some)*curve.ScalarBytes():]
			sample.Steps = []backend.Step{
				backend.MultiplyPoints{
					Dst: backend.Range{Space: 2, Count: some}, Src: backend.Range{Space: 1, Count: 1}, Scalars: backend.Range{Space: 3, Count: some},
				},
			}
			want, err := sample.Run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Spaces[1][(n-some)*e.Bytes():], want.Spaces[1]) {
				t.Errorf("%v, %d multiples, seed %d: wrong", e, n, *seed)
			}
		}
	})
}

// TestFakePoints runs the suite's part about points on three cards, with kernels.
func TestFakePoints(t *testing.T) {
	if !cudatest.Slow() {
		t.Skip("TestConformance has this on a GPU")
	}
	backendtest.RunPoints(t, func(t testing.TB) backend.Backend { return open(t, Options{Devices: "0-2"}) }, backendtest.Options{
		Curves: []backend.Curve{backend.BN254}, Groups: []backend.Group{backend.G1}, Seed: *seed,
	})
}

// TestPointsOfBasesApart: MSMs that write into a space are right even if no card has all of their
// bases, both before and after steps that read the space.
func TestPointsOfBasesApart(t *testing.T) {
	if !cudatest.Slow() {
		t.Skip("it needs several cards: scripts/test-cuda-fake")
	}
	b := open(t, Options{Devices: "0-1", tests: &hooks{rules: rules{fixed: 1, least: 1}, apart: apart{1, 0}}})
	defer b.Close()
	c := cpu.New(cpu.Options{})
	defer c.Close()
	p := pointCase(t, backend.PointOf(backend.BN254, backend.G1), 1<<5, *seed)
	if err := p.Differ(t.Context(), b, c); err != nil {
		t.Errorf("seed %d: %v", *seed, err)
	}
	for kept := range b.bases {
		for _, h := range kept.held {
			if h.count() == kept.Count {
				t.Error("a card has all bases")
			}
		}
	}
}
