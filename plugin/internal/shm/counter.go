package shm

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

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

// Region is what the counter lies in; Arena and Offset say where the other
// process finds it.
func (c *Counter) Region() *Region { return c.region }

// Arena is the region's arena.
func (c *Counter) Arena() *Arena { return c.region.Arena() }

// Offset is the counter's place in its arena.
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

// Waiting for a counter: a few looks at once, then sleeps that double, from which
// its writer wakes the reader.
const (
	spins    = 64
	minSleep = 5 * time.Microsecond
	maxSleep = 100 * time.Microsecond
)

// WaitCounter blocks until the counter in the first 8 bytes of b says that
// need of total bytes are written. A poisoned counter is context.Canceled, a
// value above total backend.ErrInternal: a writer that breaks the protocol.
func WaitCounter(ctx context.Context, b []byte, need, total int) error {
	w := word(b)
	sleep := minSleep
	for tries := 0; ; tries++ {
		v := w.Load()
		switch {
		case v == poison:
			return fmt.Errorf("%w: the host gave up writing the scalars", context.Canceled)
		case v > uint64(total):
			return fmt.Errorf("%w: progress of %d in %d bytes", backend.ErrInternal, v, total)
		case v >= uint64(need):
			return nil
		}
		if err := backend.Ended(ctx); err != nil {
			return err
		}
		if tries < spins {
			continue
		}
		futexWait(half(b), uint32(v), sleep)
		sleep = min(2*sleep, maxSleep)
	}
}
