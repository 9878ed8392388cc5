//go:build cuda && cgo && linux && (amd64 || arm64)

package msm

import (
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
)

// directGroups are the curves whose G1 has a kernel for MSMs without buckets.
var directGroups = []backend.Curve{backend.BN254, backend.BLS12377, backend.BLS12381}

// TestDirect computes MSMs without buckets in every group that has them. The numbers of scalars are
// one, and those of several blocks with one to four scalars each, which make more than one group of
// blocks. It computes over all bases and over some, over every set of bases and with every
// distribution of scalars. Some scalars have a non-adjacent form with no digits, with one, and with
// as many as possible.
func TestDirect(t *testing.T) {
	_, c := open(t, device.Options{})
	c.tune = func(t *msmplan.Params) { t.Entry = 1e6 } // however high the cost of sorting is
	check := func(t *testing.T, p *fixtures.Points, b *Bases, offset int, scalars []byte) {
		t.Helper()
		compareSum(t, c, p, b, offset, scalars)
		for _, plan := range plansOf[c] {
			if !plan.Direct {
				t.Errorf("%d scalars: a plan with buckets", plan.Count)
			}
		}
		forget(c)
	}
	for _, curve := range directGroups {
		most := 140
		if !cudatest.Slow() {
			most = msmplan.DirectPoints
		}
		sets := fixtures.Sets()
		if cudatest.Slow() {
			sets = []fixtures.Set{fixtures.Infinities}
		}
		for _, set := range sets {
			t.Run(curve.String()+" "+set.String(), func(t *testing.T) {
				p, err := fixtures.New(fixtures.Key{Curve: curve, Group: backend.G1, Set: set, Seed: *seed})
				if err != nil {
					t.Fatal(err)
				}
				n := 40
				if set == fixtures.Random || cudatest.Slow() {
					n = most
				}
				points, err := p.Bytes(n)
				if err != nil {
					t.Fatal(err)
				}
				b := prepared(t, c, backend.Bases{Curve: curve, Group: backend.G1, Count: n, Bytes: points}, everyMultiple)
				if b.table.Shift != 1 || b.table.Rows != curve.ScalarBits() {
					t.Fatalf("%d rows by %d bits", b.table.Rows, b.table.Shift)
				}
				for _, d := range fixtures.Distributions() {
					for _, of := range []struct{ offset, count int }{{0, n}, {7, n - 9}, {n - 1, 1}} {
						scalars, err := fixtures.Scalars(curve, d, *seed, of.count)
						if err != nil {
							t.Fatal(err)
						}
						check(t, p, b, of.offset, scalars)
					}
				}
				for name, scalars := range hostile(curve, 2, 40) {
					t.Run(name, func(t *testing.T) { check(t, p, b, 0, scalars) })
				}
				// Every second bit is 1: as many digits as possible.
				alternating := new(big.Int)
				for bit := 0; bit < curve.ScalarBits()-2; bit += 2 {
					alternating.SetBit(alternating, bit, 1)
				}
				scalars := scalarBytes(curve, slices.Repeat([]*big.Int{alternating}, 40)...)
				check(t, p, b, 0, scalars)

				for i := 5 * curve.ScalarBytes(); i < 6*curve.ScalarBytes(); i++ {
					scalars[i] = 0xff
				}
				jobs := one(b, scalars)
				jobs[0].Check = true
				if _, err := c.Compute(t.Context(), jobs); !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "scalar 5 ") {
					t.Errorf("with scalar 5 too large: %v", err)
				}
				forget(c)
			})
		}
	}
}
