package assignment

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// crew is the goroutine that solves and its helpers. A job is a number of shares; who
// comes for one takes it, and the goroutine that solves waits until all are done.
//
// Levels take microseconds, so that nobody sleeps between two of them: helpers look
// for a job for spins rounds, some 100 us, and only then sleep until they are called.
// Calling takes the caller as long as some 20 instructions, so that it is done for
// levels that are long, and for short ones when many of them came without help.
type crew[S limbs, PS element[S]] struct {
	// offer is the shares of the job that nobody has taken, in the low half, and how
	// many helpers may come for them.
	offer atomic.Uint64
	_     [56]byte
	// done is how many shares of the job are solved.
	done atomic.Int64
	_    [56]byte

	do      func(w *worker[S, PS], share int) error
	workers []*worker[S, PS] // the first is the goroutine's own
	helpers []*helper
	calls   int // helpers that may be called now
	missed  int // instructions of short levels that sleeping helpers had no part in
	leave   atomic.Bool
	home    sync.WaitGroup

	failed atomic.Bool
	mu     sync.Mutex
	err    error // the first

	// later is work for all processors that was met in the level.
	later []func() error

	levelShare int
	ownLevel   func(w *worker[S, PS], share int) error
}

// helper is one that waits for jobs. It sleeps on the channel: whoever takes asleep
// from true to false sends.
type helper struct {
	asleep atomic.Bool
	wake   chan struct{}
	_      [48]byte
}

const (
	spins     = 20000 // of looking for a job before sleeping
	least     = 3     // instructions that are worth a share
	worthHelp = 2048  // instructions a helper
	worthWake = 128   // instructions of a level for which helpers are called
	worthMiss = 1024  // instructions of short levels after which they are called
	longest   = 2048  // instructions a share, so that all end at the same time
)

// active is how many systems are being solved in this process: each gets its part of
// the processors.
var active atomic.Int32

// newCrew has helpers for all processors but one, for no more than tasks in all, and
// none for what one goroutine solves in less than a millisecond.
func newCrew[S limbs, PS element[S]](r *run[S, PS], tasks int) *crew[S, PS] {
	c := &crew[S, PS]{}
	n := min(runtime.GOMAXPROCS(0), max(tasks, 1), 1+len(r.sys.Instructions)/worthHelp)
	for range n {
		c.workers = append(c.workers, &worker[S, PS]{run: r})
	}
	active.Add(1)
	for range n - 1 {
		c.helpers = append(c.helpers, &helper{wake: make(chan struct{}, 1)})
	}
	for i := range c.helpers {
		c.home.Go(func() { c.help(i) })
	}
	c.ownLevel = func(w *worker[S, PS], share int) error {
		lo := share * c.levelShare
		return w.list(r.level[lo:min(lo+c.levelShare, len(r.level))])
	}
	c.share()
	return c
}

// share looks how many helpers this crew may have.
func (c *crew[S, PS]) share() {
	c.calls = min(len(c.helpers), runtime.GOMAXPROCS(0)/max(int(active.Load()), 1)-1)
}

// dismiss ends the helpers, and wipes what workers kept.
func (c *crew[S, PS]) dismiss() {
	c.leave.Store(true)
	c.call(len(c.helpers))
	c.home.Wait()
	active.Add(-1)
	for _, w := range c.workers {
		w.wipe()
	}
}

// help is a helper's life. It sleeps when it finds nothing to begin with.
func (c *crew[S, PS]) help(i int) {
	h, w := c.helpers[i], c.workers[i+1]
	for rounds := spins; ; rounds++ {
		if s := c.offer.Load(); uint32(s) != 0 && i < int(s>>32) {
			if c.offer.CompareAndSwap(s, s-1) {
				c.one(w, int(uint32(s))-1)
			}
			rounds = 0
			continue
		}
		if c.leave.Load() {
			return
		}
		if rounds < spins {
			continue
		}
		h.asleep.Store(true)
		if s := c.offer.Load(); (uint32(s) == 0 || i >= int(s>>32)) && !c.leave.Load() || !h.asleep.CompareAndSwap(true, false) {
			<-h.wake
		}
		rounds = 0
	}
}

// call wakes those of the first n helpers that sleep.
func (c *crew[S, PS]) call(n int) {
	for _, h := range c.helpers[:n] {
		if h.asleep.CompareAndSwap(true, false) {
			h.wake <- struct{}{}
		}
	}
}

// one does a share. It is done also when it fails.
func (c *crew[S, PS]) one(w *worker[S, PS], share int) {
	defer c.done.Add(1)
	if c.failed.Load() {
		return
	}
	if err := c.guarded(w, share); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.err == nil {
			c.err = err
		}
		c.failed.Store(true)
	}
}

// guarded turns a panic into an error, for gnark's solver to look at.
func (c *crew[S, PS]) guarded(w *worker[S, PS], share int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrUndecided, p)
		}
	}()
	return c.do(w, share)
}

// work does a job of n shares with at most the given number of helpers.
func (c *crew[S, PS]) work(n, helpers int, do func(w *worker[S, PS], share int) error) error {
	c.do = do
	c.done.Store(0)
	c.offer.Store(uint64(helpers)<<32 | uint64(n))
	for {
		s := c.offer.Load()
		if uint32(s) == 0 {
			break
		}
		if c.offer.CompareAndSwap(s, s-1) {
			c.one(c.workers[0], int(uint32(s))-1)
		}
	}
	for rounds := 1; c.done.Load() != int64(n); rounds++ {
		if rounds%spins == 0 {
			runtime.Gosched()
		}
	}
	if c.failed.Load() {
		return c.err
	}
	return nil
}

// each does n shares, each of them worth calling helpers for.
func (c *crew[S, PS]) each(n int, do func(w *worker[S, PS], share int) error) error {
	helpers := max(min(c.calls, n-1), 0)
	c.call(helpers)
	return c.work(n, helpers, do)
}

// shares does a level of n instructions.
func (c *crew[S, PS]) shares(n int) error {
	helpers := max(min(c.calls, n/least-1), 0)
	if helpers > 0 {
		if c.missed += n; n >= worthWake || c.missed >= worthMiss {
			c.missed = 0
			c.call(helpers)
		}
	}
	c.levelShare = n
	count := 1
	if helpers > 0 {
		c.levelShare = min(max((n+helpers)/(helpers+1), least), longest)
		count = (n + c.levelShare - 1) / c.levelShare
	}
	if count <= 1 {
		return c.ownLevel(c.workers[0], 0)
	}
	return c.work(count, helpers, c.ownLevel)
}

// put keeps work for all processors until the level's other instructions are solved.
func (c *crew[S, PS]) put(f func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.later = append(c.later, f)
}

// long does what was put.
func (c *crew[S, PS]) long() error {
	for len(c.later) > 0 {
		f := c.later[0]
		c.later = c.later[1:]
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}
