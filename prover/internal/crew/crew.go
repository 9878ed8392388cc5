// Package crew shares short work among goroutines that look for it instead of sleeping.
//
// A crew is the goroutine that made it, its owner, and helpers. Only the owner calls the
// methods. There are three ways to have work done:
//   - Level cuts short work, of microseconds, into equal shares, one for each helper that
//     is awake. Each helper is told by its own word and answers by another, so that no
//     two helpers write, and none reads, what another one waits for. The owner takes back
//     a share that its helper has not begun when the others are done: the system may
//     have no processor for that helper.
//   - Each offers longer work in many shares. Whoever comes takes the next. The owner
//     waits for shares, not for helpers, so that nobody waits for one that is late.
//   - A Background is work beside the owner's. The owner releases it bit by bit, and
//     awaits it when it needs what was to be done.
//
// A helper looks for work for some 100 us before it sleeps. To wake one takes the owner as
// long as some 20 everyday pieces of work, so that it is done for work that is worth it.
// An owner that waits for a helper looks for as long, and then sleeps between looks, for
// at most an eighth of the time that it has waited.
package crew

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Crew is an owner, worker 0, and its helpers, workers 1 and up.
type Crew struct {
	// offer is how many shares nobody has taken. Who takes the last one of a job may
	// find those of the next.
	offer atomic.Int64
	_     [56]byte
	// done is how many shares of the offer are done.
	done atomic.Int64
	_    [56]byte

	job   func(worker, share int) error // of Each and Level
	level func(worker, lo, hi int) error
	own   func(worker, share int) error // ofLevel
	n     int                           // of the level
	size  int                           // of its shares

	helpers []*helper
	calls   atomic.Int32 // helpers that may be called now
	waits   atomic.Bool  // whether the owner waits for the background
	alone   atomic.Bool  // whether the owner does what comes by itself
	missed  int          // pieces of short work that sleeping helpers had no part in
	jobs    uint64       // the number of the job, a multiple of 4
	told    []*helper
	leave   atomic.Bool
	home    sync.WaitGroup
	fault   fault       // of the job
	exited  atomic.Bool // a share ended its goroutine: nobody waits any more

	background atomic.Pointer[Background]
}

// fault keeps the first error.
type fault struct {
	failed atomic.Bool
	mu     sync.Mutex
	err    error
}

func (f *fault) keep(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
	f.failed.Store(true)
}

func (f *fault) first() error {
	if !f.failed.Load() {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// clear forgets the error of a job that has ended.
func (f *fault) clear() {
	if f.failed.Load() {
		f.err = nil
		f.failed.Store(false)
	}
}

// helper is one that waits for jobs. It sleeps on the channel: whoever takes asleep
// from true to false sends.
type helper struct {
	// turn is the job, plus shareOwn for a share of its own, plus shareBegun when somebody
	// has begun with that.
	turn  atomic.Uint64
	share int
	_     [48]byte
	// answer is the last turn that it has seen to its end, told the last that it got.
	answer atomic.Uint64
	told   uint64
	_      [48]byte
	asleep atomic.Bool
	wake   chan struct{}
	_      [48]byte
}

// The low bits of a turn.
const (
	shareOwn   = 1
	shareBegun = 2
)

const (
	spins     = 20000 // looks before sleeping
	least     = 6     // everyday pieces of short work that are worth a share
	few       = 7     // helpers of short work, at most: each takes time to be told
	most      = 512   // pieces of short work
	many      = 32    // parts into which longer work can be cut, at least
	longest   = 2048  // pieces a share of longer work, so that all end at the same time
	worthWake = 128   // pieces of short work for which helpers are woken
	worthMiss = 1024  // pieces of short work after which they are
	breath    = 64    // jobs after which other goroutines may have the processor
	pause     = 16    // jobs after which other threads may, those of a plugin too
)

// Alone is how many everyday pieces of short work are not worth sharing.
const Alone = 24

// active is how many crews there are in this process: each gets its part of the
// processors.
var active atomic.Int32

// New starts a crew of so many workers, the owner included, but of no more than there
// are processors. Dismiss ends it.
func New(workers int) *Crew {
	c := new(Crew)
	c.own = c.ofLevel
	active.Add(1)
	for range min(workers, runtime.GOMAXPROCS(0)) - 1 {
		c.helpers = append(c.helpers, &helper{wake: make(chan struct{}, 1)})
	}
	c.Share()
	for i := range c.helpers {
		c.home.Go(func() { c.help(i) })
	}
	return c
}

// Workers returns how many workers there are.
func (c *Crew) Workers() int { return 1 + len(c.helpers) }

// Share decides how many helpers the crew may have from now on.
func (c *Crew) Share() {
	n := int32(max(min(len(c.helpers), runtime.GOMAXPROCS(0)/max(int(active.Load()), 1)-1), 0))
	if c.calls.Load() != n {
		c.calls.Store(n)
	}
}

// Dismiss ends the helpers. None of them does anything when it returns; what of a
// background they had not begun stays undone.
func (c *Crew) Dismiss() {
	c.leave.Store(true)
	for _, h := range c.helpers {
		h.rouse()
	}
	c.home.Wait()
	active.Add(-1)
}

// rouse wakes a helper, and tells whether it slept.
func (h *helper) rouse() bool {
	if h.asleep.Load() && h.asleep.CompareAndSwap(true, false) {
		h.wake <- struct{}{}
		return true
	}
	return false
}

// help lives a helper's life. It sleeps when it finds nothing to begin with.
func (c *Crew) help(i int) {
	h, worker := c.helpers[i], i+1
	last, jobs, woken := uint64(0), 0, false
	for rounds := spins; !c.leave.Load(); rounds++ {
		if t := h.turn.Load(); t != last {
			last, rounds = t, 0
			if t&shareOwn == 0 {
				c.take(worker)
			} else {
				share := h.share
				last = t | shareBegun
				if t&shareBegun == 0 && h.turn.CompareAndSwap(t, last) {
					c.try(worker, share)
				}
			}
			h.answer.Store(last)
		} else if b := c.beside(i); b != nil && b.aside(worker) {
			rounds = 0
			if woken && b.any() {
				c.call()
			}
		} else {
			if rounds >= spins {
				woken = c.sleep(h, i, last)
				rounds = 0
			}
			continue
		}
		woken = false
		if jobs++; jobs%breath == 0 {
			runtime.Gosched()
		}
		if jobs%pause == 0 {
			yield()
		}
	}
}

// sleep sleeps until the helper is woken. Either it sees the work, or who makes it sees
// that the helper sleeps.
func (c *Crew) sleep(h *helper, i int, last uint64) (woken bool) {
	h.asleep.Store(true)
	b := c.beside(i)
	work := h.turn.Load() != last || c.leave.Load() || b != nil && b.any()
	if work && h.asleep.CompareAndSwap(true, false) {
		return false
	}
	<-h.wake
	return true
}

// near returns how many helpers do nothing of the background while the owner does work of its
// own, so that they have time for that.
func (c *Crew) near() int { return min(int(c.calls.Load())/2, few) }

// beside returns the background if helper i may do some of it now, or nil.
func (c *Crew) beside(i int) *Background {
	if i >= int(c.calls.Load()) || i < c.near() && !c.waits.Load() && !c.alone.Load() {
		return nil
	}
	return c.background.Load()
}

// Alone tells whether the owner does what comes by itself, so that all helpers have time for
// the background.
func (c *Crew) Alone(yes bool) {
	if c.alone.Load() != yes {
		c.alone.Store(yes)
	}
}

// call wakes a helper for the background that sleeps, if there is one.
func (c *Crew) call() {
	first := c.near()
	if c.alone.Load() {
		first = 0
	}
	for _, h := range c.helpers[first:c.calls.Load()] {
		if h.rouse() {
			return
		}
	}
}

// take does shares of the offer until there are none.
func (c *Crew) take(worker int) {
	for {
		n := c.offer.Load()
		if n == 0 {
			return
		}
		if c.offer.CompareAndSwap(n, n-1) {
			c.try(worker, int(n)-1)
			c.done.Add(1)
		}
	}
}

// try does a share of the job, unless another one has failed.
func (c *Crew) try(worker, share int) {
	if c.fault.failed.Load() {
		return
	}
	if err := guarded(&c.exited, &c.fault, c.job, worker, share); err != nil {
		c.fault.keep(err)
	}
}

// Panic is the error of work that panicked.
type Panic struct{ Value any }

func (p *Panic) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// ErrExited is the error of work that ended its goroutine (runtime.Goexit). The goroutine cannot be kept, and if it is
// the owner's, the owner is told by nobody. The crew does nothing more: it is to be dismissed.
var ErrExited = errors.New("a goroutine was ended by its work")

// guarded turns a panic into an error, and notes that the work ends its goroutine.
func guarded(exited *atomic.Bool, f *fault, do func(worker, share int) error, worker, share int) (err error) {
	returned := false
	defer func() {
		if p := recover(); p != nil {
			err = &Panic{p}
		} else if !returned {
			f.keep(ErrExited) // no further share is begun
			exited.Store(true)
		}
	}()
	err = do(worker, share)
	returned = true
	return err
}

// first returns the first error of a fault, or that a goroutine was ended.
func (c *Crew) first(f *fault) error {
	if c.exited.Load() {
		return ErrExited
	}
	return f.first()
}

// wait looks until f holds, or nobody is to wait any more.
func (c *Crew) wait(f func() bool) {
	var since time.Time
	for rounds := 1; !f() && !c.exited.Load(); rounds++ {
		if rounds%spins != 0 && since.IsZero() {
			continue
		}
		if since.IsZero() {
			since = time.Now()
			runtime.Gosched() // a helper may have no processor
			continue
		}
		time.Sleep(min(time.Since(since)/8, time.Millisecond))
	}
}

// Each does n shares of longer work, with all helpers that may be called, and returns
// the first error. After an error it leaves out the shares that were not begun.
func (c *Crew) Each(n int, do func(worker, share int) error) error {
	c.fault.clear()
	c.job = do
	c.done.Store(0)
	c.offer.Store(int64(n))
	c.jobs += 4
	for _, h := range c.helpers[:max(min(int(c.calls.Load()), n-1), 0)] {
		h.told = c.jobs
		h.turn.Store(c.jobs)
		h.rouse()
	}
	c.take(0)
	c.wait(func() bool { return c.done.Load() == int64(n) })
	return c.first(&c.fault)
}

// Ranges does 0 to n-1 in shares of size, as Each does.
func (c *Crew) Ranges(n, size int, do func(worker, lo, hi int) error) error {
	return c.Each((n+size-1)/size, func(worker, share int) error {
		return do(worker, share*size, min((share+1)*size, n))
	})
}

// Level does 0 to n-1, in all worth so many everyday pieces, of a tenth of a microsecond.
// It shares short work, offers longer work, and returns the first error.
func (c *Crew) Level(n, all int, do func(worker, lo, hi int) error) error {
	calls := int(c.calls.Load())
	if all < Alone {
		return do(0, 0, n)
	}
	if all >= most && n >= many && calls > 0 {
		return c.Ranges(n, max(min(max(all/(4*(calls+1)), least), longest)*n/all, 1), do)
	}
	told := few
	if b := c.background.Load(); b != nil && b.any() && c.near() > 0 {
		told = c.near()
	}
	helpers := c.helpers[:max(min(calls, told, all/least-1, n-1), 0)]
	c.told = c.told[:0]
	asleep := false
	for _, h := range helpers {
		if h.asleep.Load() {
			asleep = true
			continue
		}
		if h.answer.Load() == h.told { // else it has no processor
			c.told = append(c.told, h)
		}
	}
	if asleep {
		if c.missed += all; all >= worthWake || c.missed >= worthMiss {
			c.missed = 0
			for _, h := range helpers {
				h.rouse()
			}
		}
	}
	if len(c.told) == 0 {
		return do(0, 0, n)
	}
	return c.shares(n, do)
}

// shares does short work with the helpers that are to be told.
func (c *Crew) shares(n int, do func(worker, lo, hi int) error) error {
	c.fault.clear()
	c.level, c.n, c.size = do, n, (n+len(c.told))/(len(c.told)+1)
	c.job = c.own
	c.jobs += 4
	turn := c.jobs | shareOwn
	begun := turn | shareBegun
	for i, h := range c.told {
		h.share, h.told = i+1, begun
		h.turn.Store(turn)
		h.rouse()
	}
	c.try(0, 0)
	for i, h := range c.told {
		if h.answer.Load() == begun {
			continue
		}
		if h.turn.CompareAndSwap(turn, begun) {
			c.try(0, i+1)
			continue
		}
		c.wait(func() bool { return h.answer.Load() == begun })
	}
	return c.first(&c.fault)
}

func (c *Crew) ofLevel(worker, share int) error {
	return c.level(worker, min(share*c.size, c.n), min((share+1)*c.size, c.n))
}
