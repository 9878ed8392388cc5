package msmplan

import (
	"math"
	"sync"
)

// Cache keeps plans for use in later calls. How much memory is free changes from call to
// call, so a plan serves every call in whose memory it is the cheapest. The zero value is
// ready for use; the methods may be called concurrently.
type Cache struct {
	mu   sync.Mutex
	kept map[Input]*cached // by inputs of which Memory is 0
}

// cached is what is kept for inputs that differ in their memory only.
type cached struct {
	best *Plan // in any amount of memory

	// limited is the best plan in made bytes, where best needs more; nil when there is none.
	limited *Plan
	made    int64
}

// mostCached bounds the inputs that plans are kept for.
const mostCached = 256

// Plan returns what New returns for the input, from the cache where it can.
func (c *Cache) Plan(in Input) (*Plan, error) {
	key := in
	key.Memory = 0
	c.mu.Lock()
	entry, ok := c.kept[key]
	if ok {
		if p := entry.fits(in.Memory); p != nil {
			c.mu.Unlock()
			return p, nil
		}
	}
	c.mu.Unlock()

	// Nobody waits for the lock while a plan is made: two calls may make the same one.
	if !ok {
		unlimited := in
		unlimited.Memory = math.MaxInt64
		best, err := New(unlimited)
		if err != nil {
			return nil, err // beyond what kernels can do, in any memory
		}
		entry = &cached{best: best}
		c.keep(key, entry)
		if best.Need() <= in.Memory {
			return best, nil
		}
	}
	p, err := New(in)
	if err != nil {
		return nil, err
	}
	c.keep(key, &cached{best: entry.best, limited: p, made: in.Memory})
	return p, nil
}

// fits returns the cheapest plan for so much memory, nil when it is not known.
func (e *cached) fits(memory int64) *Plan {
	switch {
	case e.best.Need() <= memory:
		return e.best
	case e.limited != nil && e.limited.Need() <= memory && memory <= e.made:
		return e.limited
	}
	return nil
}

// keep replaces what is kept for an input.
func (c *Cache) keep(key Input, entry *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= mostCached {
		c.kept = make(map[Input]*cached)
	}
	c.kept[key] = entry
}

// Len returns how many inputs there are plans for, which differ in more than their memory.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.kept)
}

// Clear forgets all plans.
func (c *Cache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = nil
}
