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

// liar is a known computation that every backend answers rightly until some moment, or has no room for.
type liar struct {
	asked, wrong, full atomic.Int64
}

func (l *liar) known() []Known {
	return []Known{
		{Name: "of none", Can: func(backend.Info) bool { return false }, Run: func(context.Context, backend.Backend) error {
			return fmt.Errorf("%w: not to be asked", ErrWrongAnswer)
		}},
		{Name: "a sum", Run: func(_ context.Context, b backend.Backend) error {
			l.asked.Add(1)
			switch {
			case l.full.Load() != 0:
				return backend.ErrOutOfMemory
			case l.wrong.Load() != 0:
				return fmt.Errorf("%w: 7, not 8", ErrWrongAnswer)
			}
			return nil
		}},
	}
}

// TestKnownAtOpening: a backend that answers a known computation wrongly is not opened. One in this process is
// not asked.
func TestKnownAtOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, l := &world{t: t}, &liar{}
		l.wrong.Store(1)
		_, err := New(t.Context(), Config{Backend: "gpu", Open: w.opener, Known: l.known()})
		if !errors.Is(err, ErrWrongAnswer) || l.asked.Load() != 1 {
			t.Errorf("New: %v, asked %d times", err, l.asked.Load())
		}
		e := w.engine(Config{Backend: "cpu", Known: l.known()})
		defer w.close(e)
		if l.asked.Load() != 1 {
			t.Error("the backend in this process was asked")
		}
		if err := e.Use(t.Context(), "gpu"); !errors.Is(err, ErrWrongAnswer) {
			t.Errorf("Use: %v", err)
		}
		if k := w.kinds(); !slices.Equal(k, []string{"wrong answer gpu"}) || e.Stats().Refused != 1 || e.Backend() != "cpu" {
			t.Errorf("events %q, %d answers refused, now on %s", k, e.Stats().Refused, e.Backend())
		}
	})
}

// TestKnownAfterARepair: a backend that is opened again computes known answers before it answers calls. A wrong
// one retires it.
func TestKnownAfterARepair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, l := &world{t: t}, &liar{}
		e := w.engine(Config{Backend: "gpu", Known: l.known()})
		defer w.close(e)
		b := load(t, e, source(4))
		l.wrong.Store(1)
		w.last("gpu").die()
		time.Sleep(time.Minute)
		if by := askOf(t, e, b); by != "cpu" {
			t.Errorf("answered by %s", by)
		}
		st := e.Stats()
		if s := st.Backends[0]; s.State != StateRetired || !errors.Is(s.Err, ErrWrongAnswer) || st.Refused != 1 || w.times("gpu") != 2 {
			t.Errorf("%s, %v; %d answers refused, opened %d times", s.State, s.Err, st.Refused, w.times("gpu"))
		}
	})
}

// TestKnownInUse: a backend in use computes known answers each minute, one that is not used does not. A wrong one
// retires it, with an event; one that it cannot give accuses nobody.
func TestKnownInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, l := &world{t: t}, &liar{}
		e := w.engine(Config{Backend: "gpu", Known: l.known()})
		defer w.close(e)
		b := load(t, e, source(4))
		use := func(minutes int) {
			for range 60 * minutes {
				askOf(t, e, b)
				time.Sleep(time.Second)
			}
		}
		use(10)
		if n := l.asked.Load(); n < 10 || n > 11 || e.Stats().Known != uint64(n) {
			t.Errorf("asked %d times in ten minutes of use, %d answers count", n, e.Stats().Known)
		}
		time.Sleep(2 * time.Minute)
		idle := l.asked.Load()
		time.Sleep(time.Hour)
		if n := l.asked.Load() - idle; n != 0 {
			t.Errorf("asked %d times in an hour without calls", n)
		}
		l.full.Store(1)
		use(3)
		if by := askOf(t, e, b); by != "gpu" {
			t.Errorf("a backend without room for known answers is left: answered by %s", by)
		}
		l.full.Store(0)
		l.wrong.Store(1)
		use(3)
		if by := askOf(t, e, b); by != "cpu" {
			t.Errorf("after a wrong answer: answered by %s", by)
		}
		if k := w.kinds(); !slices.Equal(k, []string{"wrong answer gpu", "fell back cpu lasting"}) || e.Stats().Refused != 1 {
			t.Errorf("events %q, %d answers refused", k, e.Stats().Refused)
		}
	})
}

// TestKnownOnEachDevice: a backend with several devices is asked as often at the same time.
func TestKnownOnEachDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &liar{}
		w := &world{t: t}
		e := w.engine(Config{Backend: "cpu", Known: l.known()})
		defer w.close(e)
		e.mu.Lock()
		s := e.slots[0]
		e.mu.Unlock()
		g := &generation{e: e, slot: s, b: w.last("cpu"), info: backend.Info{Devices: make([]backend.Device, 3)}, ctx: t.Context()}
		if err := g.known(t.Context()); err != nil || l.asked.Load() != 3 {
			t.Errorf("%v, asked %d times", err, l.asked.Load())
		}
	})
}

// TestWrongDevice: of a backend of two devices one computes wrongly. An event names it and the backend goes on,
// whether a known answer or the check of a call finds it, for several calls at a time too. Where the devices are all
// right, a wrong answer retires the backend.
func TestWrongDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wrong atomic.Int64 // 1: its device 1
		w, l := &world{t: t, devices: 2}, &liar{}
		w.test = func(*fake) (retired []int, err error) {
			if wrong.Load() == 1 {
				retired = []int{1}
			}
			return retired, nil
		}
		spoilt := false
		w.msm = func(_ context.Context, f *fake) ([]byte, error) {
			if spoilt && f.name == "gpu" {
				return make([]byte, 5), nil
			}
			return nil, nil
		}
		for _, found := range []string{"by a known answer", "by a call"} {
			wrong.Store(0)
			w.events = nil
			e := w.engine(Config{Backend: "gpu", Known: l.known()})
			b := load(t, e, source(4))
			time.Sleep(time.Second) // a call in the moment of the opening is none after it
			askOf(t, e, b)
			wrong.Store(1)
			if found == "by a call" {
				spoilt = true
				var calls sync.WaitGroup
				for range 3 {
					calls.Go(func() {
						if by := askOf(t, e, b); by != "cpu" {
							t.Errorf("%s: answered by %s", found, by)
						}
					})
				}
				calls.Wait()
				spoilt = false
			} else {
				time.Sleep(2 * time.Minute)
			}
			if by := askOf(t, e, b); by != "gpu" {
				t.Errorf("%s: answered by %s", found, by)
			}
			if n := slices.Index(w.kinds(), "device retired gpu"); n < 0 || e.Stats().Refused != 1 {
				t.Errorf("%s: events %q, %d answers refused", found, w.kinds(), e.Stats().Refused)
			}
			for _, ev := range w.events {
				if ev.Kind == EventDevice && !strings.Contains(ev.Err.Error(), "device 1 is not used any more: card 1") {
					t.Errorf("%s: %v", found, ev)
				}
			}
			time.Sleep(2 * knownLimit)
			spoilt = true
			askOf(t, e, b)
			spoilt = false
			if by := askOf(t, e, b); by != "cpu" {
				t.Errorf("%s: no further device is retired, and a call is answered by %s", found, by)
			}
			w.close(e)
			w.opened = nil
		}
	})
}
