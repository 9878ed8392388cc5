//go:build cuda && cgo && linux && (amd64 || arm64)

package msm

import (
	"flag"
	"fmt"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	"github.com/pippin-zk/pippin/internal/eisenstein"
)

var everyRadix = flag.Bool("every-radix", false, "TestUnits has 2^24 places for buckets too, which takes minutes without a GPU")

// usedUnits reports whether every plan of the computer since it was last called was one by digits
// modulo six units.
func usedUnits(c *Computer) bool {
	defer forget(c)
	for _, p := range plansOf[c] {
		if _, ok := p.Radix(); !ok {
			return false
		}
	}
	return len(plansOf[c]) > 0
}

// TestUnits computes by digits modulo six units: over bases with infinities, all of them and some,
// and with -every-radix over bases of every set, with scalars of every distribution and at the
// borders of digits.
func TestUnits(t *testing.T) {
	cudatest.OnFake(t)
	_, c := open(t, device.Options{})
	curve, group := backend.BN254, backend.G1
	radices, sets := eisenstein.Radices(), fixtures.Sets()
	if !*everyRadix {
		radices, sets = radices[len(radices)-1:], []fixtures.Set{fixtures.Infinities}
	}
	for _, radix := range radices {
		// The table is for this radix, and so are plans.
		c.tune = func(p *msmplan.Params) { p.Window, p.Units, p.Bucket, p.Reduce = 2*radix.Bits+1, 1e-6, 0, 1 }
		for _, set := range sets {
			t.Run(fmt.Sprintf("%d/%v", radix.M, set), func(t *testing.T) {
				const n = 150
				f, err := fixtures.New(fixtures.Key{Curve: curve, Group: group, Set: set, Seed: *seed})
				if err != nil {
					t.Fatal(err)
				}
				points, err := f.Bytes(n)
				if err != nil {
					t.Fatal(err)
				}
				b := prepared(t, c, backend.Bases{Curve: curve, Group: group, Count: n, Bytes: points, Hints: backend.Hints{Uniform: true}}, everyMultiple)
				if !b.table.Units || b.table.Rows != radix.Windows {
					t.Fatalf("there is %+v", b.table.Multiples)
				}
				check := func(t *testing.T, offset int, scalars []byte) {
					t.Helper()
					compareSum(t, c, f, b, offset, scalars)
					if !usedUnits(c) {
						t.Error("another plan was used")
					}
				}
				for _, d := range fixtures.Distributions() {
					if !*everyRadix && d != fixtures.Uniform {
						continue
					}
					scalars, err := fixtures.Scalars(curve, d, *seed, n)
					if err != nil {
						t.Fatal(err)
					}
					check(t, 0, scalars)
					check(t, 13, scalars[:77*curve.ScalarBytes()])
				}
				for name, scalars := range hostile(curve, 20, n) {
					if *everyRadix || name == "powers of two" {
						t.Run(name, func(t *testing.T) { check(t, 0, scalars) })
					}
				}
			})
		}
	}
}
