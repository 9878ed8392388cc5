package crew

import (
	"syscall"
	"testing"
	"time"
)

// processorTime returns what this process has used.
func processorTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestWaitingTakesNoProcessor: neither the owner nor helpers look for work all the time
// while a share sleeps.
func TestWaitingTakesNoProcessor(t *testing.T) {
	const nap = 600 * time.Millisecond
	c := New(4)
	defer c.Dismiss()
	sleep := func(worker, _ int) error {
		if worker > 0 {
			time.Sleep(nap)
		}
		return nil
	}
	for what, do := range map[string]func() error{
		"Each": func() error {
			return c.Each(8, func(worker, share int) error {
				if worker == 0 {
					time.Sleep(time.Millisecond) // so that helpers come
				}
				return sleep(worker, share)
			})
		},
		"Await": func() error {
			c.Begin(chain(1, 4), func(worker, _, share int) error { return sleep(worker, share) }, nil)
			c.Release(upTo(1), 0)
			time.Sleep(20 * time.Millisecond) // so that helpers come
			return c.Await(1)
		},
	} {
		before, start := processorTime(t), time.Now()
		if err := do(); err != nil {
			t.Fatal(err)
		}
		if took, used := time.Since(start), processorTime(t)-before; took < nap || used > nap/8 {
			t.Errorf("%s: %v of processors in %v", what, used, took)
		}
	}
}
