package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// TestDeadlinesDoNotCarryTheRecovery: with restarts of 300 ms and calls with deadlines of 200 ms,
// all of 30 calls failed, and the backend was opened 31 times.
func TestDeadlinesDoNotCarryTheRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, open: func(ctx context.Context, name string, nth int) error {
			if name == "gpu" && nth > 1 {
				pause(ctx, 300*time.Millisecond)
			}
			return ctx.Err()
		}}
		e := w.engine(Config{Backend: "gpu"})
		defer w.close(e)
		b := load(t, e, source(4))
		w.last("gpu").die()
		by := map[string]int{}
		for range 30 {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			who, err := ask(ctx, e, b)
			cancel()
			if err != nil {
				t.Error(err)
			}
			by[who]++
			time.Sleep(10 * time.Millisecond)
		}
		if n := w.times("gpu"); n != 2 {
			t.Errorf("opened %d times for one death", n)
		}
		if by["gpu"] < 20 || by["cpu"] == 0 {
			t.Errorf("answered by %v", by)
		}
	})
}

// TestPatience: a call without a deadline waits for a repair that is shorter than the patience. For
// a longer one it waits as long as the patience.
func TestPatience(t *testing.T) {
	for name, c := range map[string]struct{ repair, patience, waits time.Duration }{
		"quick":    {time.Second, 2 * time.Second, time.Second},
		"slow":     {time.Minute, 2 * time.Second, 2 * time.Second},
		"none":     {time.Second, -1, 0},
		"no other": {time.Minute, 2 * time.Second, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{t: t, open: func(ctx context.Context, _ string, nth int) error {
					if nth > 1 {
						pause(ctx, c.repair)
					}
					return ctx.Err()
				}}
				cfg := Config{Backend: "gpu", Patience: c.patience}
				if name == "no other" {
					cfg.Fallbacks = []string{NoFallback}
				}
				e := w.engine(cfg)
				defer w.close(e)
				b := load(t, e, source(4))
				w.last("gpu").die()
				synctest.Wait()
				begin := time.Now()
				by, err := ask(t.Context(), e, b)
				if took := time.Since(begin); err != nil || took != c.waits || (by == "gpu") != (took == c.repair) {
					t.Errorf("answered by %q after %v, %v; want after %v", by, took, err, c.waits)
				}
				// one call has waited for it: the next does not wait again
				begin = time.Now()
				if _, err := ask(t.Context(), e, b); err != nil || time.Since(begin) != 0 {
					t.Errorf("the second call took %v, %v", time.Since(begin), err)
				}
			})
		})
	}
}

// TestHungBackend: a stopped plugin failed all of 15 calls and held up Close for over 40 s. Now
// pings find it, and its calls are repeated, including those that return only when it is closed.
func TestHungBackend(t *testing.T) {
	for name, stubborn := range map[string]bool{"obeys": false, "does not return": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var hangs atomic.Bool
				w := &world{t: t}
				hang := func(ctx context.Context, f *fake) error {
					if f.name != "gpu" || f.nth > 1 || !hangs.Load() {
						return nil
					}
					if stubborn {
						<-f.done
						return nil
					}
					select {
					case <-ctx.Done():
					case <-f.done:
					}
					return ctx.Err()
				}
				w.ping = hang
				w.msm = func(ctx context.Context, f *fake) ([]byte, error) { return nil, hang(ctx, f) }
				e := w.engine(Config{Backend: "gpu", PingEvery: time.Second, PingTimeout: time.Second, PingMisses: 3})
				defer w.close(e)
				b := load(t, e, source(4))
				hangs.Store(true)
				begin := time.Now()
				var wg sync.WaitGroup
				for range 15 {
					wg.Go(func() {
						if by, err := ask(t.Context(), e, b); err != nil || by != "gpu" {
							t.Errorf("answered by %q, %v", by, err)
						}
					})
				}
				wg.Wait()
				if took := time.Since(begin); took > 15*time.Second {
					t.Errorf("took %v", took)
				}
				if k := w.kinds(); !slices.Equal(k, []string{"gone gpu", "restarted gpu"}) {
					t.Errorf("events %q", k)
				}
				if st := e.Stats().Backends[0]; st.Missed != 3 || st.Deaths != 1 || st.Restarts != 1 {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

// deaf is a backend in another process. It does not close, and must be killed.
type deaf struct {
	*fake
	killed chan struct{}
}

func (d deaf) Kill(error) {
	close(d.killed)
	d.die()
}

func (d deaf) Close() error {
	<-d.killed
	return d.fake.Close()
}

// TestGivenUpIsKilled: a stopped plugin that was given up was asked to close. For 6 s it lived on
// beside its replacement and held up Close.
func TestGivenUpIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stopped atomic.Bool
		w := &world{t: t}
		w.hangs(&stopped)
		first := make(chan struct{})
		e, err := New(t.Context(), Config{Backend: "gpu", Open: func(ctx context.Context, name string) (backend.Backend, error) {
			b, err := w.opener(ctx, name)
			if f, ok := b.(*fake); ok && name == "gpu" && f.nth == 1 {
				return deaf{f, first}, nil
			}
			return b, err
		}})
		if err != nil {
			t.Fatal(err)
		}
		stopped.Store(true)
		time.Sleep(30 * time.Second)
		if w.times("gpu") != 2 {
			t.Errorf("opened %d times", w.times("gpu"))
		}
		if f := w.last("gpu"); f == nil || w.opened[0].closes != 1 {
			t.Error("what was given up is still open")
		}
		begin := time.Now()
		w.close(e)
		if took := time.Since(begin); took != 0 {
			t.Errorf("Close took %v", took)
		}
	})
}

// TestHungBackendIsNamed: if no other backend can answer, the error of a call on a hanging backend
// says that it hangs. It is not the call's context, which has not ended.
func TestHungBackendIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t}
		hang := func(ctx context.Context) error {
			<-ctx.Done()
			return backend.Ended(ctx)
		}
		w.ping = func(ctx context.Context, _ *fake) error { return hang(ctx) }
		w.msm = func(ctx context.Context, _ *fake) ([]byte, error) { return nil, hang(ctx) }
		e := w.engine(Config{
			Backend: "gpu", Fallbacks: []string{NoFallback}, Restarts: -1, PingEvery: time.Second, PingTimeout: time.Second, PingMisses: 3,
		})
		defer w.close(e)
		_, err := ask(t.Context(), e, load(t, e, source(4)))
		if !errors.Is(err, backend.ErrGone) || errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "answered none of 3 pings") {
			t.Errorf("%v", err)
		}
	})
}

// TestDeadlineOnAHungBackend: when a call gives up, the backend is pinged at once, not when the
// next ping is due.
func TestDeadlineOnAHungBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t}
		hang := func(ctx context.Context, f *fake) error {
			if f.name == "gpu" && f.nth == 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		w.ping = hang
		w.msm = func(ctx context.Context, f *fake) ([]byte, error) { return nil, hang(ctx, f) }
		e := w.engine(Config{Backend: "gpu", PingEvery: time.Hour, PingTimeout: time.Second})
		defer w.close(e)
		b := load(t, e, source(4))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // too short for the next backend to be asked
		defer cancel()
		if _, err := ask(ctx, e, b); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		begin := time.Now()
		if by, err := ask(t.Context(), e, b); err != nil || by != "gpu" || time.Since(begin) > 10*time.Second {
			t.Errorf("answered by %q after %v, %v", by, time.Since(begin), err)
		}
	})
}

// hangs stops the first "gpu" of a world as SIGSTOP does, as long as stopped is set. Its calls and
// pings obey their contexts, and go on when it does.
func (w *world) hangs(stopped *atomic.Bool) {
	hang := func(ctx context.Context, f *fake) error {
		for f.name == "gpu" && f.nth == 1 && stopped.Load() {
			if pause(ctx, 10*time.Millisecond); ctx.Err() != nil {
				return backend.Ended(ctx)
			}
			if err := f.alive(); err != nil {
				return err
			}
		}
		return nil
	}
	w.ping = hang
	w.msm = func(ctx context.Context, f *fake) ([]byte, error) { return nil, hang(ctx, f) }
	w.alloc = hang
	w.space = func(ctx context.Context, f *fake, _ int) error { return hang(ctx, f) }
	w.free = hang
	w.run = func(ctx context.Context, f *fake, _ []backend.Step, _ [][]byte) error { return hang(ctx, f) }
}

// TestHedge: with defaults, every call with a deadline of 500 ms failed for 10.3 s after its
// backend was stopped, although "cpu" was there.
func TestHedge(t *testing.T) {
	for _, limit := range []time.Duration{200 * time.Millisecond, 500 * time.Millisecond, 5 * time.Second, time.Minute} {
		t.Run(limit.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var stopped atomic.Bool
				w := &world{t: t}
				w.hangs(&stopped)
				e := w.engine(Config{Backend: "gpu"})
				defer w.close(e)
				b := load(t, e, source(4))
				stopped.Store(true)
				begin := time.Now()
				for nth := 0; time.Since(begin) < 15*time.Second; nth++ {
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					at := time.Now()
					by, err := ask(ctx, e, b)
					cancel()
					if err != nil {
						t.Fatalf("after %v: %v", time.Since(begin), err)
					}
					took := time.Since(at)
					if nth == 0 && took != limit/2 && limit < time.Minute {
						t.Errorf("the first call took %v", took)
					}
					if nth > 0 && by == "cpu" && took > limit/8 {
						t.Errorf("call %d took %v, the backend was suspect before", nth, took)
					}
					time.Sleep(50 * time.Millisecond)
				}
				if by, err := ask(t.Context(), e, b); err != nil || by != "gpu" {
					t.Errorf("in the end answered by %q, %v", by, err)
				}
				if n := w.times("gpu"); n != 2 {
					t.Errorf("opened %d times", n)
				}
			})
		})
	}
}

// TestSuspicionEnds: when the backend goes on, calls are sent to it again, and it was not opened
// again.
func TestSuspicionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stopped atomic.Bool
		w := &world{t: t}
		w.hangs(&stopped)
		e := w.engine(Config{Backend: "gpu"})
		defer w.close(e)
		b := load(t, e, source(4))
		stopped.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if by, err := ask(ctx, e, b); err != nil || by != "cpu" {
			t.Errorf("answered by %q, %v", by, err)
		}
		if st := e.Stats(); st.Backends[0].State != StateSuspect || !st.Degraded() {
			t.Errorf("%+v", st.Backends[0])
		}
		// Memory for scalars is available at once, from elsewhere.
		begin := time.Now()
		if _, err := e.Alloc(t.Context(), 64); err != nil || time.Since(begin) != 0 {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		stopped.Store(false)
		time.Sleep(50 * time.Millisecond)
		if by, err := ask(t.Context(), e, b); err != nil || by != "gpu" {
			t.Errorf("answered by %q, %v", by, err)
		}
		if k := w.kinds(); !slices.Equal(k, []string{"failed gpu", "fell back cpu lasting", "returned gpu"}) {
			t.Errorf("events %q", k)
		}
		if n := w.times("gpu"); n != 1 {
			t.Errorf("opened %d times", n)
		}
	})
}

// TestHedgedRepeat: a Repeat is hedged as a call is, even if its session must be closed on the
// stopped backend.
func TestHedgedRepeat(t *testing.T) {
	for _, ahead := range []bool{false, true} {
		for _, suspect := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				var stopped atomic.Bool
				w := &world{t: t}
				w.hangs(&stopped)
				e := w.engine(Config{Backend: "gpu"})
				defer w.close(e)
				b := load(t, e, source(4))
				repeat := func(ctx context.Context, f func(context.Context, *Session) error) (string, error) {
					return e.Repeat(ctx, space8, f)
				}
				if ahead {
					repeat = open(t, e).Repeat
				}
				if suspect {
					stopped.Store(true)
					limited, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
					defer cancel()
					if by, err := ask(limited, e, b); err != nil || by != "cpu" {
						t.Errorf("answered by %q, %v", by, err)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				begin := time.Now()
				by, err := repeat(ctx, func(ctx context.Context, s *Session) error {
					stopped.Store(true)
					return readAll(ctx, s)
				})
				if took := time.Since(begin); err != nil || by != "cpu" || took > 300*time.Millisecond {
					t.Errorf("ahead %v, suspect %v: answered by %q after %v, %v", ahead, suspect, by, took, err)
				}
			})
		}
	}
}

// TestHedgedMemory: a call for memory from a stopped backend goes on without the memory.
func TestHedgedMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stopped atomic.Bool
		w := &world{t: t}
		w.hangs(&stopped)
		e := w.engine(Config{Backend: "gpu", Fallbacks: []string{NoFallback}})
		defer w.close(e)
		stopped.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if buf, err := e.Alloc(ctx, 64); buf != nil || err != nil {
			t.Errorf("%v, %v", buf, err)
		}
	})
}

// TestLateButAlive: a call stays on a backend that is late but answers pings. So does a call that
// no other backend can answer.
func TestLateButAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, msm: func(ctx context.Context, f *fake) ([]byte, error) {
			if f.name == "gpu" {
				pause(ctx, 450*time.Millisecond)
			}
			return nil, backend.Ended(ctx)
		}}
		e := w.engine(Config{Backend: "gpu"})
		defer w.close(e)
		b := load(t, e, source(4))
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if by, err := ask(ctx, e, b); err != nil || by != "gpu" {
			t.Errorf("answered by %q, %v", by, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var stopped atomic.Bool
		w := &world{t: t}
		w.hangs(&stopped)
		e := w.engine(Config{Backend: "gpu", Fallbacks: []string{NoFallback}})
		defer w.close(e)
		b := load(t, e, source(4))
		stopped.Store(true)
		time.AfterFunc(400*time.Millisecond, func() { stopped.Store(false) })
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if by, err := ask(ctx, e, b); err != nil || by != "gpu" {
			t.Errorf("answered by %q, %v", by, err)
		}
	})
}

// TestLongCallIsLeftAlone: a call may last as long as pings are answered.
func TestLongCallIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, msm: func(ctx context.Context, _ *fake) ([]byte, error) {
			pause(ctx, time.Hour)
			return nil, ctx.Err()
		}}
		e := w.engine(Config{Backend: "gpu"})
		defer w.close(e)
		begin := time.Now()
		if by, err := ask(t.Context(), e, load(t, e, source(4))); err != nil || by != "gpu" || time.Since(begin) != time.Hour {
			t.Errorf("answered by %q after %v, %v", by, time.Since(begin), err)
		}
		if w.times("gpu") != 1 {
			t.Error("the backend was given up")
		}
	})
}

// TestGoesBack: the engine once stayed on the fallback for ever.
func TestGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := time.Now().Add(time.Hour)
		w := &world{t: t, open: func(_ context.Context, name string, nth int) error {
			if name == "gpu" && nth > 1 && time.Now().Before(back) {
				return fmt.Errorf("%w: no such device", backend.ErrUnavailable)
			}
			return nil
		}}
		e := w.engine(Config{Backend: "gpu"})
		defer w.close(e)
		b := load(t, e, source(4))
		w.last("gpu").die()
		for range 10 {
			if by, err := ask(t.Context(), e, b); err != nil || by != "cpu" || e.Backend() != "cpu" {
				t.Fatalf("answered by %q, %v", by, err)
			}
			time.Sleep(time.Minute)
		}
		if n := w.times("gpu"); n < 10 || n > 40 {
			t.Errorf("%d tries in ten minutes", n)
		}
		time.Sleep(time.Hour)
		if by, err := ask(t.Context(), e, b); err != nil || by != "gpu" || e.Backend() != "gpu" {
			t.Errorf("answered by %q, %v", by, err)
		}
		// A lasting fall-back is reported once, and so is its end.
		if k := w.kinds(); !slices.Equal(k, []string{"gone gpu", "fell back cpu lasting", "restarted gpu", "returned gpu"}) {
			t.Errorf("events %q", k)
		}
	})
}

// TestLongReloadHoldsNoCall: while the preferred backend loads its bases again
// the fallback answers.
func TestLongReloadHoldsNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, load: func(ctx context.Context, f *fake, _ *backend.Bases) error {
			if f.name == "gpu" && f.nth > 1 {
				pause(ctx, time.Minute)
			}
			return ctx.Err()
		}}
		e := w.engine(Config{Backend: "gpu", Patience: time.Second})
		defer w.close(e)
		b := load(t, e, source(4))
		w.last("gpu").die()
		begin := time.Now()
		for range 5 {
			if by, err := ask(t.Context(), e, b); err != nil || by != "cpu" {
				t.Errorf("answered by %q, %v", by, err)
			}
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("five calls took %v", took)
		}
		time.Sleep(2 * time.Minute)
		if by, err := ask(t.Context(), e, b); err != nil || by != "gpu" || w.last("gpu").loads != 1 {
			t.Errorf("answered by %q, %v", by, err)
		}
	})
}

// TestFallbackThatDiesIsOpenedAgain: a dead fallback once stayed dead.
func TestFallbackThatDiesIsOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, msm: func(_ context.Context, f *fake) ([]byte, error) {
			if f.name == "gpu" {
				return nil, fmt.Errorf("%w: for a test", backend.ErrOutOfMemory)
			}
			return nil, nil
		}}
		e := w.engine(Config{Backend: "gpu", Fallbacks: []string{"other"}})
		defer w.close(e)
		b := load(t, e, source(4))
		for nth := 1; nth <= 3; nth++ {
			if by, err := ask(t.Context(), e, b); err != nil || by != "other" || w.times("other") != nth {
				t.Errorf("answered by %q, %d openings, %v", by, w.times("other"), err)
			}
			w.last("other").die()
			synctest.Wait()
			if f := w.last("other"); f.nth != nth+1 || f.resident() != 1 {
				t.Errorf("repaired %d times, %d bases", f.nth, f.resident())
			}
		}
	})
}

// TestIdleDeathIsRepaired: a backend that dies while idle is repaired before the next call.
func TestIdleDeathIsRepaired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t}
		e := w.engine(Config{Backend: "gpu"})
		defer w.close(e)
		b := load(t, e, source(4))
		w.last("gpu").die()
		synctest.Wait()
		f := w.last("gpu")
		if f.nth != 2 || f.resident() != 1 || e.Stats().Backends[0].State != StateReady {
			t.Errorf("opened %d times, %d bases", f.nth, f.resident())
		}
		if by, err := ask(t.Context(), e, b); err != nil || by != "gpu" || f.loads != 1 {
			t.Errorf("answered by %q, %v", by, err)
		}
	})
}

// TestOneDeathIsOneEvent: a death is one event, however many calls it ends.
func TestOneDeathIsOneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, msm: func(ctx context.Context, f *fake) ([]byte, error) {
			if f.nth == 1 {
				<-f.done
			}
			return nil, nil
		}}
		e := w.engine(Config{Backend: "gpu"})
		defer w.close(e)
		b := load(t, e, source(4))
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				if by, err := ask(t.Context(), e, b); err != nil || by != "gpu" {
					t.Errorf("answered by %q, %v", by, err)
				}
			})
		}
		synctest.Wait()
		if st := e.Stats(); st.InFlight != 64 || st.Backends[0].InFlight != 64 {
			t.Errorf("%+v", st)
		}
		w.last("gpu").die()
		wg.Wait()
		synctest.Wait()
		if k := w.kinds(); !slices.Equal(k, []string{"gone gpu", "restarted gpu"}) {
			t.Errorf("events %q", k)
		}
	})
}

// TestAllocAfterADeath: all of 100 allocations failed. That a backend has no room is not an error
// either.
func TestAllocAfterADeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, alloc: func(_ context.Context, f *fake) error {
			if f.nth == 3 {
				return fmt.Errorf("%w: the budget", backend.ErrOutOfMemory)
			}
			return nil
		}}
		e := w.engine(Config{Backend: "gpu"})
		defer w.close(e)
		w.last("gpu").die()
		for range 100 {
			b, err := e.Alloc(t.Context(), 32)
			if err != nil || b == nil {
				t.Fatalf("%v, %v", b, err)
			}
			if e.Stats().Shared != 32 {
				t.Fatal("not counted")
			}
			b.Free()
		}
		w.last("gpu").die()
		if b, err := e.Alloc(t.Context(), 32); b != nil || err != nil {
			t.Errorf("above the budget: %v, %v", b, err)
		}
		if st := e.Stats(); st.Shared != 0 || len(w.kinds()) != 4 {
			t.Errorf("%+v, events %q", st, w.kinds())
		}
	})
}

// TestFlappingBackend: a backend that dies again and again before it has answered anything is
// opened with growing pauses.
func TestFlappingBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, msm: func(_ context.Context, f *fake) ([]byte, error) {
			if f.name == "gpu" {
				f.die()
			}
			return nil, nil
		}}
		e := w.engine(Config{Backend: "gpu"})
		defer w.close(e)
		b := load(t, e, source(4))
		for range 600 {
			if by, err := ask(t.Context(), e, b); err != nil || by != "cpu" {
				t.Fatalf("answered by %q, %v", by, err)
			}
			time.Sleep(time.Second)
		}
		if n := w.times("gpu"); n < 10 || n > 40 {
			t.Errorf("%d openings in ten minutes", n)
		}
	})
}

// TestRestartsAreCounted: a call is repeated on a backend that is gone as often as is allowed,
// whether the backend died or somebody closed it. Then it goes to the next one.
func TestRestartsAreCounted(t *testing.T) {
	for name, gone := range map[string]error{"died": backend.ErrGone, "closed": backend.ErrClosed} {
		for _, restarts := range []int{1, 2} {
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int64
				w := &world{t: t, msm: func(_ context.Context, f *fake) ([]byte, error) {
					if f.name == "gpu" {
						calls.Add(1)
						return nil, gone
					}
					return nil, nil
				}}
				e := w.engine(Config{Backend: "gpu", Restarts: restarts, Patience: time.Hour})
				defer w.close(e)
				by, err := ask(t.Context(), e, load(t, e, source(4)))
				if n := int(calls.Load()); n != 1+restarts || by != "cpu" || err != nil {
					t.Errorf("%s: %d calls on the gpu with %d restarts, answered by %q, %v", name, n, restarts, by, err)
				}
				if n := int(e.Stats().Backends[0].Deaths); n != 1+restarts {
					t.Errorf("%s: %d deaths are counted with %d restarts", name, n, restarts)
				}
			})
		}
	}
}

// TestCauseIsKept: the error says why the caller's context ended.
func TestCauseIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, msm: func(ctx context.Context, _ *fake) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		e := w.engine(Config{})
		defer w.close(e)
		b := load(t, e, source(4))
		cause := errors.New("the user went away")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		if _, err := ask(ctx, e, b); !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
			t.Error(err)
		}
	})
}

// TestErrorsNameTheBackend: an error names every backend that was asked, and what became of it.
func TestErrorsNameTheBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, msm: func(_ context.Context, f *fake) ([]byte, error) {
			return nil, fmt.Errorf("%w: %s is full", backend.ErrOutOfMemory, f.name)
		}}
		e := w.engine(Config{Backend: "gpu"})
		defer w.close(e)
		_, err := ask(t.Context(), e, load(t, e, source(4)))
		for _, want := range []string{"backend gpu: ", "gpu is full", "backend cpu: ", "cpu is full"} {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("no %q in %v", want, err)
			}
		}
	})
}
