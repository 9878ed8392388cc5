//go:build cuda && cgo && linux && (amd64 || arm64)

package msm

import (
	"errors"
	"fmt"
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
// one, and those of several blocks with several scalars each, which make more than one group of
// blocks. It computes over all bases and over some, over every set of bases and with every
// distribution of scalars. Some scalars are at the borders of windows, and some have the largest
// digits there are.
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
		for _, width := range []int{3, 5, 8} {
			for _, set := range fixtures.Sets() {
				n := 40
				switch {
				case cudatest.Slow() && (width > 3 || set != fixtures.Infinities):
					continue
				case cudatest.Slow():
					n = 140
				case set == fixtures.Random:
					n = 1 << 13
				}
				t.Run(fmt.Sprint(curve, " ", set, " by ", width), func(t *testing.T) {
					testDirect(t, c, curve, set, n, width, check)
				})
			}
		}
	}
}

func testDirect(t *testing.T, c *Computer, curve backend.Curve, set fixtures.Set, n, width int,
	check func(t *testing.T, p *fixtures.Points, b *Bases, offset int, scalars []byte)) {
	p, err := fixtures.New(fixtures.Key{Curve: curve, Group: backend.G1, Set: set, Seed: *seed})
	if err != nil {
		t.Fatal(err)
	}
	points, err := p.Bytes(n)
	if err != nil {
		t.Fatal(err)
	}
	windows := msmplan.Windows(curve, width)
	b := prepared(t, c, backend.Bases{Curve: curve, Group: backend.G1, Count: n, Bytes: points}, windows<<(width-1))
	if b.table.Digits < 2 {
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
	for name, scalars := range hostile(curve, b.table.Shift, 40) {
		t.Run(name, func(t *testing.T) { check(t, p, b, 0, scalars) })
	}
	// Digits of 2^(c-1), which have no carry, and of one more, which have one.
	half, largest := int64(1)<<(b.table.Shift-1), []*big.Int{new(big.Int), new(big.Int)}
	for i, s := range largest {
		for bit := 0; bit+b.table.Shift < curve.ScalarBits()-1; bit += b.table.Shift {
			s.Add(s, new(big.Int).Lsh(big.NewInt(half+int64(i)), uint(bit)))
		}
	}
	scalars := scalarBytes(curve, slices.Repeat(largest, 20)...)
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
}
