package msmplan

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

func inputOf(c backend.Curve, g backend.Group, n int, memory int64) Input {
	return Input{Curve: c, Group: g, Count: n, Memory: memory, Params: h200().Params(c, g, n)}
}

// h200 returns the tuning for a card that there is a table of.
func h200() Tuning {
	t, err := TuningFor("NVIDIA H200", "9.0", 132, nil)
	if err != nil {
		panic(err)
	}
	return t
}

func eachPlanned(f func(c backend.Curve, g backend.Group)) {
	for _, c := range backend.Curves() {
		for _, g := range backend.Groups() {
			f(c, g)
		}
	}
}

// TestPlans checks what the kernels rely on, for all sizes and much or little
// memory.
func TestPlans(t *testing.T) {
	eachPlanned(func(c backend.Curve, g backend.Group) {
		for _, n := range []int{1, 2, 3, 100, 1<<14 - 1, 1 << 14, 1 << 18, 1<<20 + 7, 1 << 22, 1 << 24, 1 << 26, 1<<28 - 1, 1 << 28} {
			for _, memory := range []int64{130 << 30, 8 << 30, 1 << 30} {
				p, err := New(inputOf(c, g, n, memory))
				if err != nil {
					t.Errorf("%v %v %d in %d bytes: %v", c, g, n, memory, err)
					continue
				}
				checkPlan(t, p)
				if t.Failed() {
					return
				}
			}
		}
	})
}

// checkPlan checks what the kernels rely on.
func checkPlan(t *testing.T, p *Plan) {
	t.Helper()
	c, g, n := p.Curve, p.Group, p.Count
	if p.Need() > p.Memory {
		t.Errorf("%v %v %d: needs %d of %d bytes", c, g, n, p.Need(), p.Memory)
	}
	sum, most := 0, 0
	for _, chunk := range p.Chunks {
		sum, most = sum+chunk, max(most, chunk)
		if chunk <= 0 {
			t.Errorf("%v %v %d: chunks %v", c, g, n, p.Chunks)
		}
	}
	if sum != n {
		t.Errorf("%v %v %d: chunks %v make %d", c, g, n, p.Chunks, sum)
	}
	if radix, ok := p.Radix(); ok {
		points := int64(p.Windows-1)*int64(p.RowStride()) + int64(n)
		if p.Width != 2*radix.Bits+1 || p.Windows != radix.Windows || 3*points > maxPoints || p.Sets != 1 {
			t.Errorf("%v %v %d: %d windows of %d bits, %d sets, modulo six units", c, g, n, p.Windows, p.Width, p.Sets)
		}
	} else if p.Windows*p.Width < c.ScalarBits()-1 {
		t.Errorf("%v %v %d: %d windows of %d bits", c, g, n, p.Windows, p.Width)
	}
	if p.Width > maxWindow || p.Piece > kernel.LongestTask || p.Piece < 1 {
		t.Errorf("%v %v %d: windows of %d bits, pieces of %d", c, g, n, p.Width, p.Piece)
	}
	if p.Stride < most || int64(p.Sets)*int64(p.Stride) > maxEntries {
		t.Errorf("%v %v %d: stride %d, sets %d", c, g, n, p.Stride, p.Sets)
	}
	checkSorting(t, p)
	if most*c.ScalarBytes() != int(p.ScalarBytes) {
		t.Errorf("%v %v %d: %d bytes of scalars for %d", c, g, n, p.ScalarBytes, most)
	}
	bitsReduced := 0
	first, joins := p.Reduction()
	bitsReduced += first
	nodes, parts := p.BucketBits()-first, PlaneParts
	for i, j := range joins {
		if j.Nodes != nodes || j.Parts != parts || j.Lanes > warpBits {
			t.Errorf("%v %v %d: reduced by %d, then %+v", c, g, n, first, joins)
		}
		if i < len(joins)-1 && p.Work.Nodes[i%2].Size < p.PointBytes()*int64(p.Sets)*j.SumsAfter() {
			t.Errorf("%v %v %d: no room for what step %d of %+v leaves", c, g, n, i, joins)
		}
		nodes, parts, bitsReduced = j.NodesAfter(), j.PartsAfter(), bitsReduced+j.Lanes+j.Each
	}
	if p.Work.Sums.Size != int64(p.Sets)*int64(parts)*p.ResultBytes() {
		t.Errorf("%v %v %d: %d bytes for %d sets of %d parts", c, g, n, p.Work.Sums.Size, p.Sets, parts)
	}
	if bitsReduced != p.BucketBits() {
		t.Errorf("%v %v %d: %d bits reduced, of %d", c, g, n, bitsReduced, p.BucketBits())
	}
}

// TestSortingPlans checks the sort of MSMs side by side, with multiples and without, on
// large cards and small ones.
// TestCostOfParts: how much a part of an MSM gains by multiples of its bases alone.
func TestCostOfParts(t *testing.T) {
	for _, c := range []struct {
		curve       backend.Curve
		logN, cards int
		least, most float64 // times as much with multiples of all bases
	}{
		{backend.BN254, 22, 4, 1, 1.01},
		{backend.BN254, 26, 2, 1, 1.01},
		{backend.BN254, 26, 4, 1.01, 1.07},
		{backend.BN254, 28, 2, 1.01, 1.07},
		{backend.BN254, 28, 4, 1.08, 1.2},
		{backend.BLS12377, 28, 4, 1.08, 1.3},
	} {
		cost := func(bases, count int) float64 {
			of := func(count int) Input {
				memory := int64(125<<30) - int64(bases*c.curve.PointBytes(backend.G1))
				return Input{Curve: c.curve, Group: backend.G1, Count: count, Memory: memory, Params: h200().Params(c.curve, backend.G1, count)}
			}
			all := of(bases)
			v, err := CostWith(all, of(count), 0, int64(FreeShare*float64(all.Memory)))
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		n := 1 << c.logN
		if r := cost(n, n/c.cards) / cost(n/c.cards, n/c.cards); r < c.least || r > c.most {
			t.Errorf("%+v: %.3f times", c, r)
		}
	}
}

func TestSortingPlans(t *testing.T) {
	eachPlanned(func(c backend.Curve, g backend.Group) {
		for _, n := range []int{1, 1 << 8, 1 << 12, 1 << 16, 1 << 20} {
			for _, together := range []int{1, 3, 16, MostTogether} {
				for _, shared := range []int{LeastShared, 227 << 10} {
					in := inputOf(c, g, n, 130<<30)
					in.Params.Shared, in.Together = shared, min(together, 1<<20/n)
					for _, most := range []int{1, 64} {
						if most > 1 {
							in.Multiples = ChooseMultiples(in, most, in.Memory/2)
						}
						p, err := New(in)
						if err != nil {
							t.Fatal(err)
						}
						checkSorting(t, p)
					}
				}
			}
		}
	})
}

// checkSorting checks what the kernels of the sort rely on: bins cover all buckets, those
// of every MSM are in a row, and a block's tile fits its shared memory.
func checkSorting(t *testing.T, p *Plan) {
	t.Helper()
	s, own := &p.Sort, int64(p.Sets)<<p.BucketBits()
	if int64(s.Bins)<<s.Shift < p.BucketCount() || int64(s.Bins-1)<<s.Shift >= p.BucketCount() ||
		s.Each < 1<<warpBits || s.Each%(1<<warpBits) != 0 ||
		p.ScatterShared() > p.Params.Shared || s.RestShared() > LeastShared || s.Shift == 0 && p.BucketCount() > 1<<oneLevel {
		t.Errorf("%v %v %d: %d buckets, sorted by %+v", p.Curve, p.Group, p.Count, p.BucketCount(), *s)
	}
	for msm := range int64(p.MSMs()) {
		if first, last := msm*own>>s.Shift, ((msm+1)*own-1)>>s.Shift; last-first >= int64(s.Row) {
			t.Errorf("%v %v %d: MSM %d has the bins %d to %d, sorted by %+v", p.Curve, p.Group, p.Count, msm, first, last, *s)
		}
	}
}

// TestPlanFitsSmallCards has bases of 2^26 points beside the work, in 24 GiB.
func TestPlanFitsSmallCards(t *testing.T) {
	for _, c := range backend.Curves() {
		const n = 1 << 26
		left := int64(24<<30) - n*int64(c.PointBytes(backend.G1))
		if p, err := New(inputOf(c, backend.G1, n, left)); err != nil {
			t.Errorf("%v: %v", c, err)
		} else if p.Need() > left {
			t.Errorf("%v: %d of %d bytes", c, p.Need(), left)
		}
	}
}

func TestPlanNamesTheNeed(t *testing.T) {
	_, err := New(inputOf(backend.BN254, backend.G1, 1<<20, 1000))
	if !errors.Is(err, backend.ErrOutOfMemory) || !strings.Contains(err.Error(), "needs") {
		t.Fatalf("error %v", err)
	}
	// The least need that is named does suffice.
	least := int64(0)
	for memory := int64(1 << 10); ; memory += memory / 8 {
		if p, err := New(inputOf(backend.BN254, backend.G1, 1<<20, memory)); err == nil {
			least = p.Need()
			break
		}
	}
	var named int64
	text := err.Error()
	for _, word := range strings.Fields(text[strings.Index(text, "needs"):]) {
		if v, ok := new(big.Int).SetString(word, 10); ok {
			named = v.Int64()
			break
		}
	}
	if named == 0 || named > least {
		t.Errorf("%q: %d named, %d suffice", text, named, least)
	}
	if _, err := New(inputOf(backend.BN254, backend.G1, 1<<20, named)); err != nil {
		t.Errorf("the need that was named does not suffice: %v", err)
	}
}

// TestSlots bounds the tasks of any distribution of entries over buckets by
// what there is room for.
func TestSlots(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		p, err := New(inputOf(backend.BN254, backend.G1, 1+r.IntN(1<<16), 1<<40))
		if err != nil {
			t.Fatal(err)
		}
		entries := p.Sets * p.Stride
		room := p.Work.Slots.Size / p.PointBytes()
		tasks, slots, splits := int64(0), int64(0), int64(0)
		for left := entries; left > 0; {
			n := 1 + r.IntN(4*p.Piece)
			if r.IntN(4) == 0 {
				n = p.Piece + 1 // the worst: two tasks for one entry more than one has
			}
			n = min(n, left)
			left -= n
			pieces := int64((n + p.Piece - 1) / p.Piece)
			if tasks++; pieces > 1 {
				tasks += pieces - 1
				slots += (pieces + 1) &^ 1
				splits++
			}
		}
		if slots > room || 4*kernel.OwnerWords*slots > p.Work.Lists[0].Owners.Size || 4*kernel.SplitWords*splits > p.Work.Lists[1].Splits.Size {
			t.Fatalf("%d slots, %d splits, room for %d", slots, splits, room)
		}
	}
}

// TestWindows recomputes scalars from signed digits, made as the kernel does, at
// the ends of the range and at random.
func TestWindows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range backend.Curves() {
		half := halfOrders()[c]
		for width := minWindow; width <= maxWindow; width++ {
			count := Windows(c, width)
			scalars := []*big.Int{new(big.Int), big.NewInt(1), half, new(big.Int).Sub(half, big.NewInt(1))}
			for range 20 {
				b := make([]byte, 48)
				for i := range b {
					b[i] = byte(r.Uint32())
				}
				scalars = append(scalars, new(big.Int).Mod(new(big.Int).SetBytes(b), half))
			}
			// All digits just at the carry.
			carry := new(big.Int)
			for w := range count {
				carry.Or(carry, new(big.Int).Lsh(big.NewInt(1<<(width-1)), uint(w*width)))
			}
			scalars = append(scalars, carry.Mod(carry, half))
			for _, s := range scalars {
				rest, sum, carried := new(big.Int).Set(s), new(big.Int), int64(0)
				for w := range count {
					d := new(big.Int).And(rest, big.NewInt(1<<width-1)).Int64() + carried
					rest.Rsh(rest, uint(width))
					carried = 0
					if w+1 < count && d > 1<<(width-1) {
						carried, d = 1, d-1<<width
					}
					if d > 1<<(width-1) || d < -(1<<(width-1)) {
						t.Fatalf("%v, %d bits: digit %d of %v is %d", c, width, w, s, d)
					}
					sum.Add(sum, new(big.Int).Lsh(big.NewInt(d), uint(w*width)))
				}
				if sum.Cmp(s) != 0 {
					t.Fatalf("%v, %d bits: digits of %v make %v", c, width, s, sum)
				}
			}
			if count > 1 && Windows(c, width)*width-width >= c.ScalarBits() {
				t.Errorf("%v: %d windows of %d bits are too many", c, count, width)
			}
		}
	}
}
