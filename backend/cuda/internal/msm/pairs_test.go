//go:build cuda && cgo && linux && (amd64 || arm64)

package msm

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/cuda/driver/fakecuda"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	"github.com/pippin-zk/pippin/internal/layout"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// eachWithPairs calls f for every group with kernels for pairs.
func eachWithPairs(f func(c backend.Curve, g backend.Group)) {
	eachGroup(func(c backend.Curve, g backend.Group) {
		if _, ok := kernel.ForPairs(c.String(), g.String()); ok {
			f(c, g)
		}
	})
}

// withPairs returns a change to levels levels of pairs and few tasks at a time. Windows have few
// bits, so that runs are long; there are several chunks or one. Four threads add up sums.
func withPairs(levels int, chunks bool) func(*msmplan.Params) {
	return func(t *msmplan.Params) {
		t.Edwards = 0
		t.Pair, t.Invert, t.PairLevels, t.PairTasks, t.PairThreads = 1e-6, 0, levels, 50, 256
		t.Quad = 0.35
		t.Window, t.Piece, t.Adding = 5, msmplan.LeastPiece/8, 1 // so that chains of additions cost nothing
		if chunks {
			t.Overlap, t.Copy, t.Launch = 16, 1e3, 0
		}
	}
}

// usedPairs reports whether all plans of the computer had pairs, and whether some had several
// chunks, since it was last called.
func usedPairs(c *Computer) (pairs, chunks bool) {
	defer forget(c)
	pairs = len(plansOf[c]) > 0
	for _, p := range plansOf[c] {
		pairs = pairs && p.Levels > 0
		chunks = chunks || len(p.Chunks) > 1
	}
	return pairs, chunks
}

// TestPairs meets every case of an addition of affine points: equal points, opposite points,
// infinity on either side, and each of these beside the others, whose inverses they share. Tasks
// have every length, and are more than are added up at a time. It is done in one chunk and in
// several.
func TestPairs(t *testing.T) {
	const n = 60
	eachWithPairs(func(curve backend.Curve, group backend.Group) {
		for _, set := range fixtures.Sets() {
			t.Run(fmt.Sprintf("%v %v %v", curve, group, set), func(t *testing.T) {
				_, c := open(t, device.Options{})
				p, err := fixtures.New(fixtures.Key{Curve: curve, Group: group, Set: set, Seed: *seed})
				if err != nil {
					t.Fatal(err)
				}
				points, err := p.Bytes(n)
				if err != nil {
					t.Fatal(err)
				}
				c.tune = withPairs(3, false)
				b := prepared(t, c, backend.Bases{Curve: curve, Group: group, Count: n, Bytes: points}, everyMultiple)
				all := hostile(curve, b.table.Shift, n)
				if all["uniform"], err = fixtures.Scalars(curve, fixtures.Uniform, *seed, n); err != nil {
					t.Fatal(err)
				}
				for _, levels := range []int{2, 3, 4} {
					if levels != 3 && set != fixtures.Repeated {
						continue // at three levels every set meets all cases
					}
					several := levels != 4
					c.tune = withPairs(levels, several)
					for _, name := range []string{"uniform", "one", "borders"} {
						judge(t, c, p, b, all[name])
					}
					if pairs, chunks := usedPairs(c); !pairs || chunks != several {
						t.Errorf("pairs: %v, several chunks: %v", pairs, chunks)
					}
				}
			})
		}
	})
}

// withAffine returns a change to affine sums of tasks of 2^levels entries, in places blocks at a
// time. Windows have few bits, so that runs are long; there are several chunks or one.
func withAffine(levels, places int, chunks bool) func(*msmplan.Params) {
	return func(t *msmplan.Params) {
		withPairs(levels, chunks)(t)
		t.Pair, t.Affine, t.Step, t.AffineLevels, t.AffinePlaces = 0, 1e-6, 0, levels, places
	}
}

// TestAffineSums meets every case of an addition of affine points, as TestPairs does, but with
// entries that are added to the sum of their task one after the other. It does so with one wave of
// blocks and several, with more blocks than rows and with one, and with tasks of every length.
func TestAffineSums(t *testing.T) {
	eachGroup(func(curve backend.Curve, group backend.Group) {
		if _, ok := kernel.ForAffine(curve.String(), group.String()); !ok {
			return
		}
		for _, set := range fixtures.Sets() {
			t.Run(fmt.Sprintf("%v %v %v", curve, group, set), func(t *testing.T) {
				n := 60
				if set == fixtures.Repeated && group == backend.G1 {
					n = 360
				}
				_, c := open(t, device.Options{})
				p, err := fixtures.New(fixtures.Key{Curve: curve, Group: group, Set: set, Seed: *seed})
				if err != nil {
					t.Fatal(err)
				}
				points, err := p.Bytes(n)
				if err != nil {
					t.Fatal(err)
				}
				c.tune = withAffine(3, 2, false)
				b := prepared(t, c, backend.Bases{Curve: curve, Group: group, Count: n, Bytes: points}, everyMultiple)
				all := hostile(curve, b.table.Shift, n)
				if all["uniform"], err = fixtures.Scalars(curve, fixtures.Uniform, *seed, n); err != nil {
					t.Fatal(err)
				}
				for _, of := range []struct {
					levels, places int
					chunks, waves  bool
				}{{3, 2, true, false}, {1, 1, false, n > 60}, {6, 20, false, false}, {4, 3, true, false}} {
					c.tune = withAffine(of.levels, of.places, of.chunks)
					forget(c)
					for _, name := range []string{"uniform", "one", "borders"} {
						judge(t, c, p, b, all[name])
					}
					for _, used := range plansOf[c] {
						rows := used.Params.AffinePlaces * msmplan.AffineRows * 128
						if waves := int(used.MaxPairTasks()) > rows; !used.Affine || used.Levels != of.levels ||
							len(used.Chunks) > 1 != of.chunks || waves != of.waves {
							t.Errorf("affine: %v, %d levels, chunks %v, at most %d tasks: not what this test is for",
								used.Affine, used.Levels, used.Chunks, used.MaxPairTasks())
						}
					}
				}
			})
		}
	})
}

// TestPairsOutsideTheSubgroup: sums are exact for every point of the curve.
func TestPairsOutsideTheSubgroup(t *testing.T) {
	cudatest.OnFake(t)
	_, c := open(t, device.Options{})
	var points []bls12381.G2Affine
	for v := int64(0); len(points) < 30; v++ {
		var p, b bls12381.G2Affine
		b.X.A0.SetInt64(4)
		b.X.A1.SetInt64(4)
		p.X.A0.SetInt64(v % 9)
		p.Y.Square(&p.X)
		p.Y.Mul(&p.Y, &p.X).Add(&p.Y, &b.X)
		if p.Y.Legendre() != 1 {
			continue
		}
		p.Y.Sqrt(&p.Y)
		if v%2 == 1 {
			p.Neg(&p)
		}
		points = append(points, p)
	}
	if !points[0].IsOnCurve() || points[0].IsInSubGroup() {
		t.Fatal("not the points that this test is for")
	}
	of := backend.Bases{Curve: backend.BLS12381, Group: backend.G2, Count: len(points), Bytes: layout.Bytes(points)}
	scalars, err := fixtures.Scalars(of.Curve, fixtures.PlonkL, *seed, of.Count)
	if err != nil {
		t.Fatal(err)
	}
	c.tune = withPairs(3, true)
	b := prepared(t, c, of, everyMultiple)
	var want []byte
	for _, pairs := range []bool{false, true} {
		c.tune = func(t *msmplan.Params) {
			withPairs(3, true)(t)
			if !pairs {
				t.Pair = 0
			}
		}
		forget(c)
		got, err := c.Compute(t.Context(), one(b, scalars))
		if err != nil {
			t.Fatal(err)
		}
		if used, _ := usedPairs(c); used != pairs {
			t.Errorf("pairs: %v", used)
		}
		if want == nil {
			want = got[0]
		} else if !bytes.Equal(got[0], want) {
			t.Error("wrong")
		}
	}
}

// TestPairLaunches: a chunk launches batches of pairs only for its own tasks, not as many as the
// largest chunk.
func TestPairLaunches(t *testing.T) {
	cudatest.OnFake(t)
	const levels, n = 2, 320
	_, c := open(t, device.Options{})
	p, err := fixtures.NewPoints(backend.BLS12381, backend.G1, *seed)
	if err != nil {
		t.Fatal(err)
	}
	points, err := p.Bytes(n)
	if err != nil {
		t.Fatal(err)
	}
	scalars, err := fixtures.Scalars(backend.BLS12381, fixtures.Uniform, *seed, n)
	if err != nil {
		t.Fatal(err)
	}
	c.tune = withPairs(levels, true)
	b := prepared(t, c, backend.Bases{Curve: backend.BLS12381, Group: backend.G1, Count: n, Bytes: points}, everyMultiple)
	launches := func(pairTasks int) (n int64, plan *msmplan.Plan) {
		forget(c)
		c.tune = func(t *msmplan.Params) {
			withPairs(levels, true)(t)
			t.PairTasks = pairTasks
		}
		before := fakecuda.Calls("cuLaunchKernel")
		judge(t, c, p, b, scalars)
		return fakecuda.Calls("cuLaunchKernel") - before, plansOf[c][0]
	}
	few, plan := launches(50)
	all, same := launches(1 << 20) // each chunk in one batch
	if len(plan.Chunks) < 3 || !slices.Equal(plan.Chunks, same.Chunks) || plan.Levels != levels || same.Levels != levels {
		t.Fatalf("chunks %v and %v, %d and %d levels: not what this test is for", plan.Chunks, same.Chunks, plan.Levels, same.Levels)
	}
	batches := 0
	for _, n := range plan.Chunks {
		batches += plan.PairBatches(n)
	}
	if most := len(plan.Chunks) * plan.PairBatches(slices.Max(plan.Chunks)); batches >= most {
		t.Fatalf("%d batches, %d at most: not what this test is for", batches, most)
	}
	const kernels = 3 // for one level of a batch
	if want := all + int64(kernels*levels*(batches-len(plan.Chunks))); few != want {
		t.Errorf("%d launches, want %d", few, want)
	}
}
