package crew

import "sync/atomic"

// Background is work beside the owner's. It has parts, each of one or more shares: a
// part begins when the one before it has ended. And it has loose shares, which depend on
// nothing and are done when there is nothing else to do. Neither begins before it is
// released.
type Background struct {
	// state is the part that is being done, and in the low half how many of its shares
	// are taken.
	state atomic.Uint64
	done  atomic.Int32 // shares of that part
	_     [48]byte

	taken atomic.Int64 // loose shares
	_     [56]byte
	ended atomic.Int64 // loose shares
	_     [56]byte

	parts atomic.Int32 // released
	loose atomic.Int64 // released
	fault fault

	sizes   []int32
	doPart  func(worker, part, share int) error
	doLoose func(worker, share int) error
}

// Begin gives the crew a background whose parts have so many shares each. An earlier one
// has ended.
func (c *Crew) Begin(sizes []int32, part func(worker, part, share int) error, loose func(worker, share int) error) {
	c.background.Store(&Background{sizes: sizes, doPart: part, doLoose: loose})
}

// Release lets the first so many parts and loose shares begin. Both numbers only grow.
func (c *Crew) Release(parts, loose int) {
	b := c.background.Load()
	b.loose.Store(int64(loose))
	b.parts.Store(int32(parts))
	if b.any() {
		c.call()
	}
}

// Ended returns how many parts have ended.
func (c *Crew) Ended() int { return int(c.background.Load().state.Load() >> 32) }

// Await returns when the first so many parts, which were released, have ended, with the
// first error of the background if there is one. The owner takes part. Without helpers
// it does all that was released.
func (c *Crew) Await(parts int) error {
	b := c.background.Load()
	if c.calls.Load() == 0 {
		for b.aside(0) {
		}
	}
	if c.Ended() < parts {
		c.waits.Store(true)
		wait(func() bool {
			for c.Ended() < parts && b.chained(0) {
			}
			return c.Ended() >= parts
		})
		c.waits.Store(false)
	}
	return b.fault.first()
}

// Finish returns when all that was released has ended, with the first error.
func (c *Crew) Finish() error {
	b := c.background.Load()
	c.waits.Store(true)
	defer c.waits.Store(false)
	for _, h := range c.helpers[:c.near()] {
		h.rouse()
	}
	wait(func() bool {
		for b.aside(0) {
		}
		return c.Ended() >= int(b.parts.Load()) && b.ended.Load() == b.loose.Load()
	})
	return b.fault.first()
}

// aside does a share, if there is one to begin with.
func (b *Background) aside(worker int) bool { return b.chained(worker) || b.unchained(worker) }

// any tells whether there is a share to begin with.
func (b *Background) any() bool {
	s := b.state.Load()
	part := int32(s >> 32)
	return part < b.parts.Load() && int32(uint32(s)) < b.sizes[part] || b.taken.Load() < b.loose.Load()
}

// chained does a share of the part in turn.
func (b *Background) chained(worker int) bool {
	for {
		s := b.state.Load()
		part, share := int32(s>>32), int32(uint32(s))
		if part >= b.parts.Load() || share == b.sizes[part] {
			return false
		}
		if !b.state.CompareAndSwap(s, s+1) {
			continue
		}
		if !b.fault.failed.Load() {
			if err := guardedPart(b.doPart, worker, int(part), int(share)); err != nil {
				b.fault.keep(err)
			}
		}
		if b.done.Add(1) == b.sizes[part] {
			b.done.Store(0)
			b.state.Store(uint64(part+1) << 32)
		}
		return true
	}
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
			if err := guarded(b.doLoose, worker, int(n)); err != nil {
				b.fault.keep(err)
			}
		}
		b.ended.Add(1)
		return true
	}
}

func guardedPart(do func(worker, part, share int) error, worker, part, share int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Panic{p}
		}
	}()
	return do(worker, part, share)
}
