package shm

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/pippin-zk/pippin/backend"
)

// CounterSize is the room of a counter: a cache line of its own.
const CounterSize = 64

// poison is the value of a counter whose writer gave up.
const poison = math.MaxUint64

// Counter tells another process how many bytes are written. One goroutine
// may set it at a time.
type Counter struct {
	region *Region
	offset int // in the region
}

// Set publishes that n bytes, and everything written before, may be read.
func (c *Counter) Set(n int) { c.publish(uint64(n)) }

// Poison tells the reader that no more will come. It is final.
func (c *Counter) Poison() { c.publish(poison) }

func (c *Counter) publish(v uint64) {
	word(c.bytes()).Store(v)
	futexWake(half(c.bytes()))
}

// Region returns what the counter lies in; Arena and Offset say where the other
// process finds it.
func (c *Counter) Region() *Region { return c.region }

// Arena returns the region's arena.
func (c *Counter) Arena() *Arena { return c.region.Arena() }

// Offset returns the counter's place in its arena.
func (c *Counter) Offset() int { return c.region.Offset() + c.offset }

func (c *Counter) bytes() []byte { return c.region.Bytes()[c.offset:] }

// counterBudget is enough for 131072 counters.
const counterBudget = 8 << 20

// Counters hands out counters from pages of a pool of its own, and keeps the
// pages: among scalars they would pin the arenas that these want to give up.
type Counters struct {
	pool  *Pool
	mu    sync.Mutex
	free  []*Counter
	pages []*Region
}

// NewCounters makes an empty set.
func NewCounters() *Counters {
	return &Counters{pool: NewPool(PoolOptions{Budget: counterBudget, MaxArenas: 4, Public: true})}
}

// Acquire hands out n counters, all zero.
func (s *Counters) Acquire(ctx context.Context, n int) ([]*Counter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.free) < n {
		page, err := s.pool.Keep(ctx, PageSize)
		if err != nil {
			return nil, err
		}
		s.pages = append(s.pages, page)
		for at := 0; at < PageSize; at += CounterSize {
			s.free = append(s.free, &Counter{region: page, offset: at})
		}
	}
	got := append([]*Counter(nil), s.free[len(s.free)-n:]...)
	s.free = s.free[:len(s.free)-n]
	for _, c := range got {
		c.Set(0)
	}
	return got, nil
}

// Release takes counters back that no process reads any more.
func (s *Counters) Release(cs []*Counter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, cs...)
}

// Close gives the memory up. All counters must be released.
func (s *Counters) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pages {
		p.Release()
	}
	s.pages, s.free = nil, nil
	s.pool.Close()
}

// Waiting for a counter: a few looks at once, then sleeps from which its writer wakes
// the reader.
const (
	spins = 64
	// relook is after how long a sleeper looks again by itself: it sleeps at half of
	// the counter, which 2^32 bytes at once would not change.
	relook = 250 * time.Millisecond
	// mostWakes is how many changes that were not enough are looked at one by one.
	// From then on there is a pause after each, so that a writer who changes the
	// counter all the time does not keep a processor busy here.
	mostWakes = 256
	wakePause = time.Millisecond
	// mostPause bounds the pauses of those who find no room to sleep in the kernel.
	mostPause = 50 * time.Millisecond
)

// Waiters bounds how many goroutines sleep in the kernel for counters, in a thread
// each. Those for whom there is no room look again and again, at pauses of 1 to 50 ms.
// The methods may be called concurrently.
type Waiters struct{ room *semaphore.Weighted }

// NewWaiters has room for n.
func NewWaiters(n int) *Waiters { return &Waiters{semaphore.NewWeighted(int64(n))} }

// Wait blocks until the counter in the first 8 bytes of b says that need of total
// bytes are written. A poisoned counter is context.Canceled, a value above total
// backend.ErrInternal: a writer that breaks the protocol.
func (l *Waiters) Wait(ctx context.Context, b []byte, need, total int) error {
	w := word(b)
	// look tells whether the wait is over.
	look := func() (v uint64, over bool, err error) {
		v = w.Load()
		switch {
		case v == poison:
			err = fmt.Errorf("%w: the host gave up writing the scalars", context.Canceled)
		case v > uint64(total):
			err = fmt.Errorf("%w: progress of %d in %d bytes", backend.ErrInternal, v, total)
		case v < uint64(need):
			err = backend.Ended(ctx)
			return v, err != nil, err
		}
		return v, true, err
	}
	for range spins {
		if _, over, err := look(); over {
			return err
		}
	}
	for pause := time.Millisecond; !l.room.TryAcquire(1); pause = min(2*pause, mostPause) {
		SleepUntil(ctx, pause)
		if _, over, err := look(); over {
			return err
		}
	}
	defer l.room.Release(1)
	defer wokenAtEnd(ctx, half(b))()
	for wakes := 0; ; wakes++ {
		v, over, err := look()
		if over {
			return err
		}
		if wakes > mostWakes {
			SleepUntil(ctx, wakePause)
		}
		futexWait(half(b), uint32(v), relook)
	}
}

// SleepUntil sleeps for d, or until ctx ends.
func SleepUntil(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
