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

// chain returns parts of so many shares that follow each other.
func chain(parts, shares int) []Part {
	all := make([]Part, parts)
	for i := range all {
		all[i].Shares = shares
		if i > 0 {
			all[i].Reads, all[i-1].Then = 1, []int32{int32(i)}
		}
	}
	return all
}

// upTo returns the numbers below n.
func upTo(n int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// drawParts draws parts that wait for some of the few before them, and says for which.
func drawParts(r *rand.Rand) (parts []Part, reads [][]int) {
	parts, reads = make([]Part, r.IntN(200)), make([][]int, 200)
	for i := range parts {
		parts[i].Shares = 1 + r.IntN(1<<r.IntN(4))
		for k := max(i-1-r.IntN(70), 0); k < i; k++ {
			if r.IntN(12) == 0 {
				parts[k].Then = append(parts[k].Then, int32(i))
				parts[i].Reads++
				reads[i] = append(reads[i], k)
			}
		}
	}
	return parts, reads
}

// TestBackground: a part begins when it is released and those that it reads have ended, a
// loose share when it is released, and all is done once when the crew finishes,
// whatever the owner does meanwhile.
func TestBackground(t *testing.T) {
	crews(t, func(t *testing.T, c *Crew) {
		r := rand.New(rand.NewPCG(6, 6))
		for range 100 {
			parts, reads := drawParts(r)
			loose := r.IntN(100)
			released := make([]atomic.Bool, len(parts))
			done := make([]atomic.Int32, len(parts))
			var shares atomic.Int32 // released
			var k counts
			k.done = make([]atomic.Int32, loose)
			c.Begin(parts, func(_, part, share int) error {
				if !released[part].Load() {
					return errors.New("a part begins before it is released")
				}
				for _, i := range reads[part] {
					if int(done[i].Load()) != parts[i].Shares {
						return errors.New("a part begins before one that it reads has ended")
					}
				}
				done[part].Add(1)
				return nil
			}, func(worker, share int) error {
				if share >= int(shares.Load()) {
					return errors.New("a loose share begins before it is released")
				}
				return k.do(worker, share, share+1)
			})
			// Nearly in the order of their numbers, as steps release them.
			order := make([]int32, len(parts))
			for i := range order {
				order[i] = int32(i)
			}
			for i := range order {
				k := min(i+r.IntN(20), len(order)-1)
				order[i], order[k] = order[k], order[i]
			}
			for len(order) > 0 || int(shares.Load()) < loose {
				now := order[:min(r.IntN(8), len(order))]
				order = order[len(now):]
				for _, i := range now {
					released[i].Store(true)
				}
				shares.Store(int32(min(int(shares.Load())+r.IntN(8), loose)))
				c.Release(now, int(shares.Load()))
				if err := c.Level(40, 40, func(_, _, _ int) error { return nil }); err != nil {
					t.Fatal(err)
				}
				want := 0
				for want < len(parts) && released[want].Load() {
					want++
				}
				if r.IntN(3) > 0 {
					continue
				}
				want = r.IntN(want + 1)
				if err := c.Await(want); err != nil {
					t.Fatal(err)
				}
				for i := range want {
					if int(done[i].Load()) != parts[i].Shares || !c.Ended([]int32{int32(i)}) {
						t.Fatalf("%d parts are awaited, part %d has not ended", want, i)
					}
				}
			}
			if err := c.Finish(); err != nil {
				t.Fatal(err)
			}
			for i := range parts {
				if int(done[i].Load()) != parts[i].Shares {
					t.Fatalf("part %d: %d of %d shares", i, done[i].Load(), parts[i].Shares)
				}
			}
			k.check(t, "loose")
		}
	})
}

// TestLowestNumberFirst: of the parts that may begin the one with the lowest number does, and
// loose shares come last.
func TestLowestNumberFirst(t *testing.T) {
	c := New(1)
	defer c.Dismiss()
	parts := make([]Part, 150)
	for i := range parts {
		parts[i].Shares = 1
	}
	parts[3].Then = []int32{100}
	parts[100].Reads = 1
	var order []int
	c.Begin(parts, func(_, part, _ int) error {
		order = append(order, part)
		return nil
	}, func(_, share int) error {
		order = append(order, 1000+share)
		return nil
	})
	c.Release([]int32{140, 100, 70, 64, 63}, 2)
	if err := c.Await(0); err != nil {
		t.Fatal(err)
	}
	c.Release([]int32{66, 3, 65}, 2)
	if err := c.Await(0); err != nil {
		t.Fatal(err)
	}
	if want := []int{63, 64, 70, 140, 1000, 1001, 3, 65, 66, 100}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
}

// TestFinishWaitsForHelpers: shares that a helper has begun are ended when Finish returns.
func TestFinishWaitsForHelpers(t *testing.T) {
	c := New(4)
	defer c.Dismiss()
	var begun, ended atomic.Int32
	c.Begin(chain(1, 2), func(_, _, _ int) error { return nil }, func(worker, _ int) error {
		begun.Add(1)
		if worker > 0 {
			time.Sleep(50 * time.Millisecond)
		} else {
			time.Sleep(time.Millisecond) // so that helpers come
		}
		ended.Add(1)
		return nil
	})
	c.Release(upTo(1), 12)
	if err := c.Finish(); err != nil {
		t.Fatal(err)
	}
	if begun.Load() != 12 || ended.Load() != 12 {
		t.Errorf("of 12 shares %d have begun and %d ended", begun.Load(), ended.Load())
	}
}

// TestBackgroundFails: an error or a panic beside the owner is told by what waits for
// it, and not by the owner's own work.
func TestBackgroundFails(t *testing.T) {
	own := errors.New("no")
	crews(t, func(t *testing.T, c *Crew) {
		for i := range 60 {
			at := []int{0, 3, 5}[i%3]
			c.Begin(chain(6, 2), func(_, part, _ int) error {
				if part == at {
					if i%2 == 0 {
						panic("yes")
					}
					return own
				}
				return nil
			}, func(_, _ int) error { return nil })
			c.Release(upTo(6), 0)
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
		c.Begin(chain(5000, 3), func(_, _, _ int) error {
			if gone.Load() {
				late.Add(1)
			}
			return nil
		}, nil)
		c.Release(upTo(5000), 0)
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

// TestExit: work of a helper that ends its goroutine is an error, in each way to have work done, and Dismiss returns.
func TestExit(t *testing.T) {
	const shares = 5000
	leave := func(worker int) {
		if worker != 0 {
			runtime.Goexit()
		}
	}
	work := func(worker, _ int) error {
		leave(worker)
		time.Sleep(time.Millisecond) // until the helper has come
		return nil
	}
	for name, all := range map[string]func(c *Crew) error{
		"each": func(c *Crew) error { return c.Each(shares, work) },
		"level": func(c *Crew) error {
			// A helper gets a share only while it is awake, and it is that for a moment after it was
			// woken. So one level follows the other at once.
			for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
				if err := c.Level(2, Alone, func(worker, _, _ int) error { leave(worker); return nil }); err != nil {
					return err
				}
			}
			return nil
		},
		"parts": func(c *Crew) error {
			c.Begin([]Part{{Shares: shares}}, func(worker, _, share int) error { return work(worker, share) }, nil)
			c.Release([]int32{0}, 0)
			return c.Await(1)
		},
		"loose shares": func(c *Crew) error {
			c.Begin(nil, nil, work)
			c.Release(nil, shares)
			return c.Finish()
		},
	} {
		c := New(2)
		ended := make(chan error, 1)
		go func() {
			err := all(c)
			c.Dismiss()
			ended <- err
		}()
		select {
		case err := <-ended:
			if err != ErrExited {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%s: the owner waits for ever", name)
		}
	}
}
