//go:build cuda && cgo && linux && (amd64 || arm64)

package grid_test

import (
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/kernels/grid/msm"
)

const negative = 1 << 31 // in an entry's value

var wide = flag.Bool("wide", false, "TestSort has windows of more than 18 bits too, which takes minutes without a GPU")

// sorting is a way to sort the digits of several MSMs' scalars, and these.
type sorting struct {
	curve              backend.Curve
	width, sets, piece int
	each, shift        int // scalars of a tile, the logarithm of a bin's buckets
	n, msms, multiple  int
	scalar             func(i int) *big.Int // below r
}

// buckets returns the values in every bucket, from the digits of the scalars. A scalar s
// above (r-1)/2 counts as -(r-s). A digit d above 2^(width-1) counts as d - 2^width and
// a carry.
func (c *sorting) buckets(scalars []*big.Int) (all [][]uint32, windows int) {
	order := c.curve.ScalarField()
	half := new(big.Int).Rsh(order, 1)
	windows = (half.BitLen() + c.width) / c.width // the last takes a carry
	all = make([][]uint32, c.msms*c.sets<<(c.width-1))
	for k, s := range scalars {
		rest, sign := new(big.Int).Set(s), uint32(0)
		if s.Cmp(half) > 0 {
			rest.Sub(order, s)
			sign = negative
		}
		for w := range windows {
			d := new(big.Int).And(rest, big.NewInt(1<<c.width-1)).Int64()
			rest.Rsh(rest, uint(c.width))
			minus := sign
			if d > 1<<(c.width-1) && w+1 < windows {
				d, minus = 1<<c.width-d, sign^negative
				rest.Add(rest, big.NewInt(1))
			}
			if d != 0 {
				b := (k/c.n*c.sets+w%c.sets)<<(c.width-1) + int(d) - 1
				all[b] = append(all[b], uint32(w/c.sets*c.multiple+k%c.n)|minus)
			}
		}
	}
	return all, windows
}

// run sorts, and compares every bucket's entries and the tasks with what they should be.
func (c *sorting) run(d *device) {
	d.Helper()
	order := c.curve.ScalarField()
	montgomery := new(big.Int).Lsh(big.NewInt(1), uint(8*c.curve.ScalarBytes()))
	var scalars []*big.Int
	var words []uint32
	for i := range c.msms * c.n {
		s := c.scalar(i)
		scalars = append(scalars, s)
		words = append(words, wordsOf(new(big.Int).Mod(new(big.Int).Mul(s, montgomery), order), c.curve.ScalarBytes()/4)...)
	}
	want, windows := c.buckets(scalars)

	buckets, size := len(want), 1<<c.shift
	bins := (buckets + size - 1) / size
	row := min(bins, (c.sets<<(c.width-1)+size-2)/size+1)
	tiles := (c.n + c.each - 1) / c.each
	entries := c.msms * c.n * windows
	curve, ok := msm.ForCurve(c.curve.String())
	if !ok {
		d.Fatalf("no kernels for %v", c.curve)
	}
	k := msm.ForCommon()
	zeros := make([]uint32, buckets)
	in, bad := d.words(len(words), words...), d.words(c.msms, slices.Repeat([]uint32{msm.NoIndex}, c.msms)...)
	counts, begin, end := d.words(c.msms*tiles*row), d.words(buckets), d.words(buckets, zeros...)
	values, tally := d.words(entries), d.words(msm.TallyWords, make([]uint32, msm.TallyWords)...)
	next, between, rests, first, binTiles := end, values, driver.Span{}, driver.Span{}, driver.Span{}
	if c.shift > 0 {
		next, between, rests = d.words(bins, zeros[:bins]...), d.words(entries), d.words((entries+1)/2)
		first, binTiles = d.words(bins), d.words(bins+1)
	}
	// Few blocks, so that each has several parts of the buckets.
	makeRuns := func() {
		launch(d, k.Runs, 2, 1, msm.Runs{Begin: at(begin), Ends: at(end), Buckets: buckets, Piece: c.piece, Work: at(tally)})
	}
	rows(d, curve.BinsCount, tiles, c.msms, 4*row, msm.BinsCount{Scalars: at(in), N: c.n, C: c.width,
		Windows: windows, Sets: c.sets, Each: c.each,
		Shift: c.shift, Bins: row, Counts: at(counts), Totals: at(next), Check: true, Bad: at(bad)})
	if c.shift == 0 {
		makeRuns()
	} else {
		launch(d, k.BinsBegin, 1, 1, msm.BinsBegin{Next: at(next), First: at(first), Tiles: at(binTiles), Bins: bins})
	}
	rows(d, curve.BinsScatter, tiles, c.msms, 8*row+6*c.each*windows,
		msm.BinsScatter{Scalars: at(in), N: c.n, C: c.width, Windows: windows, Sets: c.sets,
			Each: c.each, Shift: c.shift, Bins: row, Counts: at(counts), Next: at(next), Multiple: c.multiple, Values: at(between), Keys: at(rests)})
	if c.shift > 0 {
		most := entries/msm.SortTile + bins
		rows(d, k.RestCount, most, 1, 4*size, msm.RestCount{
			First: at(first), Next: at(next), Tiles: at(binTiles), Bins: bins, Shift: c.shift, Keys: at(rests), Counts: at(end),
		})
		makeRuns()
		rows(d, k.RestScatter, most, 1, 8*size+6*msm.SortTile,
			msm.RestScatter{First: at(first), Next: at(next), Tiles: at(binTiles), Bins: bins, Shift: c.shift,
				Keys: at(rests), Values: at(between), Ends: at(end), Out: at(values)})
	}
	for i, b := range d.read(bad) {
		if b != msm.NoIndex {
			d.Errorf("scalar %d of MSM %d is bad", b, i)
		}
	}
	c.compare(d, want, d.read(values), d.read(begin), d.read(end))

	tasks, splits, owners := d.words(msm.TaskWords*(entries+1)), d.words(msm.SplitWords*(entries+1)), d.words(msm.OwnerWords*(2*entries+1))
	launch(d, k.TasksPlace, 2, 1, msm.TasksPlace{Begin: at(begin), End: at(end), Buckets: buckets, Piece: c.piece, Work: at(tally),
		Tasks: at(tasks), Splits: at(splits), Owners: at(owners)})
	c.compareTasks(d, want, d.read(begin), d.read(tally), d.read(tasks), d.read(splits), d.read(owners))
}

// compare compares the runs of all buckets, in any order, which fill the values.
func (c *sorting) compare(d *device, want [][]uint32, values, begin, end []uint32) {
	d.Helper()
	all, used := 0, make(map[uint32]bool)
	for b, w := range want {
		if int(end[b]-begin[b]) != len(w) || int(end[b]) > len(values) {
			d.Fatalf("bucket %d is %d to %d of %d, want %d entries", b, begin[b], end[b], len(values), len(w))
		}
		all += len(w)
		got := slices.Sorted(slices.Values(values[begin[b]:end[b]]))
		slices.Sort(w)
		if !slices.Equal(got, w) {
			d.Fatalf("bucket %d has %x, want %x", b, got, w)
		}
		for i := begin[b]; i < end[b]; i++ {
			if used[i] {
				d.Fatalf("entry %d is in two buckets", i)
			}
			used[i] = true
		}
	}
	for i := range all {
		if !used[uint32(i)] {
			d.Fatalf("of %d entries, %d is in no bucket", all, i)
		}
	}
}

// compareTasks looks for tasks, longest first, that cut every run into pieces.
func (c *sorting) compareTasks(d *device, want [][]uint32, begin, tally, tasks, splits, owners []uint32) {
	d.Helper()
	type task struct{ start, length uint32 }
	whole, parts := make(map[uint32]task), make(map[uint32]task)
	last := uint32(c.piece)
	for i := range tally[0] {
		t := tasks[msm.TaskWords*i:]
		length, part := t[1]&^negative, t[1]&negative != 0
		if length > last || length == 0 {
			d.Fatalf("task %d has %d entries, the one before it %d", i, length, last)
		}
		last = length
		to := whole
		if part {
			to = parts
		}
		if _, ok := to[t[2]]; ok {
			d.Fatalf("two tasks go to %d", t[2])
		}
		to[t[2]] = task{t[0], length}
	}
	wholes, pieces, slots := 0, 0, 0
	split := make(map[uint32]uint32)
	for i := range tally[2] {
		split[splits[msm.SplitWords*i]] = i
	}
	for b, w := range want {
		n := len(w)
		if n > 0 && n <= c.piece {
			wholes++
			if whole[uint32(b)] != (task{begin[b], uint32(n)}) {
				d.Fatalf("bucket %d of %d entries from %d has the task %v", b, n, begin[b], whole[uint32(b)])
			}
		}
		if n <= c.piece {
			continue
		}
		i, ok := split[uint32(b)]
		s := splits[msm.SplitWords*i:]
		if !ok || int(s[2]) != (n+c.piece-1)/c.piece {
			d.Fatalf("bucket %d of %d entries is split into %d", b, n, s[2])
		}
		if s[1]%2 != 0 {
			d.Fatalf("the slots of bucket %d begin with %d", b, s[1])
		}
		slots += int(s[2]+1) &^ 1
		for k := range s[2] {
			pieces++
			from := k * uint32(c.piece)
			if got := parts[s[1]+k]; got != (task{begin[b] + from, min(uint32(n)-from, uint32(c.piece))}) ||
				owners[msm.OwnerWords*(s[1]+k)] != i || owners[msm.OwnerWords*(s[1]+k)+1] != 0 {
				d.Fatalf("piece %d of bucket %d, of %d entries from %d, is %v, of %v, want split %d", k, b, n,
					begin[b], got, owners[msm.OwnerWords*(s[1]+k):][:msm.OwnerWords], i)
			}
		}
	}
	if wholes != len(whole) || pieces != len(parts) || slots != int(tally[1]) {
		d.Fatalf("%d and %d tasks, and %d slots, want %d and %d", len(whole), len(parts), tally[1], wholes, pieces)
	}
}

// TestSort sorts random and skewed scalars: of every width, in bins of one bucket and of
// many, of which an MSM may have a part; over tiles that are full, have one scalar more,
// or have one; windows that share sets, the last row of which is not full, and several
// MSMs.
func TestSort(t *testing.T) {
	d := open(t)
	r := rand.New(rand.NewPCG(1, 2))
	random := func(c backend.Curve) func(int) *big.Int {
		order := c.ScalarField()
		return func(int) *big.Int {
			b := make([]byte, 48)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			return new(big.Int).Mod(new(big.Int).SetBytes(b), order)
		}
	}
	always := func(s *big.Int) func(int) *big.Int { return func(int) *big.Int { return s } }
	uniform := random(backend.BN254)
	order := curves.ID(backend.BN254).ScalarField()
	one := big.NewInt(1)
	witness := func(i int) *big.Int {
		switch i % 4 {
		case 0:
			return new(big.Int)
		case 1:
			return one
		case 2:
			return new(big.Int).Sub(order, big.NewInt(int64(i%3)))
		}
		return uniform(i)
	}
	cases := map[string]sorting{
		"one entry":         {width: 12, sets: 3, each: 32, shift: 5, n: 1, scalar: always(one)},
		"no entry":          {width: 8, sets: 4, each: 64, shift: 3, n: 200, scalar: always(new(big.Int))},
		"full tiles":        {width: 10, sets: 26, each: 64, shift: 7, n: 128, scalar: uniform},
		"a scalar more":     {width: 10, sets: 3, each: 64, shift: 5, n: 129, multiple: 999, scalar: uniform},
		"a bin is a bucket": {width: 9, sets: 2, each: 96, n: 500, multiple: 500, scalar: witness},
		"all equal":         {width: 13, sets: 1, each: 128, shift: 6, n: 3000, multiple: 3001, scalar: always(uniform(0))},
		"all minus one":     {width: 13, sets: 20, each: 512, shift: 6, n: 2 * msm.SortTile, scalar: always(new(big.Int).Sub(order, one))},
		"tiles of a bin":    {width: 4, sets: 1, each: 256, shift: 2, n: 700, multiple: 1 << 20, scalar: uniform},
		"powers of two": {width: 12, sets: 5, each: 32, shift: 6, n: 600, multiple: 700,
			scalar: func(i int) *big.Int { return new(big.Int).Lsh(one, uint(i%253)) }},
		"witness":             {width: 13, sets: 5, each: 160, shift: 7, n: 500, scalar: witness},
		"side by side":        {width: 6, sets: 3, each: 32, shift: 5, n: 40, msms: 9, multiple: 41, scalar: uniform},
		"parts of bins":       {width: 6, sets: 3, each: 32, shift: 8, n: 33, msms: 9, multiple: 41, scalar: witness},
		"one bin for all":     {width: 5, sets: 1, each: 32, shift: 10, n: 31, msms: 8, multiple: 32, scalar: uniform},
		"as many as there is": {width: 7, sets: 37, each: 64, shift: 6, n: 5, msms: 6, scalar: uniform},
		"many bins":           {width: 14, sets: 1, each: 32, shift: 2, n: 6, multiple: 300, scalar: uniform},
	}
	for _, curve := range backend.Curves() {
		cases[curve.String()] = sorting{curve: curve, width: 11, sets: 7, each: 64, shift: 7, n: 150, multiple: 151, scalar: random(curve)}
	}
	widest := 18
	if *wide {
		widest = 25
	}
	for width := 4; width <= widest; width++ {
		cases[fmt.Sprintf("%d bits", width)] = sorting{
			width: width, sets: 1 + width%2, each: 32, shift: min(width-2, 12), n: 40 / (1 + width/12), multiple: 1 << 20, scalar: uniform,
		}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d.T = t
			if c.curve == 0 {
				c.curve = backend.BN254
			}
			c.msms, c.piece = max(c.msms, 1), max(c.piece, 16)
			c.run(d)
		})
	}
}

// TestBadScalars passes scalars that are not below r. The kernel must find the first of
// each MSM.
func TestBadScalars(t *testing.T) {
	d := open(t)
	const n, msms, base = 70, 3, 1000
	for _, curve := range backend.Curves() {
		k, _ := msm.ForCurve(curve.String())
		words := curve.ScalarBytes() / 4
		scalars := make([]uint32, msms*n*words)
		for _, i := range []int{33, 34, n + n - 1} {
			copy(scalars[i*words:], wordsOf(curve.ScalarField(), words))
		}
		bad := d.words(msms, msm.NoIndex, msm.NoIndex, msm.NoIndex)
		rows(d, k.BinsCount, 3, msms, 4*8, msm.BinsCount{Scalars: at(d.words(len(scalars), scalars...)),
			N: n, C: 4, Windows: 64, Sets: 1, Each: 32, Bins: 8,
			Counts: at(d.words(msms * 3 * 8)), Totals: at(d.words(msms * 8)), Check: true, Bad: at(bad), Base: base})
		if got := d.read(bad); !slices.Equal(got, []uint32{base + 33, base + n - 1, msm.NoIndex}) {
			t.Errorf("%v: bad scalars %d", curve, got)
		}
	}
}
