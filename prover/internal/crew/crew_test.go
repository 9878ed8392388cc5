package crew

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// TestMain has helpers even where there is one processor.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0)))
	m.Run()
}

// crews calls f with crews of all sizes.
func crews(t *testing.T, f func(t *testing.T, c *Crew)) {
	for workers := 1; workers <= 4; workers++ {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			c := New(workers)
			defer c.Dismiss()
			if c.Workers() != workers {
				t.Fatalf("%d workers", c.Workers())
			}
			f(t, c)
		})
	}
}

// counts counts what is done, and by whom at the same time.
type counts struct {
	done []atomic.Int32
	busy [8]atomic.Bool
}

func (n *counts) do(worker, lo, hi int) error {
	if n.busy[worker].Swap(true) {
		return errors.New("a worker does two things at the same time")
	}
	defer n.busy[worker].Store(false)
	for i := lo; i < hi; i++ {
		n.done[i].Add(1)
	}
	return nil
}

func (n *counts) check(t *testing.T, what string) {
	t.Helper()
	for i := range n.done {
		if k := n.done[i].Load(); k != 1 {
			t.Fatalf("%s: %d of %d is done %d times", what, i, len(n.done), k)
		}
	}
}

// TestAllIsDoneOnce: every piece of a level or a range is done once before the call
// returns, whatever was done before.
func TestAllIsDoneOnce(t *testing.T) {
	crews(t, func(t *testing.T, c *Crew) {
		r := rand.New(rand.NewPCG(5, 5))
		for range 3000 {
			n := 1 + r.IntN(1<<r.IntN(12))
			var k counts
			k.done = make([]atomic.Int32, n)
			if r.IntN(8) == 0 {
				size := 1 + r.IntN(n)
				if err := c.Ranges(n, size, k.do); err != nil {
					t.Fatal(err)
				}
				k.check(t, fmt.Sprintf("ranges of %d", size))
				continue
			}
			worth := n * (1 + r.IntN(9))
			if err := c.Level(n, worth, k.do); err != nil {
				t.Fatal(err)
			}
			k.check(t, fmt.Sprintf("a level worth %d", worth))
		}
	})
}

// TestErrors: the error of a share is that of the call, a panic is one, and neither is
// that of the next call.
func TestErrors(t *testing.T) {
	own := errors.New("no")
	crews(t, func(t *testing.T, c *Crew) {
		for range 100 {
			fail := func(_, share int) error {
				switch share {
				case 7:
					return own
				case 50:
					panic("yes")
				}
				return nil
			}
			var p *Panic
			if err := c.Each(40, fail); err != own {
				t.Fatalf("%v", err)
			}
			if err := c.Each(100, fail); err != own && !errors.As(err, &p) {
				t.Fatalf("%v", err)
			}
			if err := c.Each(1, func(_, _ int) error { panic("yes") }); !errors.As(err, &p) || p.Value != "yes" {
				t.Fatalf("%v", err)
			}
			if err := c.Each(40, func(_, _ int) error { return nil }); err != nil {
				t.Fatalf("%v after an error", err)
			}
			if err := c.Level(60, 60, func(_, lo, hi int) error {
				if lo <= 59 && 59 < hi {
					return own
				}
				return nil
			}); err != own {
				t.Fatalf("%v of a level", err)
			}
		}
	})
}

// TestBackground: a part begins when it is released and the one before has ended, a
// loose share when it is released, and all is done once when the crew finishes,
// whatever the owner does meanwhile.
func TestBackground(t *testing.T) {
	crews(t, func(t *testing.T, c *Crew) {
		r := rand.New(rand.NewPCG(6, 6))
		for range 100 {
			sizes := make([]int32, r.IntN(60))
			for i := range sizes {
				sizes[i] = 1 + r.Int32N(9)
			}
			loose := r.IntN(100)
			var parts, shares atomic.Int32 // released
			done := make([]atomic.Int32, len(sizes))
			var k counts
			k.done = make([]atomic.Int32, loose)
			c.Begin(sizes, func(_, part, share int) error {
				if part >= int(parts.Load()) {
					return errors.New("a part begins before it is released")
				}
				if part > 0 && done[part-1].Load() != sizes[part-1] {
					return errors.New("a part begins before the one before it has ended")
				}
				done[part].Add(1)
				return nil
			}, func(worker, share int) error {
				if share >= int(shares.Load()) {
					return errors.New("a loose share begins before it is released")
				}
				return k.do(worker, share, share+1)
			})
			for int(parts.Load()) < len(sizes) || int(shares.Load()) < loose {
				p, s := min(int(parts.Load())+r.IntN(8), len(sizes)), min(int(shares.Load())+r.IntN(8), loose)
				parts.Store(int32(p))
				shares.Store(int32(s))
				c.Release(p, s)
				if err := c.Level(40, 40, func(_, _, _ int) error { return nil }); err != nil {
					t.Fatal(err)
				}
				if p > 0 && r.IntN(3) == 0 {
					want := r.IntN(p + 1)
					if err := c.Await(want); err != nil {
						t.Fatal(err)
					}
					if c.Ended() < want || want > 0 && done[want-1].Load() != sizes[want-1] {
						t.Fatalf("%d parts are awaited, %d have ended", want, c.Ended())
					}
				}
			}
			if err := c.Finish(); err != nil {
				t.Fatal(err)
			}
			for i := range sizes {
				if done[i].Load() != sizes[i] {
					t.Fatalf("part %d: %d of %d shares", i, done[i].Load(), sizes[i])
				}
			}
			k.check(t, "loose")
		}
	})
}

// TestBackgroundFails: an error or a panic beside the owner is told by what waits for
// it, and not by the owner's own work.
func TestBackgroundFails(t *testing.T) {
	own := errors.New("no")
	crews(t, func(t *testing.T, c *Crew) {
		for i := range 60 {
			at := []int{0, 3, 5}[i%3]
			c.Begin([]int32{2, 2, 2, 2, 2, 2}, func(_, part, _ int) error {
				if part == at {
					if i%2 == 0 {
						panic("yes")
					}
					return own
				}
				return nil
			}, func(_, _ int) error { return nil })
			c.Release(6, 0)
			if err := c.Level(40, 40, func(_, _, _ int) error { return nil }); err != nil {
				t.Fatalf("%v of a level", err)
			}
			err := c.Await(6)
			if p := (*Panic)(nil); i%2 == 0 && !errors.As(err, &p) || i%2 == 1 && err != own {
				t.Fatalf("%v", err)
			}
		}
	})
}

// TestDismissInTheMiddle: nothing is done any more when Dismiss has returned, and no
// goroutine stays.
func TestDismissInTheMiddle(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 50 {
		c := New(4)
		var gone atomic.Bool
		var late atomic.Int32
		c.Begin(slices.Repeat([]int32{3}, 5000), func(_, _, _ int) error {
			if gone.Load() {
				late.Add(1)
			}
			return nil
		}, nil)
		c.Release(5000, 0)
		c.Dismiss()
		gone.Store(true)
		runtime.Gosched()
		if n := late.Load(); n > 0 {
			t.Fatalf("%d shares after the end", n)
		}
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, before %d", runtime.NumGoroutine(), before)
}

// TestCrewsShareProcessors: two crews have no more helpers than there are processors.
func TestCrewsShareProcessors(t *testing.T) {
	a := New(runtime.GOMAXPROCS(0))
	defer a.Dismiss()
	alone := a.calls.Load()
	b := New(runtime.GOMAXPROCS(0))
	a.Share()
	if n := 2 + a.calls.Load() + b.calls.Load(); int(n) > runtime.GOMAXPROCS(0) || n <= 2 {
		t.Errorf("%d workers for %d processors", n, runtime.GOMAXPROCS(0))
	}
	b.Dismiss()
	a.Share()
	if a.calls.Load() != alone {
		t.Errorf("%d helpers when the other crew has gone, %d before it came", a.calls.Load(), alone)
	}
}
