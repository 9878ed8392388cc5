//go:build cuda && cgo && linux && (amd64 || arm64)

package grid_test

import (
	"cmp"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/driver"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/kernels/grid/msm"
)

const negative = 1 << 31 // in an entry's value

// entry is one of a sort's.
type entry struct{ key, value uint32 }

// TestSortOfTilesAndPasses sorts more than one tile in more than one pass: a last
// tile that is full or has one entry, digits of which few are zero, nearly all,
// or all but one the same, over points with multiples.
func TestSortOfTilesAndPasses(t *testing.T) {
	d := open(t)
	k := msm.ForCommon()
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name              string
		n, sets, points   int
		multiple, keyBits int
		digit             func(i int) int32
	}{
		{"uniform", 3*msm.SortTile + 77, 2, 1 << 20, 0, 16, func(int) int32 { return int32(r.IntN(1<<17)) - 1<<16 }},
		{"full tiles", 2 * msm.SortTile, 1, 1 << 20, 0, 10, func(int) int32 { return int32(r.IntN(1<<10)) + 1 }},
		{"one more", msm.SortTile + 1, 3, 1500, 9999, 24, func(int) int32 { return -int32(r.IntN(1<<24)) - 1 }},
		{"few", 2*msm.SortTile + 5, 2, 1000, 4000, 9, func(i int) int32 { return int32(i % 97 / 96 * (1 + i%512)) }},
		{"one key", 2*msm.SortTile - 3, 1, 1 << 20, 0, 17, func(int) int32 { return 1 << 17 }},
		{"none", msm.SortTile + 1, 1, 1 << 20, 0, 12, func(int) int32 { return 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			d.T = t
			stride := (c.n + 9) / 4 * 4
			digits := make([]uint32, c.sets*stride)
			want := make([][]entry, c.sets)
			for set := range c.sets {
				for i := range c.n {
					v := c.digit(i)
					digits[set*stride+i] = uint32(v)
					point := uint32(i/c.points*c.multiple + i%c.points)
					switch {
					case v > 0:
						want[set] = append(want[set], entry{uint32(v) - 1, point})
					case v < 0:
						want[set] = append(want[set], entry{uint32(-v) - 1, point | negative})
					}
				}
				slices.SortStableFunc(want[set], func(a, b entry) int { return cmp.Compare(a.key, b.key) })
			}
			tiles := (c.n + msm.SortTile - 1) / msm.SortTile
			size := c.sets * stride
			keys := [2]driver.Span{d.words(size, digits...), d.words(size)}
			values := [2]driver.Span{d.words(size), d.words(size)}
			counts, totals, live := d.words(c.sets*msm.SortRadix*tiles), d.words(c.sets*msm.SortRadix), d.words(c.sets)
			passes := 0
			for shift := 0; shift < c.keyBits; shift += msm.SortBits {
				mask := 1<<min(msm.SortBits, c.keyBits-shift) - 1
				first := shift == 0
				in, out := passes%2, 1-passes%2
				count := msm.SortCount{In: at(keys[in]), Live: at(live), N: c.n, Stride: stride, Shift: shift, Mask: mask, First: first, Counts: at(counts), Tiles: tiles}
				scatter := msm.SortScatter{In: at(keys[in]), ValuesIn: at(values[in]), Live: at(live), N: c.n, Stride: stride, Shift: shift, Mask: mask, First: first,
					Counts: at(counts), Totals: at(totals), Tiles: tiles, KeysOut: at(keys[out]), ValuesOut: at(values[out]), Points: c.points, Multiple: c.multiple}
				if first {
					count.Live, scatter.Live, scatter.ValuesIn, scatter.LiveOut = 0, 0, 0, at(live)
				}
				launch(d, k.SortCount, tiles, c.sets, count)
				launch(d, k.SortScan, msm.SortRadix*msm.WarpThreads/k.SortScan.Threads, c.sets, msm.SortScan{Counts: at(counts), Totals: at(totals), Tiles: tiles})
				launch(d, k.SortScatter, tiles, c.sets, scatter)
				passes++
			}
			if tiles < 2 || passes < 2 {
				t.Fatalf("%d tiles, %d passes", tiles, passes)
			}
			gotLive, gotKeys, gotValues := d.read(live), d.read(keys[passes%2]), d.read(values[passes%2])
			for set := range c.sets {
				if int(gotLive[set]) != len(want[set]) {
					t.Fatalf("set %d: %d entries, want %d", set, gotLive[set], len(want[set]))
				}
				for i, w := range want[set] {
					if got := (entry{gotKeys[set*stride+i], gotValues[set*stride+i]}); got != w {
						t.Fatalf("set %d: entry %d of %d is %x, want %x", set, i, len(want[set]), got, w)
					}
				}
			}
		})
	}
}

// TestScanOfManyTiles has more tiles than a warp takes in one round, and a number
// that is no multiple of what a lane takes.
func TestScanOfManyTiles(t *testing.T) {
	d := open(t)
	const sets, tiles = 2, 2*256 + 13
	k := msm.ForCommon().SortScan
	r := rand.New(rand.NewPCG(5, 6))
	counts := make([]uint32, sets*msm.SortRadix*tiles)
	for i := range counts {
		counts[i] = r.Uint32N(msm.SortTile)
	}
	scanned, totals := d.words(len(counts), counts...), d.words(sets*msm.SortRadix)
	launch(d, k, msm.SortRadix*msm.WarpThreads/k.Threads, sets, msm.SortScan{Counts: at(scanned), Totals: at(totals), Tiles: tiles})
	got, sums := d.read(scanned), d.read(totals)
	for row := range sets * msm.SortRadix {
		before := uint32(0)
		for i := range tiles {
			if at := row*tiles + i; got[at] != before {
				t.Fatalf("row %d, tile %d: %d before it, want %d", row, i, got[at], before)
			}
			before += counts[row*tiles+i]
		}
		if sums[row] != before {
			t.Fatalf("row %d: %d in all, want %d", row, sums[row], before)
		}
	}
}

// TestDigitsOfSetsUnlikeWindows recomputes scalars from their digits, where
// windows share sets: the last row of which is not full.
func TestDigitsOfSetsUnlikeWindows(t *testing.T) {
	d := open(t)
	const n, points, base = 70, 83, 1000
	for _, curve := range backend.Curves() {
		k, ok := msm.ForCurve(curve.String())
		if !ok {
			t.Fatalf("no kernels for %v", curve)
		}
		scalars, err := fixtures.Scalars(curve, fixtures.Uniform, 3, n)
		if err != nil {
			t.Fatal(err)
		}
		words, err := layout.View[uint32](scalars)
		if err != nil {
			t.Fatal(err)
		}
		order := layout.CurveID(curve).ScalarField()
		for _, c := range []struct{ width, sets int }{{11, 5}, {16, 1}, {7, 36}, {13, 64}} {
			t.Run(fmt.Sprintf("%v/%d/%d", curve, c.width, c.sets), func(t *testing.T) {
				d.T = t
				windows := (curve.ScalarBits() + c.width - 1) / c.width
				rows := (windows + c.sets - 1) / c.sets
				stride := rows*points + 3
				digits, bad := d.words(c.sets*stride), d.words(1, msm.NoIndex)
				launch(d, k.Digits, (n+k.Digits.Threads-1)/k.Digits.Threads, 1, msm.Digits{
					Scalars: at(d.words(len(words), words...)), N: n, C: c.width, Windows: windows, Sets: c.sets, Stride: stride, Points: points,
					Digits: at(digits), Check: true, Bad: at(bad), Base: base,
				})
				if b := d.read(bad)[0]; b != msm.NoIndex {
					t.Fatalf("scalar %d is bad", b)
				}
				got := d.read(digits)
				inverseR := new(big.Int).ModInverse(new(big.Int).Lsh(big.NewInt(1), uint(8*curve.ScalarBytes())), order)
				for i := range n {
					sum := new(big.Int)
					for w := rows*c.sets - 1; w >= 0; w-- {
						v := int64(int32(got[w%c.sets*stride+w/c.sets*points+i]))
						if w >= windows && v != 0 {
							t.Fatalf("scalar %d: digit %d of %d is %d", i, w, windows, v)
						}
						if w+1 < windows && (v > 1<<(c.width-1) || v < -1<<(c.width-1)) {
							t.Fatalf("scalar %d: digit %d is %d", i, w, v)
						}
						sum.Add(sum.Lsh(sum, uint(c.width)), big.NewInt(v))
					}
					want := new(big.Int)
					for j := curve.ScalarBytes()/4 - 1; j >= 0; j-- {
						want.Add(want.Lsh(want, 32), big.NewInt(int64(words[i*curve.ScalarBytes()/4+j])))
					}
					want.Mod(want.Mul(want, inverseR), order)
					if sum.Mod(sum, order).Cmp(want) != 0 {
						t.Fatalf("scalar %d: digits make %x, want %x", i, sum, want)
					}
				}
			})
		}
	}
}
