package crew

import (
	"math/bits"
	"sync/atomic"
)

// Background is work beside the owner's. It has parts, each of one or more shares: a
// part begins when it is released and those that it reads have ended, and of those that
// may begin the one with the lowest number does. And it has loose shares, which depend on
// nothing, are released in their order, and are done when no part has a share to begin with.
type Background struct {
	parts []Part
	state []state
	// ready has a bit for each part that may begin and has shares that nobody has taken.
	ready []atomic.Uint64
	_     [40]byte
	open  atomic.Int32 // how many bits are set
	_     [60]byte

	taken atomic.Int64 // loose shares
	_     [56]byte
	ended atomic.Int64 // loose shares
	_     [56]byte

	loose  atomic.Int64 // released
	passed atomic.Int32 // the first so many parts have ended; the owner writes it
	fault  fault
	exited *atomic.Bool // the crew's

	doPart  func(worker, part, share int) error
	doLoose func(worker, share int) error
}

// Part is a piece of a background. It is only read.
type Part struct {
	Shares int     // at least one
	Reads  int     // how many parts have to end before it begins
	Then   []int32 // the parts that wait for it: their numbers are greater
}

// state is how far a part is.
type state struct {
	left  atomic.Int32 // parts that have to end before it begins, and one for its release
	taken atomic.Int32 // shares, and those who came too late
	done  atomic.Int32 // shares
}

// Begin gives the crew a background of these parts. An earlier one has ended.
func (c *Crew) Begin(parts []Part, part func(worker, part, share int) error, loose func(worker, share int) error) {
	b := &Background{parts: parts, state: make([]state, len(parts)), ready: make([]atomic.Uint64, (len(parts)+63)/64),
		doPart: part, doLoose: loose, exited: &c.exited}
	for i := range parts {
		b.state[i].left.Store(int32(parts[i].Reads) + 1)
	}
	c.background.Store(b)
}

// Release lets these parts begin, each once, and the first so many loose shares, whose
// number only grows.
func (c *Crew) Release(parts []int32, loose int) {
	b := c.background.Load()
	b.loose.Store(int64(loose))
	for _, i := range parts {
		b.allow(i)
	}
	if b.any() {
		c.call()
	}
}

// allow takes one from what a part waits for.
func (b *Background) allow(i int32) {
	if b.state[i].left.Add(-1) == 0 {
		b.open.Add(1)
		b.ready[i/64].Or(1 << (i % 64))
	}
}

// Ended reports whether all of these parts have ended.
func (c *Crew) Ended(parts []int32) bool {
	b := c.background.Load()
	for _, i := range parts {
		if !b.over(i) {
			return false
		}
	}
	return true
}

func (b *Background) over(i int32) bool { return b.state[i].done.Load() == int32(b.parts[i].Shares) }

// pass reports whether the first n parts have ended.
func (b *Background) pass(n int) bool {
	i := b.passed.Load()
	from := i
	for int(i) < n && b.over(i) {
		i++
	}
	if i != from {
		b.passed.Store(i)
	}
	return int(i) >= n
}

// Await returns when the first n parts, which were released, have ended, with the
// first error of the background if there is one. The owner takes part. Without helpers
// it does all that was released.
func (c *Crew) Await(n int) error {
	b := c.background.Load()
	if c.calls.Load() == 0 {
		for b.aside(0) {
		}
	}
	if !b.pass(n) {
		c.waits.Store(true)
		c.wait(func() bool {
			for !b.pass(n) {
				if !b.chained(0, n) {
					return false
				}
			}
			return true
		})
		c.waits.Store(false)
	}
	return c.first(&b.fault)
}

// Finish returns when all parts and the loose shares that were released have ended, with
// the first error. All parts were released.
func (c *Crew) Finish() error {
	b := c.background.Load()
	c.waits.Store(true)
	defer c.waits.Store(false)
	for _, h := range c.helpers[:c.near()] {
		h.rouse()
	}
	c.wait(func() bool {
		for b.aside(0) {
		}
		return b.pass(len(b.parts)) && b.ended.Load() == b.loose.Load()
	})
	return c.first(&b.fault)
}

// aside does a share, if there is one to begin with.
func (b *Background) aside(worker int) bool {
	return b.chained(worker, len(b.parts)) || b.unchained(worker)
}

// any tells whether there is a share to begin with.
func (b *Background) any() bool { return b.open.Load() > 0 || b.taken.Load() < b.loose.Load() }

// chained does a share of the first of n parts that has one to begin with.
func (b *Background) chained(worker, n int) bool {
	if b.open.Load() == 0 {
		return false
	}
	for word := int(b.passed.Load()) / 64; word*64 < n; word++ {
		for set := b.ready[word].Load(); set != 0; set &= set - 1 {
			i := word*64 + bits.TrailingZeros64(set)
			if i >= n {
				return false
			}
			if b.share(worker, i) {
				return true
			}
		}
	}
	return false
}

// share does a share of a part that has begun, if there is one left.
func (b *Background) share(worker, i int) bool {
	p, s := &b.parts[i], &b.state[i]
	k := int(s.taken.Add(1)) - 1
	if k >= p.Shares {
		return false
	}
	if k == p.Shares-1 {
		b.ready[i/64].And(^(uint64(1) << (i % 64)))
		b.open.Add(-1)
	}
	if !b.fault.failed.Load() {
		if err := guarded(b.exited, &b.fault, func(worker, share int) error { return b.doPart(worker, i, share) }, worker, k); err != nil {
			b.fault.keep(err)
		}
	}
	if int(s.done.Add(1)) == p.Shares {
		for _, next := range p.Then {
			b.allow(next)
		}
	}
	return true
}

// unchained does a loose share.
func (b *Background) unchained(worker int) bool {
	for {
		n := b.taken.Load()
		if n >= b.loose.Load() {
			return false
		}
		if !b.taken.CompareAndSwap(n, n+1) {
			continue
		}
		if !b.fault.failed.Load() {
			if err := guarded(b.exited, &b.fault, b.doLoose, worker, int(n)); err != nil {
				b.fault.keep(err)
			}
		}
		b.ended.Add(1)
		return true
	}
}
