package cuda

import (
	"cmp"
	"slices"

	"github.com/pippin-zk/pippin/backend"
)

// Functions of this file decide where MSMs are computed. They know what a job costs,
// which card has its bases, and what the cards have to do already.

// perPoint is the cost of a point of an MSM on one card, by group. What an MSM costs
// beside its points is as much as fixedPoints of them. Only the proportions count. Both
// follow from MSMs of 2^20 and more points on an H200 on 21 November 2026.
var perPoint = [...][2]float64{ // ns: G1, G2
	backend.BN254:    {2.7, 9.1},
	backend.BLS12377: {5.5, 22},
	backend.BLS12381: {5.6, 21},
	backend.BW6761:   {33, 33},
}

const fixedPoints = 1 << 19

// Splitting an MSM costs fixedPoints once more for each part.
const (
	// A batch is as quick as it can be when its last card ends within so much of
	// the time that all cards would need together: more parts would not pay.
	slack = 1.1
	// A part more has to bring this much.
	gain = 0.9
	// While others wait for the cards, parts must not cost them more than this
	// share of the MSM.
	busyShare = 0.05
	// leastPart is points below which no part is split off.
	leastPart = 1 << 16
)

// rules are the sizes of jobs from which on they are split.
type rules struct{ fixed, least int }

var usual = rules{fixedPoints, leastPart}

// apart says when bases are split beforehand although each card could have all of them.
// Each card must get least of them at least, and MSMs must be quicker by gain: a card has
// room for more multiples of a part. Splitting has a price: a card computes no job of these
// bases alone, and when it is lost no other card has its part. Parts of usualApart are
// longer than what a proof commits to from vectors on one card, which is best computed
// there.
type apart struct {
	least int
	gain  float64
}

var usualApart = apart{1 << 26, 1.04}

// span is a range of bases or of scalars, from and to below which.
type span struct{ from, to int }

func (s span) count() int             { return s.to - s.from }
func (s span) covers(other span) bool { return s.from <= other.from && other.to <= s.to }

// pending is an MSM, or what is left of one, that no card has yet.
type pending struct {
	curve backend.Curve
	group backend.Group
	bases span   // those that it uses
	has   []span // by card: those that are there; empty for none
}

// each returns what a point of the MSM takes on a card of speed 1, in nanoseconds.
func (t *pending) each() float64 { return perPoint[t.curve][t.group-backend.G1] }

// cost returns what n of them take.
func (r rules) cost(t *pending, n int) float64 {
	if n == 0 {
		return 0
	}
	return t.each() * float64(n+r.fixed)
}

// part is a part of an MSM on a card: its bases from, to below which, counted as
// pending.bases counts them. of is the MSM's number.
type part struct {
	of, card int
	span
	cost float64 // on that card
}

// cards is what spread knows of the cards that are there.
type cards struct {
	rules
	queued []float64 // by card: what it has to do already, in nanoseconds
	speed  []float64 // by card: 1 is the fastest
	busy   bool      // others have calls in flight
}

// spread assigns MSMs to cards, the longest first. It gives each to the card that will
// finish first, and splits one that would run longer than all cards need together. missing
// lists the MSMs whose bases no card holds. spread adds the cost of each part to c.queued.
func spread(waiting []pending, c cards) (parts []part, missing []int) {
	order := make([]int, len(waiting))
	left := 0.0
	for i := range waiting {
		order[i] = i
		left += c.cost(&waiting[i], waiting[i].bases.count())
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(c.cost(&waiting[b], waiting[b].bases.count()), c.cost(&waiting[a], waiting[a].bases.count()))
	})
	for _, i := range order {
		t := &waiting[i]
		able := c.having(t)
		if len(able) == 0 {
			covering, ok := c.cover(i, t)
			if !ok {
				missing = append(missing, i)
			}
			parts = append(parts, covering...)
		} else {
			parts = append(parts, c.split(i, t, able, left)...)
		}
		left -= c.cost(t, t.bases.count())
	}
	return parts, missing
}

// having returns the cards with all bases of an MSM, those that end first before the
// others.
func (c *cards) having(t *pending) []int {
	var able []int
	for k, h := range t.has {
		if h.covers(t.bases) {
			able = append(able, k)
		}
	}
	all := c.cost(t, t.bases.count())
	slices.SortStableFunc(able, func(a, b int) int {
		return cmp.Compare(c.queued[a]+all/c.speed[a], c.queued[b]+all/c.speed[b])
	})
	return able
}

// add notes a part.
func (c *cards) add(i int, t *pending, card int, s span) part {
	p := part{i, card, s, c.cost(t, s.count()) / c.speed[card]}
	c.queued[card] += p.cost
	return p
}

// cover places an MSM whose bases lie on several cards.
func (c *cards) cover(i int, t *pending) (parts []part, ok bool) {
	for at := t.bases.from; at < t.bases.to; {
		best, to := -1, 0
		for k, h := range t.has {
			if h.from <= at && at < h.to && (best < 0 || c.queued[k] < c.queued[best]) {
				best, to = k, min(h.to, t.bases.to)
			}
		}
		if best < 0 {
			return nil, false
		}
		parts = append(parts, c.add(i, t, best, span{at, to}))
		at = to
	}
	return parts, true
}

// split gives an MSM to some of the cards that are able: to as few as make it end in time,
// or else to those with which it ends first. left is the cost of all MSMs from this one on.
func (c *cards) split(i int, t *pending, able []int, left float64) []part {
	n, each := t.bases.count(), t.each()
	before, speed := 0.0, 0.0
	for k := range c.queued {
		before += c.queued[k] * c.speed[k]
		speed += c.speed[k]
	}
	limit := slack * (before + left) / speed
	most := len(able)
	if c.busy {
		most = min(most, 1+int(busyShare*float64(n)/float64(c.fixed)))
	}
	best, end := 1, c.queued[able[0]]+c.cost(t, n)/c.speed[able[0]]
	for k := 2; k <= most && end > limit; k++ {
		if e, ok := c.even(able[:k], each, n); ok && e < gain*end {
			best, end = k, e
		}
	}
	if best == 1 {
		return []part{c.add(i, t, able[0], t.bases)}
	}
	var parts []part
	at := t.bases.from
	for j, card := range able[:best] {
		to := at + int((end-c.queued[card])*c.speed[card]/each) - c.fixed
		if j == best-1 {
			to = t.bases.to // with what was rounded off
		}
		parts = append(parts, c.add(i, t, card, span{at, to}))
		at = to
	}
	return parts
}

// even returns when cards end that share n points so that they end together; false when
// one of them would get fewer than least of them, or has more to do than that already.
func (c *cards) even(on []int, each float64, n int) (end float64, ok bool) {
	points, speed := float64(n), 0.0
	for _, k := range on {
		points += float64(c.fixed) + c.queued[k]*c.speed[k]/each
		speed += c.speed[k]
	}
	end = each * points / speed
	for _, k := range on {
		if end < c.queued[k]+each*float64(c.fixed+c.least)/c.speed[k] {
			return 0, false
		}
	}
	return end, true
}

// splitByMemory cuts n bases in a part for each card, by the memory that each has.
func splitByMemory(n int, memory []int64) []span {
	var total float64
	for _, m := range memory {
		total += float64(m)
	}
	parts, at, sum := make([]span, len(memory)), 0, 0.0
	for k, m := range memory {
		sum += float64(m)
		to := n
		if k < len(memory)-1 {
			to = max(at, int(float64(n)*sum/total))
		}
		parts[k] = span{at, to}
		at = to
	}
	return parts
}
