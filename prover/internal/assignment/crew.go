package assignment

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// crew is the goroutine that solves and its helpers.
//
// Levels take microseconds, so that nobody sleeps between two of them: a helper looks at
// a word of its own for spins rounds, some 100 us, and only then sleeps until it is
// woken. There are two ways to have work done:
//   - A short level is cut into equal shares, one for each helper that is awake. Each is
//     told by its own word and answers by another, so that no two helpers write, and
//     none reads, what another one waits for. A share that its helper has not begun
//     when the others are done, since the system has no processor for it, is taken back.
//   - Longer work is an offer of many shares. Who comes takes the next; the crew waits
//     for shares, not for helpers, so that one that is late is not waited for.
//
// To wake a helper takes as long as some 20 instructions, so that it is done for levels
// that are long, and for short ones when many of them came without help.
type crew[S limbs, PS element[S]] struct {
	// offer is how many shares nobody has taken. Who takes the last one of a job may
	// find those of the next.
	offer atomic.Int64
	_     [56]byte
	// done is how many shares of the offer are solved.
	done atomic.Int64
	_    [56]byte

	do      func(w *worker[S, PS], share int) error
	workers []*worker[S, PS] // the first is the goroutine's own
	helpers []*helper
	calls   int    // helpers that may be called now
	missed  int    // instructions of short levels that sleeping helpers had no part in
	job     uint64 // the number of the job, a multiple of 4
	told    []*helper
	leave   atomic.Bool
	home    sync.WaitGroup

	failed atomic.Bool
	mu     sync.Mutex
	err    error // the first

	// later is work for all processors that was met in the level.
	later []func() error

	// weight is how many everyday instructions one of the system is worth, by the
	// terms that it has.
	weight     int
	levelShare int
	ownLevel   func(w *worker[S, PS], share int) error
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
	spins     = 20000 // of looking for a job before sleeping
	least     = 6     // instructions that are worth a share
	alone     = 24    // instructions of a level that is not shared
	few       = 7     // helpers of a short level, at most: each takes time to be told
	most      = 512   // instructions of a short level
	longest   = 2048  // instructions a share of a longer one, so that all end at the same time
	worthHelp = 2048  // instructions of a system, a helper
	worthWake = 128   // instructions of a level for which helpers are woken
	worthMiss = 1024  // instructions of short levels after which they are
	everyday  = 32    // words of an instruction of which the above is said
	breath    = 64    // jobs after which others may have the processor
)

// active is how many systems are being solved in this process: each gets its part of
// the processors.
var active atomic.Int32

// newCrew has helpers for all processors but one, for no more than tasks in all, and
// none for what one goroutine solves in less than a millisecond.
func newCrew[S limbs, PS element[S]](r *run[S, PS], tasks int) *crew[S, PS] {
	count := len(r.sys.Instructions)
	c := &crew[S, PS]{weight: 1 + len(r.sys.CallData)/max(everyday*count, 1)}
	n := min(runtime.GOMAXPROCS(0), max(tasks, 1), 1+count*c.weight/worthHelp)
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
		n := len(r.level)
		return w.list(r.level[min(share*c.levelShare, n):min((share+1)*c.levelShare, n)])
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
	for _, h := range c.helpers {
		h.rouse()
	}
	c.home.Wait()
	active.Add(-1)
	for _, w := range c.workers {
		w.wipe()
	}
}

// rouse wakes a helper that sleeps.
func (h *helper) rouse() {
	if h.asleep.Load() && h.asleep.CompareAndSwap(true, false) {
		h.wake <- struct{}{}
	}
}

// help is a helper's life. It sleeps when it finds nothing to begin with.
func (c *crew[S, PS]) help(i int) {
	h, w := c.helpers[i], c.workers[i+1]
	last, jobs := uint64(0), 0
	for rounds := spins; ; rounds++ {
		if t := h.turn.Load(); t != last {
			last, rounds = t, 0
			if t&shareOwn == 0 {
				c.take(w)
			} else {
				share := h.share
				last = t | shareBegun
				if t&shareBegun == 0 && h.turn.CompareAndSwap(t, last) {
					c.try(w, share)
				}
			}
			h.answer.Store(last)
			if jobs++; jobs%breath == 0 {
				runtime.Gosched()
			}
			continue
		}
		if c.leave.Load() {
			return
		}
		if rounds < spins {
			continue
		}
		// Either this sees the turn, or who sets it sees that this sleeps.
		h.asleep.Store(true)
		if h.turn.Load() == last && !c.leave.Load() || !h.asleep.CompareAndSwap(true, false) {
			<-h.wake
		}
		rounds = 0
	}
}

// take does shares of the offer until there are none.
func (c *crew[S, PS]) take(w *worker[S, PS]) {
	for {
		n := c.offer.Load()
		if n == 0 {
			return
		}
		if c.offer.CompareAndSwap(n, n-1) {
			c.try(w, int(n)-1)
			c.done.Add(1)
		}
	}
}

// try does a share, unless another one has failed.
func (c *crew[S, PS]) try(w *worker[S, PS], share int) {
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

// outcome is a job's error.
func (c *crew[S, PS]) outcome() error {
	if c.failed.Load() {
		return c.err
	}
	return nil
}

// wait looks until f holds.
func wait(f func() bool) {
	for rounds := 1; !f(); rounds++ {
		if rounds%spins == 0 {
			runtime.Gosched() // a helper may have no processor
		}
	}
}

// each does n shares of longer work, with all helpers that may be called.
func (c *crew[S, PS]) each(n int, do func(w *worker[S, PS], share int) error) error {
	c.do = do
	c.done.Store(0)
	c.offer.Store(int64(n))
	c.job += 4
	for _, h := range c.helpers[:max(min(c.calls, n-1), 0)] {
		h.told = c.job
		h.turn.Store(c.job)
		h.rouse()
	}
	c.take(c.workers[0])
	wait(func() bool { return c.done.Load() == int64(n) })
	return c.outcome()
}

// ranges does 0 to n-1 in shares of size, with all helpers that may be called.
func (c *crew[S, PS]) ranges(n, size int, do func(w *worker[S, PS], lo, hi int) error) error {
	return c.each((n+size-1)/size, func(w *worker[S, PS], share int) error {
		return do(w, share*size, min((share+1)*size, n))
	})
}

// shares does a level of n instructions.
func (c *crew[S, PS]) shares(n int) error {
	worth := n * c.weight
	if worth >= most && c.calls > 0 {
		c.levelShare = max(min(max(worth/(4*(c.calls+1)), least), longest)/c.weight, 1)
		return c.each((n+c.levelShare-1)/c.levelShare, c.ownLevel)
	}
	helpers := c.helpers[:max(min(c.calls, few, worth/least-1, n-1), 0)]
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
		if c.missed += worth; worth >= worthWake || c.missed >= worthMiss {
			c.missed = 0
			for _, h := range helpers {
				h.rouse()
			}
		}
	}
	if len(c.told) == 0 {
		c.levelShare = n
		return c.ownLevel(c.workers[0], 0)
	}
	c.do = c.ownLevel
	c.levelShare = (n + len(c.told)) / (len(c.told) + 1)
	c.job += 4
	turn := c.job | shareOwn
	begun := turn | shareBegun
	for i, h := range c.told {
		h.share, h.told = i+1, begun
		h.turn.Store(turn)
		h.rouse()
	}
	c.try(c.workers[0], 0)
	for i, h := range c.told {
		if h.answer.Load() == begun {
			continue
		}
		if h.turn.CompareAndSwap(turn, begun) {
			c.try(c.workers[0], i+1)
			continue
		}
		wait(func() bool { return h.answer.Load() == begun })
	}
	return c.outcome()
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
