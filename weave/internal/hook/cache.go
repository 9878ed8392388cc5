package hook

import (
	"context"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/msm"
)

// state says where the bases of an MSM came from.
type state string

const (
	once     state = "once"     // loaded for this call only
	loaded   state = "loaded"   // loaded, and resident from now on
	resident state = "resident" // were there already
)

// memory is points of one group in memory.
type memory struct {
	group  any // the *msm.Group
	lo, hi uintptr
}

// holds reports whether m has all points of o, whole points apart.
func (m memory) holds(o memory, size uintptr) bool {
	return m.group == o.group && m.lo <= o.lo && o.hi <= m.hi && (o.lo-m.lo)%size == 0
}

// entry is resident bases.
//
// Hashes of its blocks tell what their memory held when they were loaded. The program may
// have changed that memory since, or given it back and put something else there. So a call
// hashes the memory that it brings before it uses bases for it, and memory is read only
// during the call that brings it. The engine reads what an entry is loaded from once. Bases
// that are lost with their backend are loaded again by the next call that wants them, from
// the memory that it brings.
type entry struct {
	memory
	bytes []byte // keeps a slice of Go's from being collected
	sums  []uint64

	ready chan struct{} // closed when bases or err is set
	bases io.Closer     // a *msm.Bases
	err   error

	// Under cache.mu:
	uses int
	last time.Time
	gone bool // out of the cache: closed with its last use
}

// cache keeps bases resident that were seen before, up to a limit. What is seen
// for the first time is only noted: many bases are used once.
type cache struct {
	limit int64
	idle  time.Duration

	// full is set when the backend ran out of memory.
	full atomic.Bool

	mu      sync.Mutex
	entries []*entry
	size    int64
	seen    noted
	timer   *time.Timer // runs while there are entries
	closed  bool
}

func (c *cache) init(limit int64, idle time.Duration) { c.limit, c.idle = limit, idle }

// held is points as bases, for one call.
type held[P, S any] struct {
	*msm.Bases[P, S]
	state
	cache *cache
	entry *entry // nil where nothing is kept
}

// end gives up the bases after the call.
func (h *held[P, S]) end() {
	if h.entry == nil {
		_ = h.Close() // whatever a backend says to this, it will not be asked again
	} else {
		h.cache.release(h.entry)
	}
}

// acquire makes points usable as bases.
func acquire[P, S any](e *opened, g *msm.Group[P, S], points []P) (*held[P, S], error) {
	c := &e.cache
	raw := layout.Bytes(points)
	if int64(len(raw)) > c.limit {
		return loadOnce(e, g, points)
	}
	m := memory{group: g}
	m.lo, m.hi = layout.Range(points)
	size := (m.hi - m.lo) / uintptr(len(points))

	if h := lookUp[P, S](c, m, size); h != nil {
		return h, nil
	}
	n := &entry{memory: m, bytes: raw, ready: make(chan struct{}), uses: 1}
	n.sums = n.hash()
	for {
		switch c.enter(n, size) {
		case entered:
			b, err := g.Load(context.Background(), e.Engine, points, msm.ReadOnce())
			if n.err = err; err == nil {
				n.bases = b
			}
			close(n.ready)
			if err != nil {
				c.drop(n)
				c.release(n)
				return nil, err
			}
			return &held[P, S]{b, loaded, c, n}, nil
		case first:
			return loadOnce(e, g, points)
		case there: // another call loaded them meanwhile
			if h := lookUp[P, S](c, m, size); h != nil {
				return h, nil
			}
		}
	}
}

// loadOnce loads bases for one call.
func loadOnce[P, S any](e *opened, g *msm.Group[P, S], points []P) (*held[P, S], error) {
	b, err := g.Load(context.Background(), e.Engine, points, msm.Multiples(1))
	if err != nil {
		return nil, err
	}
	return &held[P, S]{Bases: b, state: once}, nil
}

// lookUp finds resident bases that are still what m holds.
func lookUp[P, S any](c *cache, m memory, size uintptr) *held[P, S] {
	for {
		n := c.find(m, size)
		if n == nil {
			return nil
		}
		<-n.ready
		if n.err == nil && n.unchanged(m) {
			at := int((m.lo - n.lo) / size)
			b, err := n.bases.(*msm.Bases[P, S]).Slice(at, at+int((m.hi-m.lo)/size))
			if err == nil {
				return &held[P, S]{b, resident, c, n}
			}
		}
		c.drop(n)
		c.release(n)
	}
}

// find looks for an entry and counts a use of it.
func (c *cache) find(m memory, size uintptr) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.entries {
		if n.holds(m, size) {
			n.uses++
			n.last = time.Now()
			return n
		}
	}
	return nil
}

// outcome of enter.
type outcome int

const (
	entered outcome = iota // the entry is in the cache, to be loaded now
	first                  // the points were not seen before
	there                  // another entry has them
)

// enter puts an entry for points seen before into the cache, and what it makes
// superfluous or has no room out.
func (c *cache) enter(n *entry, size uintptr) outcome {
	c.mu.Lock()
	for _, o := range c.entries {
		if o.holds(n.memory, size) {
			c.mu.Unlock()
			return there
		}
	}
	if c.closed || !c.seen.before(note{n.memory, sum(n.sums)}) {
		c.mu.Unlock()
		return first
	}
	for _, o := range c.entries {
		if n.holds(o.memory, size) {
			c.removeLocked(o)
		}
	}
	for c.size > 0 && c.size+int64(len(n.bytes)) > c.limit {
		c.removeLocked(c.oldestLocked())
	}
	n.last = time.Now()
	c.entries = append(c.entries, n)
	c.size += int64(len(n.bytes))
	if c.timer == nil {
		c.timer = time.AfterFunc(c.idle, c.expire)
	}
	closing := c.unusedLocked()
	c.mu.Unlock()
	closeAll(closing)
	return entered
}

// removeLocked takes an entry out. Those without uses are to be closed
// by the caller.
func (c *cache) removeLocked(n *entry) {
	if !n.gone {
		n.gone = true
		c.size -= int64(len(n.bytes))
	}
}

// unusedLocked drops the removed entries from the list and answers those that nobody
// uses. Those in use are closed by release.
func (c *cache) unusedLocked() (closing []*entry) {
	kept := c.entries[:0]
	for _, n := range c.entries {
		switch {
		case !n.gone:
			kept = append(kept, n)
		case n.uses == 0:
			closing = append(closing, n)
		}
	}
	clear(c.entries[len(kept):])
	c.entries = kept
	return closing
}

// oldestLocked returns the entry used least recently of those still in. There
// is one.
func (c *cache) oldestLocked() (oldest *entry) {
	for _, n := range c.entries {
		if !n.gone && (oldest == nil || n.last.Before(oldest.last)) {
			oldest = n
		}
	}
	return oldest
}

// evict has choose remove entries, mu being held, and closes those that nobody
// uses.
func (c *cache) evict(choose func()) {
	c.mu.Lock()
	choose()
	closing := c.unusedLocked()
	c.mu.Unlock()
	closeAll(closing)
}

// drop removes an entry, which the caller uses.
func (c *cache) drop(n *entry) { c.evict(func() { c.removeLocked(n) }) }

// lost removes an entry that was lost with its backend, and with it those that
// were entered before: the backend had them too.
func (c *cache) lost(n *entry) {
	c.evict(func() {
		if at := slices.Index(c.entries, n); at >= 0 {
			for _, o := range c.entries[:at+1] {
				c.removeLocked(o)
			}
		}
	})
}

// release ends a use.
func (c *cache) release(n *entry) {
	c.mu.Lock()
	n.uses--
	n.last = time.Now()
	end := n.gone && n.uses == 0
	c.mu.Unlock()
	if end {
		closeAll([]*entry{n})
	}
}

func closeAll(entries []*entry) {
	for _, n := range entries {
		if n.bases != nil {
			_ = n.bases.Close() // as above
		}
	}
}

// expire removes what was not used for long.
func (c *cache) expire() {
	c.mu.Lock()
	for _, n := range c.entries {
		if n.uses == 0 && time.Since(n.last) >= c.idle {
			c.removeLocked(n)
		}
	}
	closing := c.unusedLocked()
	if len(c.entries) > 0 && !c.closed {
		c.timer.Reset(c.idle / 2)
	} else {
		c.timer = nil
	}
	c.mu.Unlock()
	closeAll(closing)
}

// shrink removes entries until half of the bytes are left, but for the last
// one used: a backend has no room for all of them.
func (c *cache) shrink() {
	c.evict(func() {
		half := c.size / 2
		for left := len(c.entries); left > 1 && c.size > half; left-- {
			c.removeLocked(c.oldestLocked())
		}
	})
}

// close removes everything, and keeps nothing from then on.
func (c *cache) close() {
	c.evict(func() {
		c.closed = true
		for _, n := range c.entries {
			c.removeLocked(n)
		}
	})
}
