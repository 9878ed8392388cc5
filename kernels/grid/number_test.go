//go:build cuda && cgo && linux && (amd64 || arm64)

package grid_test

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/kernels/grid/number"
)

// integer returns the number of little-endian words.
func integer(w []uint32) *big.Int {
	b := make([]byte, 4*len(w))
	for i, v := range w {
		j := len(b) - 4*i
		b[j-1], b[j-2], b[j-3], b[j-4] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
	}
	return new(big.Int).SetBytes(b)
}

// wordsOf returns a number in n little-endian words.
func wordsOf(x *big.Int, n int) []uint32 {
	b := x.FillBytes(make([]byte, 4*n))
	w := make([]uint32, n)
	for i := range w {
		j := len(b) - 4*i
		w[i] = uint32(b[j-1]) | uint32(b[j-2])<<8 | uint32(b[j-3])<<16 | uint32(b[j-4])<<24
	}
	return w
}

// filled returns the words f(0) to f(n-1).
func filled(n int, f func(i int) uint32) []uint32 {
	w := make([]uint32, n)
	for i := range w {
		w[i] = f(i)
	}
	return w
}

// operands are pairs of n words in which carries go far, or not.
func longOperands(r *rand.Rand, n int) map[string][2][]uint32 {
	ones, zeros := filled(n, func(int) uint32 { return 0xffffffff }), make([]uint32, n)
	random := func() []uint32 { return filled(n, func(int) uint32 { return r.Uint32() }) }
	one := slices.Clone(zeros)
	one[0] = 1
	// Runs that hand carries on, with a place here and there that stops or makes one.
	runs := [2][]uint32{slices.Clone(ones), slices.Clone(zeros)}
	for i := 0; i < n; i += 1 + r.IntN(1+n/3) {
		runs[0][i], runs[1][i] = 0xffffffff-r.Uint32N(2), r.Uint32N(3)
	}
	alternating := filled(n, func(i int) uint32 { return uint32(i/4%2) * 0xffffffff })
	return map[string][2][]uint32{
		"random":               {random(), random()},
		"all ones and one":     {ones, one},
		"all ones and nothing": {ones, zeros},
		"all ones twice":       {ones, ones},
		"nothing":              {zeros, zeros},
		"nothing less one":     {zeros, one},
		"equal":                func() [2][]uint32 { x := random(); return [2][]uint32{x, x} }(),
		"runs":                 runs,
		"alternating":          {alternating, one},
	}
}

// TestLongAddition adds and subtracts batches of numbers of one and of several
// lengths, with carries that go through lanes, rows, warps and tiles.
func TestLongAddition(t *testing.T) {
	d := open(t)
	k := number.ForCommon()
	r := rand.New(rand.NewPCG(3, 1))
	any := func(total int) (ls []int) {
		for total > 0 {
			ls = append(ls, 1+r.IntN(min(total, 1+r.IntN(700))))
			total -= ls[len(ls)-1]
		}
		return ls
	}
	for name, lengths := range map[string][]int{
		"one word":              {1},
		"five words":            {5},
		"a row and one":         {129},
		"a tile":                {number.LongTile},
		"a tile and a word":     {number.LongTile + 1},
		"five tiles less three": {5*number.LongTile - 3},
		"words":                 slices.Repeat([]int{1}, 300),
		"threes":                slices.Repeat([]int{3}, 1000),
		"64":                    slices.Repeat([]int{64}, 100),
		"2048":                  slices.Repeat([]int{2048}, 5),
		"1001":                  slices.Repeat([]int{1001}, 11),
		"any":                   any(9*number.LongTile + 17),
		"any and long":          slices.Concat([]int{7, number.LongTile * 2, 1, 1}, any(2000), []int{number.LongTile + 5}),
	} {
		t.Run(name, func(t *testing.T) {
			total := 0
			var bounds []uint32
			for _, l := range lengths {
				total += l
				bounds = append(bounds, uint32(total), 0)
			}
			rows, tiles := (total+number.LongRow-1)/number.LongRow, (total+number.LongTile-1)/number.LongTile
			count := len(lengths)
			ends, ranks := d.words(rows*number.LongRow/32), d.words(rows)
			launch(d, k.LongRows, (rows+k.LongRows.Threads-1)/k.LongRows.Threads, 1,
				number.LongRows{Bounds: at(d.words(2*count, bounds...)), Count: count, N: total, Ends: at(ends), Ranks: at(ranks)})
			uniform := slices.Equal(lengths, slices.Repeat(lengths[:1], count))
			for what, x := range longOperands(r, total) {
				for _, subtract := range []bool{false, true} {
					var sums, carries []uint32
					at := 0
					for _, l := range lengths {
						a, b := integer(x[0][at:at+l]), integer(x[1][at:at+l])
						if subtract {
							b.Neg(b)
						}
						a.Add(a, b)
						over := new(big.Int).Lsh(big.NewInt(1), uint(32*l))
						carry := uint32(0)
						if a.Sign() < 0 {
							a.Add(a, over)
							carry = 1
						} else if a.Cmp(over) >= 0 {
							a.Sub(a, over)
							carry = 1
						}
						sums, carries = append(sums, wordsOf(a, l)...), append(carries, carry)
						at += l
					}
					for _, table := range []bool{false, true} {
						if !uniform && !table {
							continue
						}
						got, out := d.add(k, x, lengths[0], tiles, count, table, subtract, ends, ranks)
						if !slices.Equal(got, sums) || !slices.Equal(out, carries) {
							t.Errorf("%s, subtract %v, by tables %v: wrong from word %d, carries wrong from %d", what,
								subtract, table, firstDifference(got, sums), firstDifference(out, carries))
						}
					}
				}
			}
		})
	}
}

// firstDifference returns the first index at which two slices differ, or -1.
func firstDifference(a, b []uint32) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// add runs long_add over memory in which the answer replaces an operand.
func (d *device) add(k number.Common, x [2][]uint32, words, tiles, count int, table, subtract bool,
	ends, ranks driver.Span) (sums, carries []uint32) {
	d.Helper()
	n := len(x[0])
	a, b := d.words(n, x[0]...), d.words(n, x[1]...)
	out, states := d.words(count), d.tiles(tiles)
	p := number.LongAdd{A: at(a), B: at(b), R: at(a), N: n, Length: words, Subtract: subtract, Carries: at(out), States: at(states)}
	if table {
		p.Length, p.Ends, p.Ranks = 0, at(ends), at(ranks)
	}
	launch(d, k.LongAdd, tiles, 1, p)
	return d.read(a), d.read(out)
}

// tiles allocates the states of long_add's n tiles and writes those that earlier tiles
// left.
func (d *device) tiles(n int, left ...uint32) driver.Span {
	d.Helper()
	states := make([]uint32, (n+3)/4*4)
	copy(states, left)
	return d.words(len(states), states...)
}

// TestLongAdditionLooksBack gives the last tile of a number others before it that
// know nothing of their own carry, or all, further and further back.
func TestLongAdditionLooksBack(t *testing.T) {
	d := open(t)
	k := number.ForCommon()
	for _, before := range []int{1, 3, 4, 5, 33, 124, 125, 126, 127, 128, 129, 132, 300} {
		for _, c := range []struct {
			state uint32 // of the tile that the others hand on from
			back  int
			carry bool
		}{{number.TileCarries, before, true}, {number.TileStops, before, false}, {number.TileCarries, 1, true},
			{number.TileHandsOn, before, false}} {
			begun := slices.Repeat([]uint32{number.TileHandsOn}, before)
			begun[before-c.back] = c.state
			n := (before + 2) * number.LongTile // it goes on behind the tile
			a, b, out := d.words(n), d.words(n), d.words(1)
			last := func(s driver.Span) driver.Span { return s.Slice(4*int64(before*number.LongTile), 4*number.LongTile) }
			d.must(d.stream.Fill(a, 0xff))
			d.must(d.stream.Fill(b, 0))
			memory := d.tiles(before+2, begun...)
			launch(d, k.LongAdd, 1, 1, number.LongAdd{
				A: at(a), B: at(b), R: at(a), N: n, Length: n, Carries: at(out), States: at(memory), Begin: before,
			})
			want, wantState := uint32(0xffffffff), uint32(number.TileStops)
			if c.carry {
				want, wantState = 0, number.TileCarries
			}
			sum := d.read(last(a))
			if i := slices.IndexFunc(sum, func(w uint32) bool { return w != want }); i >= 0 {
				t.Errorf("%d tiles before, state %d %d back: word %d is %#x", before, c.state, c.back, i, sum[i])
			}
			if s := d.read(memory)[before]; s != wantState {
				t.Errorf("%d tiles before, state %d %d back: the tile's state is %d", before, c.state, c.back, s)
			}
		}
	}
}
