package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
)

// everywhere returns an MSM of n points of BN254 whose bases all cards have.
func everywhere(n, cards int, group backend.Group) pending {
	has := make([]span, cards)
	for k := range has {
		has[k] = span{0, n}
	}
	return pending{curve: backend.BN254, group: group, bases: span{0, n}, has: has}
}

func idle(n int) cards {
	c := cards{rules: usual, queued: make([]float64, n), speed: make([]float64, n)}
	for k := range c.speed {
		c.speed[k] = 1
	}
	return c
}

// queue gives cards a queue, in nanoseconds.
func queue(c cards, queued ...float64) cards {
	c.queued = queued
	return c
}

// at gives cards their speeds.
func at(c cards, speed ...float64) cards {
	c.speed = speed
	return c
}

// busy says that other calls are in flight.
func busy(c cards) cards {
	c.busy = true
	return c
}

// shape writes parts as card:points, by MSM.
func shape(waiting int, parts []part) string {
	by := make([][]string, waiting)
	for _, p := range parts {
		by[p.of] = append(by[p.of], fmt.Sprintf("%d:%d", p.card, p.count()))
	}
	var all []string
	for _, s := range by {
		all = append(all, strings.Join(s, "+"))
	}
	return strings.Join(all, " ")
}

func TestPlace(t *testing.T) {
	g1 := func(n, cards int) pending { return everywhere(n, cards, backend.G1) }
	g2 := func(n, cards int) pending { return everywhere(n, cards, backend.G2) }
	only := func(n, cards int, has map[int]span) pending {
		t := pending{curve: backend.BN254, group: backend.G1, bases: span{0, n}, has: make([]span, cards)}
		for k, s := range has {
			t.has[k] = s
		}
		return t
	}
	const m = 1 << 20
	for name, c := range map[string]struct {
		waiting []pending
		cards   cards
		want    string
	}{
		"nothing":                       {nil, idle(4), ""},
		"one card":                      {[]pending{g1(m, 1), g1(64*m, 1)}, idle(1), "0:1048576 0:67108864"},
		"a small one stays whole":       {[]pending{g1(1<<14, 4)}, idle(4), "0:16384"},
		"no scalars":                    {[]pending{g1(0, 2)}, idle(2), "0:0"},
		"a large one is split":          {[]pending{g1(64*m, 4)}, idle(4), "0:16777216+1:16777216+2:16777216+3:16777216"},
		"whole ones to different cards": {[]pending{g1(m, 4), g1(m, 4), g1(m, 4), g1(m, 4)}, idle(4), "0:1048576 1:1048576 2:1048576 3:1048576"},
		// Groth16: A, B, K and Z in G1, and B in G2, which costs as much as three of them.
		"Groth16 on two": {[]pending{g1(m, 2), g1(m, 2), g1(m, 2), g1(m, 2), g2(m, 2)}, idle(2),
			"1:1048576 1:1048576 1:1048576 1:1048576 0:1048576"},
		"five on two": {[]pending{g1(4*m, 2), g1(4*m, 2), g1(4*m, 2), g1(4*m, 2), g1(4*m, 2)}, idle(2),
			"0:4194304 1:4194304 0:4194304 1:4194304 0:2097152+1:2097152"},
		"to the idle one": {[]pending{g1(m, 2)}, queue(idle(2), 1e9, 0), "1:1048576"},
		// Every part costs fixedPoints. While others wait, at most a twentieth of the MSM may go
		// there.
		"nobody waits: a medium one split":   {[]pending{g1(4*m, 4)}, idle(4), "0:1048576+1:1048576+2:1048576+3:1048576"},
		"others wait: a medium one whole":    {[]pending{g1(4*m, 4)}, busy(idle(4)), "0:4194304"},
		"nobody waits: a larger one in four": {[]pending{g1(24*m, 4)}, idle(4), "0:6291456+1:6291456+2:6291456+3:6291456"},
		"others wait: a larger one in three": {[]pending{g1(24*m, 4)}, busy(idle(4)), "0:8388608+1:8388608+2:8388608"},
		"others wait: a large one split":     {[]pending{g1(64*m, 2)}, busy(idle(2)), "0:33554432+1:33554432"},
		// Each part must save a tenth of the time: at this size a third part does not.
		"a part more that saves little":    {[]pending{g1(400_000, 3)}, idle(3), "0:200000+1:200000"},
		"a part more that saves enough":    {[]pending{g1(600_000, 3)}, idle(3), "0:200000+1:200000+2:200000"},
		"where its bases are":              {[]pending{only(m, 3, map[int]span{2: {0, m}})}, idle(3), "2:1048576"},
		"a slow card that would end later": {[]pending{g1(1<<16, 2)}, queue(at(idle(2), 0.5, 1), 0, 1e6), "1:65536"},
		"bases in parts":                   {[]pending{only(m, 3, map[int]span{0: {0, m / 2}, 2: {m / 2, m}})}, idle(3), "0:524288+2:524288"},
		"parts that two cards have": {
			[]pending{only(m, 3, map[int]span{0: {0, m / 2}, 1: {0, m / 2}, 2: {m / 2, m}})}, queue(idle(3), 1e9, 0, 0), "1:524288+2:524288",
		},
		"parts that overlap":           {[]pending{only(m, 2, map[int]span{0: {0, 3 * m / 4}, 1: {m / 2, m}})}, idle(2), "0:786432+1:262144"},
		"bases beyond the MSM's":       {[]pending{only(m, 3, map[int]span{0: {0, m / 2}, 2: {m / 2, 2 * m}})}, idle(3), "0:524288+2:524288"},
		"nearly equal ones stay whole": {[]pending{g1(66*m, 2), g1(60*m, 2)}, idle(2), "0:69206016 1:62914560"},
		// The slow card has half of the speed, and a queue as long as an MSM of 1.8 m points: that
		// equals 0.9 m points on the other card.
		"what a slow card has to do": {[]pending{g1(4*m, 2)}, queue(at(idle(2), 1, 0.5), 0, 1.8*2.7*m), "0:3600110+1:594194"},
		"a slow card that is idle":   {[]pending{g1(96*m, 2)}, queue(at(idle(2), 0.5, 1), 0, 100*2.7*m), "0:68332202+1:32331094"},
		"a slow card gets less":      {[]pending{g1(96*m, 2)}, at(idle(2), 1, 0.5), "0:67283626+1:33379670"},
	} {
		parts, missing := spread(c.waiting, c.cards)
		if got := shape(len(c.waiting), parts); got != c.want || missing != nil {
			t.Errorf("%s: %s, want %s; missing %v", name, got, c.want, missing)
		}
	}
	_, missing := spread([]pending{g1(m, 2), only(m, 2, map[int]span{0: {0, m - 1}})}, idle(2))
	if !slices.Equal(missing, []int{1}) {
		t.Errorf("a base that no card has: missing %v", missing)
	}
}

// TestCost: an MSM costs its points and fixed points more, and costs more on a slow card. One of no
// points costs nothing.
func TestCost(t *testing.T) {
	c := at(idle(2), 1, 0.5)
	for _, row := range []struct {
		n    int
		cost float64
	}{{0, 0}, {1000, 5.6 * (1000 + fixedPoints)}} {
		msm := pending{curve: backend.BLS12381, group: backend.G1}
		fast, slow := c.add(7, &msm, 0, span{50, 50 + row.n}), c.add(7, &msm, 1, span{50, 50 + row.n})
		want := part{7, 0, span{50, 50 + row.n}, row.cost}
		if fast != want || slow.cost != 2*want.cost || c.queued[0] != fast.cost || c.queued[1] != slow.cost {
			t.Errorf("%d points: %+v and %+v, queued %v; want %+v", row.n, fast, slow, c.queued, want)
		}
	}
}

// TestEven: cards that share points end together, and each gets at least the least part.
func TestEven(t *testing.T) {
	c := cards{rules: rules{fixed: 10, least: 100}, queued: []float64{0, 50, 0}, speed: []float64{1, 1, 0.5}}
	for _, row := range []struct {
		on   []int
		n    int
		each float64
		end  float64 // 0 if they cannot share
	}{
		{[]int{0}, 100, 1, 110},
		{[]int{0}, 99, 1, 0},
		{[]int{0, 1}, 250, 1, 160}, // 150 points beside 100
		{[]int{0, 1}, 249, 1, 0},
		{[]int{1, 0}, 250, 1, 160},
		{[]int{0, 2}, 310, 1, 220}, // 210 points beside 100 of the slow card
		{[]int{0, 2}, 309, 1, 0},
		{[]int{0, 1}, 225, 2, 270}, // the queue is as long as 25 points
		{[]int{0, 1}, 224, 2, 0},
	} {
		if end, ok := c.even(row.on, row.each, row.n); ok != (row.end > 0) || end != row.end {
			t.Errorf("%d points on cards %v, %v ns each: they end at %v, %v; want %v", row.n, row.on, row.each, end, ok, row.end)
		}
	}
}

// TestSplitByMemory: each card has bases in proportion to its memory, and together they have all.
func TestSplitByMemory(t *testing.T) {
	for _, row := range []struct {
		n      int
		memory []int64
		want   []span
	}{
		{100, []int64{8}, []span{{0, 100}}},
		{100, []int64{10, 30}, []span{{0, 25}, {25, 100}}},
		{100, []int64{30, 10}, []span{{0, 75}, {75, 100}}},
		{10, []int64{1, 1, 1}, []span{{0, 3}, {3, 6}, {6, 10}}},
		{100, []int64{0, 50, 0}, []span{{0, 0}, {0, 100}, {100, 100}}},
		{0, []int64{1, 2}, []span{{0, 0}, {0, 0}}},
		{52492761, []int64{3221574844, 90341731996}, []span{{0, 1807432}, {1807432, 52492761}}}, // n m / m, computed so, is less than n
	} {
		if got := splitByMemory(row.n, row.memory); !slices.Equal(got, row.want) {
			t.Errorf("%d bases by memory %v: %v, want %v", row.n, row.memory, got, row.want)
		}
	}
}

// TestPlaceIsWhole: for any MSMs and cards every point is assigned once, to a card with its base,
// and the queues grow by the cost of what was assigned.
func TestPlaceIsWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		n := 1 + r.IntN(8)
		c := idle(n)
		most := 27
		if r.IntN(2) == 0 { // parts may be short
			c.rules, most = rules{fixed: 1, least: 1}, 8
		}
		for k := range n {
			c.queued[k], c.speed[k] = r.Float64()*1e8*float64(r.IntN(2)), 1-0.6*r.Float64()*float64(r.IntN(2))
		}
		c.busy = r.IntN(2) == 0
		sum := 0.0
		for _, l := range c.queued {
			sum += l
		}
		waiting := make([]pending, r.IntN(6))
		for i := range waiting {
			count := 1 << r.IntN(most)
			waiting[i] = everywhere(count, n, backend.Groups()[r.IntN(2)])
			waiting[i].bases = span{r.IntN(count), count}
			if r.IntN(3) == 0 { // or in parts
				memory := make([]int64, n)
				for k := range memory {
					memory[k] = 1 + r.Int64N(1e9)
				}
				copy(waiting[i].has, splitByMemory(count, memory))
			}
		}
		parts, missing := spread(waiting, c)
		if missing != nil {
			t.Fatalf("missing %v", missing)
		}
		next := make([]int, len(waiting))
		for i := range waiting {
			next[i] = waiting[i].bases.from
		}
		slices.SortFunc(parts, func(a, b part) int { return a.from - b.from })
		for _, p := range parts {
			if p.count() <= 0 || p.from != next[p.of] || !waiting[p.of].has[p.card].covers(p.span) {
				t.Fatalf("part %+v of MSM %+v, after %d", p, waiting[p.of], next[p.of])
			}
			next[p.of] = p.to
			sum += p.cost
		}
		for i := range waiting {
			if next[i] != waiting[i].bases.to {
				t.Fatalf("MSM %+v placed up to %d", waiting[i], next[i])
			}
		}
		for _, l := range c.queued {
			sum -= l
		}
		if math.Abs(sum) > 1 {
			t.Fatalf("the cards have %f less than what was placed", sum)
		}
	}
}

func TestChoose(t *testing.T) {
	there := []driver.Info{
		{UUID: "GPU-aaaa1111"}, {UUID: "GPU-aaaa2222"}, {UUID: "GPU-bbbb3333"}, {UUID: "GPU-cccc4444"}, {UUID: "MIG-cccc5555"},
	}
	for list, want := range map[string][]int{
		"": {0, 1, 2, 3, 4}, "MIG-cccc": {4}, "MIG-": nil, "MIG-bbbb": nil,
		"0": {0}, "3,1": {3, 1}, "0-2": {0, 1, 2}, "3,0-1": {3, 0, 1}, "GPU-bbbb3333": {2}, "GPU-c": {3}, "gpu": nil,
		"5": nil, "-1": nil, "1-0": nil, "0,0": nil, "0-1,1": nil, "GPU-aaaa": nil, "GPU-": nil,
		"GPU-dddd": nil, ",": nil, "0x1": nil, "70000": nil,
	} {
		got, err := choose(list, there)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) || err != nil && backend.FaultOf(err) != backend.FaultGone {
			t.Errorf("%q: %v, %v; want %v", list, got, err, want)
		}
	}
}

// TestCommits: a commitment stays on the card that has its bases, with its offset among the bases
// there. Elsewhere its scalars are read instead.
func TestCommits(t *testing.T) {
	commit := func(bases backend.BasesID, offset int) backend.Step {
		return backend.Job{Bases: bases, Offset: offset, Count: 10, Src: backend.Range{Space: 1, Count: 10}}
	}
	here := func(id backend.BasesID) span { return map[backend.BasesID]span{1: {0, 100}, 2: {50, 100}}[id] }
	given := []backend.Step{commit(1, 90), commit(2, 60), commit(2, 45), commit(3, 0)}
	steps, elsewhere := commits(given, here)
	read := backend.Read{Src: backend.Range{Space: 1, Count: 10}}
	if want := []backend.Step{commit(1, 90), commit(2, 10), read, read}; !reflect.DeepEqual(steps, want) {
		t.Errorf("%+v, want %+v", steps, want)
	}
	if want := map[int]backend.Job{2: given[2].(backend.Job), 3: given[3].(backend.Job)}; !reflect.DeepEqual(elsewhere, want) {
		t.Errorf("elsewhere %+v, want %+v", elsewhere, want)
	}
	if !reflect.DeepEqual(given[1], commit(2, 60)) {
		t.Error("the caller's steps have changed")
	}
}
