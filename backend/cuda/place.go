package cuda

import (
	"cmp"
	"slices"

	"github.com/pippin-zk/pippin/backend"
)

// The functions of this file decide where MSMs are computed. They know the cost of a job, which
// cards have its bases, and what is queued on the cards.

// perPoint is the cost of a point of an MSM on one card, by group. What an MSM costs besides its
// points equals the cost of fixedPoints points. Only the proportions matter. Both come from MSMs of
// 2^20 points and more, measured on an H200 on 21 November 2026.
var perPoint = [...][2]float64{ // ns: G1, G2
	backend.BN254:    {2.7, 9.1},
	backend.BLS12377: {5.5, 22},
	backend.BLS12381: {5.6, 21},
	backend.BW6761:   {33, 33},
}

const fixedPoints = 1 << 19

// Every part of a split MSM costs fixedPoints again.
const (
	// slack bounds when a batch is quick enough: its last card ends within slack times the time
	// that all cards need together. More parts would not pay.
	slack = 1.1
	// gain is the share of the time that must remain at most for one part more to pay.
	gain = 0.9
	// busyShare bounds the cost of parts while other calls wait for the cards, as a share of the
	// MSM.
	busyShare = 0.05
	// leastPart is the fewest points of a part.
	leastPart = 1 << 16
)

// rules say from which sizes on jobs are split: fixed is the fixed cost of a part in points, least
// the fewest points of a part.
type rules struct{ fixed, least int }

var usual = rules{fixedPoints, leastPart}

// apart says when bases are split although every card has room for all of them. Each card must get
// at least least of them, and MSMs must get quicker by the factor gain, because a card has room for
// more multiples of a part. Splitting has a price: no card can compute a job over these bases
// alone, and when a card is lost no other has its part. Parts of usualApart are longer than the
// bases of a proof's commitments to vectors on one card, which are best computed on that card.
type apart struct {
	least int
	gain  float64
}

var usualApart = apart{1 << 26, 1.04}

// span is a range of bases or of scalars: from is included, to is not.
type span struct{ from, to int }

func (s span) count() int             { return s.to - s.from }
func (s span) covers(other span) bool { return s.from <= other.from && other.to <= s.to }

// pending is an MSM, or what is left of it, that is not assigned yet.
type pending struct {
	curve backend.Curve
	group backend.Group
	bases span   // the bases that the MSM uses
	has   []span // by card: which of them it has; empty for none
}

// each returns the cost of a point of the MSM on a card of speed 1, in nanoseconds.
func (t *pending) each() float64 { return perPoint[t.curve][t.group-backend.G1] }

// cost returns the cost of n points of the MSM.
func (r rules) cost(t *pending, n int) float64 {
	if n == 0 {
		return 0
	}
	return t.each() * float64(n+r.fixed)
}

// part is a part of an MSM on a card: a span of its bases, counted as pending.bases counts them. of
// is the MSM's number.
type part struct {
	of, card int
	span
	cost float64 // on that card
}

// cards is what spread knows of the cards.
type cards struct {
	rules
	queued []float64 // by card: the cost of what is queued there, in nanoseconds
	speed  []float64 // by card; that of the fastest is 1
	busy   bool      // other calls are in flight
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

// having returns the cards with all bases of an MSM, in the order in which they would finish it.
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

// add assigns a part to a card.
func (c *cards) add(i int, t *pending, card int, s span) part {
	p := part{i, card, s, c.cost(t, s.count()) / c.speed[card]}
	c.queued[card] += p.cost
	return p
}

// cover assigns an MSM whose bases are spread over several cards.
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

// split assigns an MSM to some of the cards that are able: to the fewest with which it ends in
// time, or else to those with which it ends first. left is the cost of all MSMs from this one on.
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
			to = t.bases.to // including what was rounded off
		}
		parts = append(parts, c.add(i, t, card, span{at, to}))
		at = to
	}
	return parts
}

// even returns the time at which the cards end together if they share n points. It returns false if
// one of them would get fewer than least points.
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

// splitByMemory cuts n bases into a part for each card, in proportion to the cards' memory.
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
