//go:build cuda && cgo && linux && (amd64 || arm64)

package msm

import (
	"flag"
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	"github.com/pippin-zk/pippin/internal/eisenstein"
)

var everySet = flag.Bool("every-set", false, "TestUnits has 2^22 places for buckets too and all sets without a GPU, which takes minutes")

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

// corners lists n scalars whose lowest digit is at the border of a radix's hexagon.
func corners(radix eisenstein.Radix, of *eisenstein.Scalars, n int) (all []*big.Int) {
	for _, b := range []int{0, 1, radix.M/3 - 1, radix.M / 3, radix.M/3 + 1, radix.M/2 - 2, radix.M/2 - 1} {
		most := min((radix.M-b)/2, radix.M-2*b)
		for _, a := range []int{1, most - 1, most} {
			for power := range 3 {
				for _, minus := range []bool{false, true} {
					if d := (eisenstein.Digit{A: a, B: b, Power: power, Minus: minus}); radix.Within(d) {
						x, y := d.Element()
						k := new(big.Int).Mul(big.NewInt(int64(y)), of.Lambda)
						all = append(all, k.Mod(k.Add(k, big.NewInt(int64(x))), of.R))
					}
				}
			}
		}
	}
	return slices.Repeat(all, n/len(all)+1)[:n]
}

// TestUnits computes by digits modulo six units to every radix: over all bases of every set and
// some of them, with scalars of every distribution and at the borders of digits. The fake driver
// has one radix and one set, or with -every-set all sets and the radices for which it has memory.
func TestUnits(t *testing.T) {
	for _, curve := range []backend.Curve{backend.BN254, backend.BLS12381} {
		t.Run(curve.String(), func(t *testing.T) { testUnits(t, curve) })
	}
}

func testUnits(t *testing.T, curve backend.Curve) {
	_, c := open(t, device.Options{})
	group := backend.G1
	of, err := eisenstein.Of(curve.ScalarField())
	if err != nil {
		t.Fatal(err)
	}
	radices, sets := eisenstein.Radices(curve.ScalarBits()), fixtures.Sets()
	all := *everySet || !cudatest.Slow()
	if !all {
		sets = []fixtures.Set{fixtures.Infinities}
	}
	radices = slices.DeleteFunc(radices, func(r eisenstein.Radix) bool {
		return cudatest.Slow() && (r.Bits > 11 || r.Bits > 10 && !all)
	})
	for _, radix := range radices {
		// The table is for this radix, and so are plans.
		c.tune = func(p *msmplan.Params) { p.UnitWindows, p.Units = radix.Windows, 1e-6 }
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
				bases := backend.Bases{Curve: curve, Group: group, Count: n, Bytes: points, Hints: backend.Hints{Uniform: true}}
				b := prepared(t, c, bases, everyMultiple)
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
					if !all && d != fixtures.Uniform {
						continue
					}
					scalars, err := fixtures.Scalars(curve, d, *seed, n)
					if err != nil {
						t.Fatal(err)
					}
					check(t, 0, scalars)
					check(t, 13, scalars[:77*curve.ScalarBytes()])
				}
				kinds := hostile(curve, 20, n)
				kinds["corners"] = scalarBytes(curve, corners(radix, of, n)...)
				for name, scalars := range kinds {
					if all || name == "powers of two" || name == "corners" {
						t.Run(name, func(t *testing.T) { check(t, 0, scalars) })
					}
				}
			})
		}
	}
}
