package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/pippin-zk/pippin/backend"
)

// TestUseHoldsNoCall: a call waited 1.96 s for a Use that loaded for 2 s, and all other calls with
// it.
func TestUseHoldsNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, load: func(ctx context.Context, f *fake, _ *backend.Bases) error {
			if f.name == "new" {
				pause(ctx, 2*time.Second)
			}
			return ctx.Err()
		}}
		e := w.engine(Config{Backend: "old"})
		defer w.close(e)
		b := load(t, e, source(4))
		var used sync.WaitGroup
		used.Go(func() {
			if err := e.Use(t.Context(), "new"); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		begin := time.Now()
		for range 10 {
			if by, err := ask(t.Context(), e, b); err != nil || by != "old" {
				t.Errorf("answered by %q, %v", by, err)
			}
			// Loading other bases is like any other call.
			load(t, e, source(2)).Close()
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("calls waited %v for Use", took)
		}
		used.Wait()
		if by, err := ask(t.Context(), e, b); err != nil || by != "new" || time.Since(begin) != 2*time.Second {
			t.Errorf("answered by %q after %v, %v", by, time.Since(begin), err)
		}
	})
}

// TestUseWithoutRoomForTwo: on a device without room for the bases twice, the old backend is closed
// first, and the fallback answers meanwhile. If the new one fails even then, the old one is opened
// again.
func TestUseWithoutRoomForTwo(t *testing.T) {
	for _, name := range []string{"new", "too small"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{t: t}
				w.load = func(ctx context.Context, f *fake, _ *backend.Bases) error {
					if f.name == "cpu" {
						return nil
					}
					pause(ctx, time.Second)
					w.mu.Lock()
					defer w.mu.Unlock()
					for _, o := range w.opened {
						if o != f && o.name != "cpu" && o.closes == 0 || f.name == "too small" {
							return fmt.Errorf("%w: the device is full", backend.ErrOutOfMemory)
						}
					}
					return nil
				}
				e := w.engine(Config{Backend: "old"})
				defer w.close(e)
				b := load(t, e, source(4))
				var err error
				var used sync.WaitGroup
				used.Go(func() { err = e.Use(t.Context(), name) })
				time.Sleep(1500 * time.Millisecond) // during the second try
				begin := time.Now()
				if by, err := ask(t.Context(), e, b); err != nil || by != "cpu" || time.Since(begin) != 0 {
					t.Errorf("meanwhile answered by %q after %v, %v", by, time.Since(begin), err)
				}
				used.Wait()
				want := "new"
				if name == "too small" {
					want = "old"
				}
				if (err == nil) != (want == "new") || err != nil && !errors.Is(err, backend.ErrOutOfMemory) {
					t.Error(err)
				}
				if by, err := ask(t.Context(), e, b); err != nil || by != want || e.Backend() != want {
					t.Errorf("answered by %q, %v; want %s", by, err, want)
				}
			})
		})
	}
}

// TestBasesClosedDuringUse: bases closed during a Use once stayed on the new device.
func TestBasesClosedDuringUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, load: func(ctx context.Context, f *fake, _ *backend.Bases) error {
			if f.name == "new" {
				pause(ctx, time.Second)
			}
			return ctx.Err()
		}}
		e := w.engine(Config{Backend: "old"})
		defer w.close(e)
		all := []*Bases{load(t, e, source(4)), load(t, e, source(3)), load(t, e, source(2))}
		var used sync.WaitGroup
		used.Go(func() {
			if err := e.Use(t.Context(), "new"); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(1500 * time.Millisecond) // one is loaded, one is being loaded
		for _, b := range all {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}
		used.Wait()
		if n := w.last("new").resident(); n != 0 {
			t.Errorf("%d bases are left", n)
		}
		if st := e.Stats(); st.Bases != 0 || st.Backends[0].Resident != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// TestFailedLoadsKeepNothing: 20 loads without memory kept 79 MiB.
func TestFailedLoadsKeepNothing(t *testing.T) {
	w := &world{t: t, load: func(context.Context, *fake, *backend.Bases) error {
		return fmt.Errorf("%w: for a test", backend.ErrOutOfMemory)
	}}
	e := w.engine(Config{Backend: "gpu"})
	defer w.close(e)
	kept := func() weak.Pointer[byte] {
		src := source(1 << 10)
		p := weak.Make(&src.Bytes[0])
		for range 20 {
			if _, err := e.Load(t.Context(), src); !errors.Is(err, backend.ErrOutOfMemory) {
				t.Error(err)
			}
		}
		return p
	}()
	for end := time.Now().Add(10 * time.Second); kept.Value() != nil; runtime.GC() {
		if time.Now().After(end) {
			t.Fatal("the points of failed loads are kept")
		}
	}
	if st := e.Stats(); st.Bases != 0 || st.Backends[0].Resident != 0 {
		t.Errorf("%+v", st)
	}
}

// TestCancelledUse: a cancelled Use leaves everything as it was, and nothing of the new backend.
func TestCancelledUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, load: func(ctx context.Context, f *fake, _ *backend.Bases) error {
			if f.name == "new" {
				<-ctx.Done()
			}
			return ctx.Err()
		}}
		e := w.engine(Config{Backend: "old"})
		defer w.close(e)
		b := load(t, e, source(4))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := e.Use(ctx, "new"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if by, err := ask(t.Context(), e, b); err != nil || by != "old" {
			t.Errorf("answered by %q, %v", by, err)
		}
		synctest.Wait()
		if f := w.last("new"); f.closes != 1 {
			t.Errorf("the new backend was closed %d times", f.closes)
		}
	})
}

// TestNewerUse: a second Use once waited for one whose backend hung while it was opened.
func TestNewerUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, open: func(ctx context.Context, name string, _ int) error {
			if name == "hangs" {
				<-ctx.Done()
			}
			return backend.Ended(ctx)
		}}
		e := w.engine(Config{Backend: "old"})
		defer w.close(e)
		var used sync.WaitGroup
		for range 2 {
			used.Go(func() {
				if err := e.Use(t.Context(), "hangs"); !errors.Is(err, ErrSuperseded) {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		begin := time.Now()
		if err := e.Use(t.Context(), "new"); err != nil || e.Backend() != "new" {
			t.Errorf("on %q, %v", e.Backend(), err)
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("took %v", took)
		}
		used.Wait()
		if e.Backend() != "new" {
			t.Errorf("on %q", e.Backend())
		}
	})
}

// TestSharedLoad: two calls wait for one load. The caller that loads gives up, and the other loads.
func TestSharedLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var loads atomic.Int64
		w := &world{t: t, load: func(ctx context.Context, _ *fake, _ *backend.Bases) error {
			if loads.Add(1) == 1 {
				<-ctx.Done()
			}
			return ctx.Err()
		}}
		e := w.engine(Config{Backend: "gpu", Fallbacks: []string{NoFallback}})
		defer w.close(e)
		b := &Bases{e: e, src: source(4), idle: make(chan struct{})}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var both sync.WaitGroup
		both.Go(func() {
			if _, err := ask(ctx, e, b); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
		synctest.Wait()
		both.Go(func() {
			if _, err := ask(t.Context(), e, b); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		if loads.Load() != 2 {
			t.Errorf("%d loads", loads.Load())
		}
	})
}

// TestReadOnceGoToTheirHolder: calls on bases with ReadOnce find the backend that holds them, even
// if the preferred backend has no room for them.
func TestReadOnceGoToTheirHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, load: func(_ context.Context, f *fake, b *backend.Bases) error {
			if f.name == "gpu" && f.nth == 1 {
				return fmt.Errorf("%w: for a test", backend.ErrOutOfMemory)
			}
			return nil
		}}
		e := w.engine(Config{Backend: "gpu"})
		defer w.close(e)
		src := source(4)
		src.ReadOnce = true
		b := load(t, e, src)
		w.last("gpu").die()
		synctest.Wait() // it is open again and has room, but the bases must not be read again
		for range 2 {
			if by, err := ask(t.Context(), e, b); err != nil || by != "cpu" {
				t.Errorf("answered by %q, %v", by, err)
			}
		}
		w.last("cpu").die()
		synctest.Wait()
		if _, err := ask(t.Context(), e, b); !errors.Is(err, ErrBasesLost) {
			t.Error(err)
		}
		if n := w.last("cpu").loads + w.last("gpu").loads; n != 0 {
			t.Errorf("%d loads of what may not be read", n)
		}
	})
}

// TestLackingCapability: a call for a group is sent to the next backend that has the group.
func TestLackingCapability(t *testing.T) {
	w := &world{t: t}
	e, err := New(t.Context(), Config{Backend: "gpu", Open: func(ctx context.Context, name string) (backend.Backend, error) {
		b, err := w.opener(ctx, name)
		if name == "gpu" && err == nil {
			return incapable{b}, nil
		}
		return b, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.close(e)
	src := source(4)
	b := load(t, e, src)
	if by, err := ask(t.Context(), e, b); err != nil || by != "cpu" {
		t.Errorf("answered by %q, %v", by, err)
	}
	if f := w.last("gpu"); f.loads+f.calls != 0 {
		t.Error("it was asked for what it cannot do")
	}
}

// incapable is a backend without MSMs.
type incapable struct{ backend.Backend }

func (i incapable) Info() backend.Info { return backend.Info{Name: "gpu"} }

// TestWrongAnswersOfEveryBackend: the fallback's answers are checked too.
func TestWrongAnswersOfEveryBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrong := bytes.Repeat([]byte{9}, 64)
		w := &world{t: t, msm: func(_ context.Context, f *fake) ([]byte, error) {
			if f.name != "cpu" {
				return wrong, nil
			}
			return nil, nil
		}}
		e := w.engine(Config{Backend: "gpu", Fallbacks: []string{"other", "cpu"}})
		defer w.close(e)
		src := source(4)
		src.Check = func(answer []byte, _ Check) (bool, error) {
			if bytes.Equal(answer, wrong) {
				return false, fmt.Errorf("%w: no point", ErrWrongAnswer)
			}
			return false, nil
		}
		b := load(t, e, src)
		for range 3 {
			if by, err := ask(t.Context(), e, b); err != nil || by != "cpu" || e.Backend() != "cpu" {
				t.Errorf("answered by %q, preferred %q, %v: %+v", by, e.Backend(), err, e.Stats())
			}
		}
		time.Sleep(time.Hour) // neither is asked again, ..
		if w.last("gpu").calls != 1 || w.last("other").calls != 1 || e.Stats().Refused != 2 {
			t.Errorf("%+v", e.Stats())
		}
		if st := e.Stats(); !st.Degraded() || st.Backends[0].Failed != 1 || st.Canceled != 0 {
			t.Errorf("%+v", st)
		}
		if err := e.Use(t.Context(), "gpu"); err != nil || e.Backend() != "gpu" { // .. except by Use
			t.Error(err)
		}
		if st := e.Stats(); st.Degraded() {
			t.Errorf("%+v", st)
		}
		want := []string{"wrong answer gpu", "fell back other lasting", "wrong answer other", "returned gpu"}
		if k := w.kinds(); !slices.Equal(k, want) {
			t.Errorf("events %q, want %q", k, want)
		}
	})
}

// TestInfinityIsComputedAgain: a backend that did nothing answered infinity, which passed every
// check.
func TestInfinityIsComputedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		infinity := make([]byte, 64)
		w := &world{t: t, msm: func(_ context.Context, f *fake) ([]byte, error) {
			if f.name == "gpu" {
				return infinity, nil
			}
			return nil, nil
		}}
		e := w.engine(Config{Backend: "gpu", Check: CheckCurve})
		defer w.close(e)
		sum, sums := infinity, 0
		src := source(4)
		src.Check = func(answer []byte, _ Check) (bool, error) { return bytes.Equal(answer, infinity), nil }
		src.Sum = func(context.Context, int, int, []byte) ([]byte, error) {
			sums++
			return sum, nil
		}
		b := load(t, e, src)
		once := func(scalars []byte) (out [][]byte, by string) {
			out, by, err := e.MSM(t.Context(), []Request{{Bases: b, Count: 4, Scalars: scalars}})
			if err != nil {
				t.Fatal(err)
			}
			return out, by
		}
		if _, by := once(make([]byte, 128)); by != "gpu" || sums != 0 {
			t.Errorf("zero scalars: by %q, %d sums", by, sums)
		}
		ones := bytes.Repeat([]byte{1}, 128)
		if _, by := once(ones); by != "gpu" || sums != 1 {
			t.Errorf("infinity indeed: by %q, %d sums", by, sums)
		}
		sum = right
		if out, by := once(ones); by != "cpu" || !bytes.Equal(out[0], right) || sums != 2 {
			t.Errorf("not infinity: by %q, %d sums", by, sums)
		}
	})
}

// TestCompareWithADeadFallback: comparing with a dead fallback once replaced a healthy GPU.
func TestCompareWithADeadFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, open: func(_ context.Context, name string, _ int) error {
			if name == "dead" {
				return fmt.Errorf("%w: for a test", backend.ErrUnavailable)
			}
			return nil
		}}
		e := w.engine(Config{Backend: "gpu", Fallbacks: []string{"dead"}, CompareEvery: 1})
		defer w.close(e)
		b := load(t, e, source(4))
		begin := time.Now()
		for range 5 {
			if by, err := ask(t.Context(), e, b); err != nil || by != "gpu" || e.Backend() != "gpu" {
				t.Errorf("answered by %q, %v", by, err)
			}
		}
		synctest.Wait()
		if k := w.kinds(); len(k) != 5 || k[0] != "not compared gpu" || time.Since(begin) > time.Second {
			t.Errorf("events %q after %v", k, time.Since(begin))
		}
	})
}

// TestFirstAnswerAfterARepair: the first answer after a repair is compared.
func TestFirstAnswerAfterARepair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t}
		e := w.engine(Config{Backend: "gpu", CompareEvery: 1000})
		defer w.close(e)
		b := load(t, e, source(4))
		for i, want := range []uint64{0, 1, 1} {
			if _, err := ask(t.Context(), e, b); err != nil {
				t.Error(err)
			}
			if n := e.Stats().Compared; n != want {
				t.Errorf("%d compared, want %d", n, want)
			}
			if i == 0 {
				w.last("gpu").die()
				synctest.Wait()
			}
		}
	})
}

// TestPanicInABackend: a panic in a backend in this process once kept its references for ever.
func TestPanicInABackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, msm: func(_ context.Context, f *fake) ([]byte, error) {
			if f.name == "gpu" {
				panic("for a test")
			}
			return nil, nil
		}}
		e := w.engine(Config{Backend: "gpu"})
		b := load(t, e, source(4))
		if by, err := ask(t.Context(), e, b); err != nil || by != "cpu" {
			t.Errorf("answered by %q, %v", by, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if st := e.Stats(); st.InFlight != 0 || st.Backends[0].InFlight != 0 {
			t.Errorf("%+v", st)
		}
		w.close(e)
	})
}

// TestShutdown waits for calls, and ends them when its context ends.
func TestShutdown(t *testing.T) {
	for name, c := range map[string]struct{ limit, call, want time.Duration }{
		"waits": {time.Hour, time.Minute, time.Minute},
		"cuts":  {time.Minute, time.Hour, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{t: t, msm: func(ctx context.Context, _ *fake) ([]byte, error) {
					pause(ctx, c.call)
					return nil, ctx.Err()
				}}
				e := w.engine(Config{Backend: "gpu"})
				b := load(t, e, source(4))
				begin := time.Now()
				done := make(chan error)
				go func() {
					_, err := ask(t.Context(), e, b)
					done <- err
				}()
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), c.limit)
				defer cancel()
				cut := make(chan error)
				go func() { cut <- e.Shutdown(ctx) }()
				synctest.Wait()
				if _, err := ask(t.Context(), e, b); !errors.Is(err, backend.ErrClosed) {
					t.Errorf("a new call: %v", err)
				}
				callErr, err := <-done, <-cut
				if took := time.Since(begin); took != c.want {
					t.Errorf("took %v", took)
				}
				if name == "waits" && (callErr != nil || err != nil) ||
					name == "cuts" && (!errors.Is(callErr, backend.ErrClosed) || !errors.Is(err, context.DeadlineExceeded)) {
					t.Errorf("the call: %v; Shutdown: %v", callErr, err)
				}
				w.close(e)
			})
		})
	}
}

// TestCloseHasLimits: Close ends, whatever a backend fails to do.
func TestCloseHasLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t}
		stuck := make(chan struct{})
		e, err := New(t.Context(), Config{Backend: "gpu", Open: func(ctx context.Context, name string) (backend.Backend, error) {
			b, err := w.opener(ctx, name)
			return stubborn{b, stuck}, err
		}})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("Close took %v", took)
		}
		close(stuck)
	})
}

// stubborn is a backend that does not close.
type stubborn struct {
	backend.Backend
	stuck chan struct{}
}

func (s stubborn) Close() error {
	<-s.stuck
	return s.Backend.Close()
}

// phases records what it is told as an Observer.
type phases struct {
	mu  sync.Mutex
	all []string
}

func (p *phases) Begin(ctx context.Context, ph Phase) (context.Context, func(error)) {
	p.note("begin " + string(ph.Kind) + " " + ph.Backend)
	return ctx, func(err error) { p.note(fmt.Sprintf("end %s %v", ph.Kind, err)) }
}

func (p *phases) note(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, s)
}

// TestObserver: an observer is told of the beginning and the end of every phase, in order.
func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t}
		var p phases
		e := w.engine(Config{Backend: "gpu", Observer: &p, CompareEvery: 1})
		defer w.close(e)
		if _, err := ask(t.Context(), e, load(t, e, source(4))); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"begin call ", "begin load gpu", "end load <nil>",
			"begin check gpu", "end check <nil>", "end call <nil>",
			"begin call ", "begin msm gpu", "end msm <nil>",
			"begin check gpu", "end check <nil>",
			"begin compare gpu",
			"begin wait ", "end wait <nil>", // for the fallback, which is opened only now
			"begin load cpu", "end load <nil>",
			"begin msm cpu", "end msm <nil>",
			"end compare <nil>", "end call <nil>",
		}
		if fmt.Sprint(p.all) != fmt.Sprint(want) {
			t.Errorf("phases %q\nwant %q", p.all, want)
		}
	})
}

// under is an observer that puts each phase into the context of the one around it.
type under struct {
	*phases
	name string
}

func (u under) Begin(ctx context.Context, _ Phase) (context.Context, func(error)) {
	u.note(fmt.Sprintf("begin %s in %v", u.name, ctx.Value(u)))
	return context.WithValue(ctx, under{u.phases, "b"}, u.name), func(err error) { u.note(fmt.Sprintf("end %s %v", u.name, err)) }
}

// TestObservers: each observer is told in turn, in the context of the one before. Phases end in the
// opposite order.
func TestObservers(t *testing.T) {
	if Observers() != nil || Observers(nil, nil) != nil {
		t.Error("no observer is one")
	}
	var p phases
	if only := Observers(nil, &p); only != Observer(&p) {
		t.Errorf("of one there is %v", only)
	}
	_, end := Observers(under{&p, "a"}, nil, under{&p, "b"}).Begin(t.Context(), Phase{})
	end(backend.ErrGone)
	want := []string{"begin a in <nil>", "begin b in a", fmt.Sprintf("end b %v", backend.ErrGone), fmt.Sprintf("end a %v", backend.ErrGone)}
	if fmt.Sprint(p.all) != fmt.Sprint(want) {
		t.Errorf("told %q\nwant %q", p.all, want)
	}
}
