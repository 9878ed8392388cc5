package shm

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// sleeps is how often threads of this process went to sleep.
func sleeps(t *testing.T) int64 {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return u.Nvcsw
}

// threads is how many threads this process has.
func threads(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(b, []byte("\nThreads:\t"))
	n, err := strconv.Atoi(string(rest[:bytes.IndexByte(rest, '\n')]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestWaitersSleep: waiting for inputs that do not come is sleep, and no
// more threads than there may be; all are woken by what comes, or by their contexts.
func TestWaitersSleep(t *testing.T) {
	const room, each = 100, 2
	counters := NewCounters()
	defer counters.Close()
	cs, err := counters.Acquire(ctx, room*each)
	if err != nil {
		t.Fatal(err)
	}
	before := threads(t)
	waiters := NewWaiters(room)
	ended, end := context.WithCancel(ctx)
	defer end()
	var begun, answered atomic.Int64
	var all sync.WaitGroup
	for i, c := range cs {
		all.Go(func() {
			begun.Add(1)
			of, want := ctx, error(nil)
			if i%2 == 1 {
				of, want = ended, context.Canceled
			}
			if err := waiters.Wait(of, c.bytes(), 8, 16); !errors.Is(err, want) {
				t.Errorf("waiter %d: %v", i, err)
			}
			answered.Add(1)
		})
	}
	for begun.Load() < int64(len(cs)) {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond) // the pauses have grown
	began, used := time.Now(), sleeps(t)
	time.Sleep(500 * time.Millisecond)
	used = sleeps(t) - used
	// Each looks again every 50 ms at most, and the runtime moves what that wakes.
	if most := int64(3*len(cs)) * int64(time.Since(began)/mostPause+1); used > most {
		t.Errorf("%d waiters went to sleep %d times in half a second, want at most %d", len(cs), used, most)
	}
	if n := threads(t) - before; n > room+20 {
		t.Errorf("%d threads more for %d waiters, %d of which may have one", n, len(cs), room)
	}
	if n := answered.Load(); n > 0 {
		t.Errorf("%d waiters did not wait", n)
	}
	end()
	for i, c := range cs {
		if i%2 == 0 {
			c.Set(8)
		}
	}
	all.Wait()
	counters.Release(cs)
}

// TestRestlessCounter: a writer who changes a counter all the time, and never enough,
// does not keep a reader's processor busy.
func TestRestlessCounter(t *testing.T) {
	counters := NewCounters()
	defer counters.Close()
	cs, err := counters.Acquire(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	looked := &counted{Context: ctx}
	done := make(chan error, 1)
	go func() { done <- NewWaiters(1).Wait(looked, cs[0].bytes(), 1<<20, 1<<21) }()
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		for v := range 1000 {
			cs[0].Set(v)
		}
	}
	cs[0].Set(1 << 20)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := looked.n.Load(); n > spins+mostWakes+1000 {
		t.Errorf("it looked %d times", n)
	}
	counters.Release(cs)
}

// counted counts how often it is asked whether it has ended.
type counted struct {
	context.Context
	n atomic.Int64
}

func (c *counted) Err() error {
	c.n.Add(1)
	return c.Context.Err()
}
