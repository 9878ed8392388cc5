//go:build linux

package plugin

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
)

// TestKilledAnytime kills the plugin at random moments of loads and calls.
// Each of them succeeds or is ErrGone, at once; the next client of the
// supervisor works, and no shared memory is lost.
func TestKilledAnytime(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 8
	}
	sup := NewSupervisor(spec(t, ""), Policy{Restarts: 10 * rounds, Backoff: time.Microsecond, MaxBackoff: time.Microsecond})
	defer sup.Close()
	const n = 30_000
	b := plugintest.NewBN(n)
	var right, gone int
	var mu sync.Mutex
	var kept backend.Buffer // of a client long dead
	var whole time.Duration // what the work below takes
	for range rounds {
		opened, err := sup.Open(ctx)
		if err != nil {
			t.Fatal(err)
		}
		c := opened.(*Client)
		if kept == nil {
			if kept, err = c.Alloc(ctx, len(b.Scalars)); err != nil {
				t.Fatal(err)
			}
			copy(kept.Bytes(), b.Scalars)
		}
		plugintest.Check(t, c, 10)
		if whole == 0 {
			begin := time.Now()
			if ok, err := once(c, b, kept.Bytes()); err != nil || !ok {
				t.Fatal(ok, err)
			}
			whole = time.Since(begin)
		}
		time.AfterFunc(rand.N(4*whole), func() { _ = processOf(c).Kill(ctx) })
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for {
					ok, err := once(c, b, kept.Bytes())
					mu.Lock()
					switch {
					case errors.Is(err, backend.ErrGone):
						gone++
					case err != nil || !ok:
						t.Errorf("right %v, %v", ok, err)
					default:
						right++
					}
					mu.Unlock()
					if err != nil || !ok {
						return
					}
				}
			})
		}
		wg.Wait()
		begin := time.Now()
		if _, err := c.MSM(ctx, nil); !errors.Is(err, backend.ErrGone) || time.Since(begin) > time.Second {
			t.Fatalf("after the death: %v in %v", err, time.Since(begin))
		}
		c.Close()
		if _, err := c.MSM(ctx, nil); !errors.Is(err, backend.ErrClosed) {
			t.Fatalf("closed: %v", err)
		}
		plugintest.Eventually(t, 10*time.Second, "staging is given back", func() bool { return c.staging.InUse() == 0 })
	}
	kept.Free()
	plugintest.Eventually(t, 10*time.Second, "shared memory is given back", func() bool { return sup.spec.pool.InUse() == 0 })
	t.Logf("%d right answers, %d times ErrGone", right, gone)
	if gone < rounds {
		t.Errorf("ErrGone %d times in %d rounds", gone, rounds)
	}
}

func once(c *Client, b plugintest.BN, kept []byte) (right bool, err error) {
	id, err := c.LoadBases(ctx, b.Bases())
	if err != nil {
		return false, err
	}
	n := b.Loaded.Count
	for _, s := range [][]byte{b.Scalars, kept} {
		got, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: n, Input: backend.Input{Bytes: s}}})
		if err != nil {
			return false, err
		}
		if !bytes.Equal(got[0], b.Want()) {
			return false, nil
		}
	}
	return true, c.FreeBases(ctx, id)
}

func TestSupervisor(t *testing.T) {
	s := spec(t, "crash")
	sup := NewSupervisor(s, Policy{Restarts: 2, Backoff: 20 * time.Millisecond})
	b := plugintest.NewBN(4)
	var first *Client
	for i := range 3 {
		begin := time.Now()
		opened, err := sup.Open(ctx)
		if err != nil {
			t.Fatalf("start %d: %v", i, err)
		}
		if wait := time.Since(begin); i > 0 && wait < 10*time.Millisecond<<(i-1) {
			t.Errorf("restart %d after %v", i, wait)
		}
		c := opened.(*Client)
		if first == nil {
			first = c
		} else if c.pool != first.pool {
			t.Error("a restart has its own shared memory")
		}
		id := plugintest.Load(t, c, b.Bases())
		if _, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: 4, Input: backend.Input{Bytes: b.Scalars}}}); !errors.Is(err, backend.ErrGone) {
			t.Fatal(err)
		}
		c.Close()
	}
	_, err := sup.Open(ctx)
	if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "died 3 times") ||
		!strings.Contains(err.Error(), "in a goroutine of the backend") {
		t.Errorf("restarts used up: %v", err)
	}
	// The window passes.
	sup.policy.Window = time.Nanosecond
	opened, err := sup.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	opened.Close()
	sup.Close()
	if _, err := sup.Open(ctx); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("closed: %v", err)
	}

	// Closing is no death, nor is a caller that goes away; a failed start is.
	sup = NewSupervisor(spec(t, ""), Policy{Restarts: -1})
	defer sup.Close()
	for range 3 {
		c, err := sup.Open(ctx)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	sup.spec.Env = []string{"TESTPLUGIN=open-hang"}
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if _, err := sup.Open(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	sup.spec.Env = []string{"TESTPLUGIN=open-error"}
	if _, err := sup.Open(ctx); !errors.Is(err, backend.ErrUnavailable) || strings.Contains(err.Error(), "died") {
		t.Error(err)
	}
	if _, err := sup.Open(ctx); !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "died 1 times") {
		t.Error(err)
	}
	// An idle plugin that dies is noticed.
	sup = NewSupervisor(spec(t, ""), Policy{Restarts: -1})
	defer sup.Close()
	c, err := sup.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_ = processOf(c.(*Client)).Kill(ctx)
	<-c.(*Client).Done()
	c.Close()
	if _, err := sup.Open(ctx); err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Error(err)
	}
}

func TestBackoff(t *testing.T) {
	s := NewSupervisor(Spec{Name: "x"}, Policy{Restarts: 100, Backoff: 10 * time.Millisecond, MaxBackoff: 100 * time.Millisecond})
	defer s.Close()
	for i, longest := range []time.Duration{0, 10, 20, 40, 80, 100, 100} {
		longest *= time.Millisecond
		seen := map[time.Duration]bool{}
		for range 50 {
			d, err := s.pause()
			if err != nil || d > longest*3/2 || d < longest/2 {
				t.Fatalf("after %d deaths: %v, %v", i, d, err)
			}
			seen[d] = true
		}
		if i > 0 && len(seen) < 10 {
			t.Errorf("after %d deaths: no jitter", i)
		}
		s.died("x")
	}
}
