//go:build cuda && cgo && linux && (amd64 || arm64)

package grid_test

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/eisenstein"
	"github.com/pippin-zk/pippin/kernels/grid/msm"
)

// TestUnitDigits makes digits modulo six units to every radix, of random scalars and of those at
// the corners of the steps: in tiles that are full and one that is not, of several MSMs. Every
// entry must lie in the bin of its bucket, which must be one, and the entries of a scalar must make
// it up.
func TestUnitDigits(t *testing.T) {
	for _, curve := range []backend.Curve{backend.BN254, backend.BLS12381} {
		t.Run(curve.String(), func(t *testing.T) { testUnitDigits(t, curve) })
	}
}

func testUnitDigits(t *testing.T, curve backend.Curve) {
	d := open(t)
	of, err := eisenstein.Of(curve.ScalarField())
	if err != nil {
		t.Fatal(err)
	}
	k, ok := msm.ForCurve(curve.String() + "-units")
	if !ok {
		t.Fatal("no kernels")
	}
	r := rand.New(rand.NewPCG(3, 4))
	const msms, n, each = 3, 300, 128
	var scalars []*big.Int
	for len(scalars) < msms*n {
		scalars = append(scalars, of.Scalars(r, 100)...)
	}
	r.Shuffle(len(scalars), func(i, j int) { scalars[i], scalars[j] = scalars[j], scalars[i] })
	scalars = scalars[:msms*n]
	montgomery := new(big.Int).Lsh(big.NewInt(1), 256)
	var words []uint32
	for _, s := range scalars {
		words = append(words, wordsOf(new(big.Int).Mod(new(big.Int).Mul(s, montgomery), of.R), 8)...)
	}
	in := d.words(len(words), words...)
	for _, radix := range eisenstein.Radices(curve.ScalarBits()) {
		for _, shift := range []int{12, 2*radix.Bits - 6} { // 12 as the plan has it, and few bins
			if shift > 16 {
				continue
			}
			bins := 1 << (2*radix.Bits - shift) // of an MSM
			tiles, entries := (n+each-1)/each, msms*n*radix.Windows
			width, multiple := 2*radix.Bits+1, n+5
			bad := d.words(msms, slices.Repeat([]uint32{msm.NoIndex}, msms)...)
			made := d.words(entries)
			counts, totals := d.words(msms*tiles*bins), d.words(msms*bins, make([]uint32, msms*bins)...)
			rows(d, k.BinsCount, tiles, msms, 4*bins, msm.BinsCount{Scalars: at(in), N: n, C: width, Windows: radix.Windows, Sets: 1,
				Each: each, Shift: shift, Bins: bins, Counts: at(counts), Totals: at(totals), Check: true, Bad: at(bad), Made: at(made)})
			if found := d.read(bad); slices.ContainsFunc(found, func(i uint32) bool { return i != msm.NoIndex }) {
				t.Fatalf("bad scalars %d", found)
			}
			next, ends := make([]uint32, msms*bins), make([]uint32, msms*bins)
			sum := uint32(0)
			for b, count := range d.read(totals) {
				next[b] = sum
				sum += count
				ends[b] = sum
			}
			values, rests := d.words(entries), d.words((entries+1)/2)
			rows(d, k.BinsScatter, tiles, msms, 8*bins+6*each*radix.Windows, msm.BinsScatter{N: n, C: width,
				Windows: radix.Windows, Sets: 1, Each: each, Shift: shift, Bins: bins, Counts: at(counts), Next: at(d.words(msms*bins, next...)),
				Multiple: multiple, Values: at(values), Keys: at(rests), Made: at(made)})

			sums := make([][2]*big.Int, msms*n)
			for i := range sums {
				sums[i] = [2]*big.Int{new(big.Int), new(big.Int)}
			}
			seen := make(map[[2]int]bool)
			all, keys := d.read(values), d.read(rests)
			for b, i := 0, uint32(0); i < sum; i++ {
				for i >= ends[b] {
					b++
				}
				place := b%bins<<shift | int(keys[i/2]>>(16*(i%2))&0xffff)
				v := int(all[i] &^ negative)
				digit := radix.Of(place, v%3, all[i]&negative != 0)
				row, k := v/3/multiple, b/bins*n+v/3%multiple
				if !radix.Within(digit) || row >= radix.Windows || v/3%multiple >= n {
					t.Fatalf("radix %d: entry %d is %v of scalar %d in row %d", radix.M, i, digit, k, row)
				}
				if seen[[2]int{row, k}] {
					t.Fatalf("radix %d: scalar %d has two digits in row %d", radix.M, k, row)
				}
				seen[[2]int{row, k}] = true
				x, y := digit.Element()
				power := new(big.Int).Exp(big.NewInt(int64(radix.M)), big.NewInt(int64(row)), nil)
				sums[k][0].Add(sums[k][0], new(big.Int).Mul(power, big.NewInt(int64(x))))
				sums[k][1].Add(sums[k][1], new(big.Int).Mul(power, big.NewInt(int64(y))))
			}
			for i, s := range scalars {
				back := new(big.Int).Mul(sums[i][1], of.Lambda)
				if back.Mod(back.Add(back, sums[i][0]), of.R).Cmp(s) != 0 {
					t.Fatalf("radix %d: scalar %d, %v, has digits that make %v", radix.M, i, s, back)
				}
			}
		}
	}
}
