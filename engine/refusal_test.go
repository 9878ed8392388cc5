package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// TestRefusing: a backend that refuses three calls in a row is refusing, with the reason in its state.
// It is asked again with pauses, calls go elsewhere meanwhile, and there is an event for each change,
// not for each call. When it answers again, it is back within 5 s.
func TestRefusing(t *testing.T) {
	for name, row := range map[string]struct {
		world  func(w *world, refuse func(*fake) error)
		reason Reason
		call   func(t *testing.T, e *Engine, b *Bases) string
	}{
		"MSMs": {func(w *world, refuse func(*fake) error) {
			w.msm = func(_ context.Context, f *fake) ([]byte, error) { return nil, refuse(f) }
		}, ReasonFailed, askOf},
		"spaces": {func(w *world, refuse func(*fake) error) {
			w.space = func(_ context.Context, f *fake, _ int) error { return refuse(f) }
		}, ReasonMemory, sessionOf},
		"programs": {func(w *world, refuse func(*fake) error) {
			w.run = func(_ context.Context, f *fake, _ []backend.Step, _ [][]byte) error { return refuse(f) }
		}, ReasonFailed, sessionOf},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refused := fmt.Errorf("%w: for a test", backend.ErrInternal)
				if row.reason == ReasonMemory {
					refused = fmt.Errorf("%w: for a test", backend.ErrOutOfMemory)
				}
				var asked, well atomic.Int64
				w := &world{t: t}
				row.world(w, func(f *fake) error {
					if f.name == "cpu" || well.Load() != 0 {
						return nil
					}
					asked.Add(1)
					return refused
				})
				e := w.engine(Config{Backend: "gpu"})
				defer w.close(e)
				b := load(t, e, source(4))
				for i := range 3 {
					time.Sleep(recent)
					if st := e.Stats(); st.Degraded() || st.Backends[0].State != StateReady {
						t.Fatalf("after %d refusals: %s", i, st.Backends[0].State)
					}
					row.call(t, e, b)
				}
				st := e.Stats()
				if s := st.Backends[0]; !st.Degraded() || s.State != StateRefusing || !errors.Is(s.Err, refused) {
					t.Errorf("after three refusals: %s, degraded %v, %v", s.State, st.Degraded(), s.Err)
				}
				for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(50 * time.Millisecond) {
					if by := row.call(t, e, b); by != "cpu" {
						t.Fatalf("answered by %s", by)
					}
				}
				if n := asked.Load(); n < 15 || n > 20 {
					t.Errorf("asked %d times in a minute", n)
				}
				st = e.Stats()
				if n := st.Reasons[row.reason]; n == 0 || n != st.FallBacks || len(st.Reasons) != 1 {
					t.Errorf("%d calls fell back, for the reasons %v", st.FallBacks, st.Reasons)
				}
				well.Store(1)
				for began := time.Now(); row.call(t, e, b) != "gpu"; time.Sleep(50 * time.Millisecond) {
					if time.Since(began) > 5*time.Second {
						t.Fatal("not back after 5 s")
					}
				}
				if st := e.Stats(); st.Degraded() || st.Backends[0].Err != nil {
					t.Errorf("it answers again: %s, %v", st.Backends[0].State, st.Backends[0].Err)
				}
				want := []string{"failed gpu", "fell back cpu", "fell back cpu lasting", "returned gpu"}
				if k := w.kinds(); !slices.Equal(k, want) {
					t.Errorf("events %q, want %q", k, want)
				}
			})
		})
	}
}

func askOf(t *testing.T, e *Engine, b *Bases) string {
	t.Helper()
	by, err := ask(t.Context(), e, b)
	if err != nil {
		t.Fatal(err)
	}
	return by
}

// sessionOf runs one program in a session and says which backend did.
func sessionOf(t *testing.T, e *Engine, _ *Bases) string {
	t.Helper()
	space := Space{Elements: backend.Elements{Element: backend.ScalarOf(backend.BN254), Count: 8}}
	by, err := e.Repeat(t.Context(), space, func(ctx context.Context, s *Session) error {
		_, err := s.Run(ctx, []backend.Step{backend.Read{Src: backend.Range{Space: s.Space(), Count: 8}}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return by
}

// TestRefusedBesideOthers: that calls about some bases are refused, for want of room for the bases or
// for the call, sends no call about others to another backend.
func TestRefusedBesideOthers(t *testing.T) {
	none := fmt.Errorf("%w: for a test", backend.ErrOutOfMemory)
	for _, loads := range []bool{true, false} {
		t.Run(fmt.Sprintf("loads %v", loads), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{t: t}
				var large atomic.Bool
				w.load = func(_ context.Context, f *fake, b *backend.Bases) error {
					if loads && f.name == "gpu" && b.Count > 4 {
						return none
					}
					return nil
				}
				w.msm = func(_ context.Context, f *fake) ([]byte, error) {
					if !loads && f.name == "gpu" && large.Load() {
						return nil, none
					}
					return nil, nil
				}
				e := w.engine(Config{Backend: "gpu"})
				defer w.close(e)
				small, big := load(t, e, source(4)), load(t, e, source(400))
				for range 10 {
					large.Store(true)
					for range 5 {
						time.Sleep(time.Second)
						if by := askOf(t, e, big); by != "cpu" {
							t.Fatalf("the large one: answered by %s", by)
						}
					}
					if st := e.Stats(); !st.Degraded() {
						t.Error("not degraded after five refusals in five seconds")
					}
					large.Store(false)
					if by := askOf(t, e, small); by != "gpu" {
						t.Fatalf("the small one: answered by %s", by)
					}
					if st := e.Stats(); st.Degraded() {
						t.Error("degraded, although it has just answered")
					}
				}
			})
		})
	}
}

// TestRefusalsBetweenAnswers: a backend that answers every second call is not refusing, and the calls
// that it refuses are told of once.
func TestRefusalsBetweenAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, load: func(_ context.Context, f *fake, b *backend.Bases) error {
			if f.name == "gpu" && b.Count > 4 {
				return backend.ErrOutOfMemory
			}
			return nil
		}}
		e := w.engine(Config{Backend: "gpu"})
		defer w.close(e)
		small, big := load(t, e, source(4)), load(t, e, source(400))
		for range 100 {
			askOf(t, e, big)
			askOf(t, e, big)
			askOf(t, e, small)
			askOf(t, e, small)
			if st := e.Stats(); st.Degraded() {
				t.Fatalf("%s after an answer", st.Backends[0].State)
			}
			time.Sleep(100 * time.Millisecond)
		}
		// The load tells of its bases, and the calls about them once.
		if k := w.kinds(); len(k) > 4 {
			t.Errorf("%d events: %q ..", len(k), k[:4])
		}
		st := e.Stats()
		if want := map[Reason]uint64{ReasonMemory: st.FallBacks}; !maps.Equal(st.Reasons, want) || st.FallBacks < 200 {
			t.Errorf("%d calls fell back, for the reasons %v", st.FallBacks, st.Reasons)
		}
	})
}

// TestRefusingAlone: where no other backend could answer, every call asks.
func TestRefusingAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		w := &world{t: t, msm: func(context.Context, *fake) ([]byte, error) {
			asked.Add(1)
			return nil, backend.ErrInternal
		}}
		e := w.engine(Config{Backend: "gpu", Fallbacks: []string{NoFallback}})
		defer w.close(e)
		b := load(t, e, source(4))
		time.Sleep(recent)
		for range 10 {
			if _, err := ask(t.Context(), e, b); !errors.Is(err, backend.ErrInternal) {
				t.Errorf("a call: %v", err)
			}
		}
		if n := asked.Load(); n != 10 {
			t.Errorf("10 calls asked %d times", n)
		}
		if st := e.Stats(); !st.Degraded() || st.FallBacks != 0 {
			t.Errorf("%s, %d fell back", st.Backends[0].State, st.FallBacks)
		}
	})
}

// TestAskingEnds: a call that asks whether a backend still refuses, and ends, leaves the next one to ask.
// While it asks, others go to the next backend at once.
func TestAskingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		w := &world{t: t, msm: func(ctx context.Context, f *fake) ([]byte, error) {
			if f.name == "cpu" {
				return nil, nil
			}
			switch n := asked.Add(1); {
			case n <= 3:
				return nil, backend.ErrInternal
			case n == 4:
				<-ctx.Done()
				return nil, backend.Ended(ctx)
			}
			return nil, nil
		}}
		e := w.engine(Config{Backend: "gpu"})
		defer w.close(e)
		b := load(t, e, source(4))
		for range 3 {
			askOf(t, e, b)
		}
		time.Sleep(5 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			ask(ctx, e, b)
		}()
		synctest.Wait()
		began := time.Now()
		if by := askOf(t, e, b); by != "cpu" || time.Since(began) != 0 {
			t.Errorf("beside a call that asks: answered by %s after %v", by, time.Since(began))
		}
		cancel()
		<-done
		if by := askOf(t, e, b); by != "gpu" {
			t.Errorf("after a call that asked and ended: answered by %s", by)
		}
	})
}

// TestReasons: every reason for a fall-back is counted under its name.
func TestReasons(t *testing.T) {
	for want, err := range map[Reason]error{
		ReasonGone: backend.ErrGone, ReasonSilent: errSilent, ReasonMemory: noRoom{backend.ErrOutOfMemory},
		ReasonFailed: backend.ErrInternal, ReasonUnsupported: backend.ErrUnsupported, ReasonWrong: ErrWrongAnswer, ReasonBases: ErrBasesLost,
	} {
		if got := reasonOf(fmt.Errorf("a call: %w", err)); got != want || !slices.Contains(Reasons(), got) {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
	s := &slot{}
	e := &Engine{slots: []*slot{s}}
	can := func(backend.Info) error { return backend.ErrUnsupported }
	no := func(*generation) bool { return false }
	for want, c := range map[Reason]*call{
		ReasonGone: {}, ReasonUnsupported: {can: can}, ReasonBases: {fits: no},
		ReasonMemory: {failures: []failed{{&slot{}, errSilent}, {s, backend.ErrOutOfMemory}}},
	} {
		s.info, s.gen = &backend.Info{}, &generation{}
		if got := e.reasonLocked(c); got != want {
			t.Errorf("%+v: %s, want %s", c, got, want)
		}
	}
	for want, state := range map[Reason]State{ReasonGone: StateOpening, ReasonSilent: StateSuspect, ReasonWrong: StateRetired} {
		if s.state = state; e.reasonLocked(&call{}) != want {
			t.Errorf("%s: %s, want %s", state, e.reasonLocked(&call{}), want)
		}
	}
}
