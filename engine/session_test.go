package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

var space8 = Space{Elements: backend.Elements{Element: backend.ScalarOf(backend.BN254), Count: 8}}

func open(t testing.TB, e *Engine) *Session {
	t.Helper()
	s, err := e.OpenSession(t.Context(), space8)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// all returns the range of the session's memory, part a part of it.
func (s *Session) all() backend.Range { return backend.Range{Space: s.id, Count: s.space.Count} }

func part(s *Session, offset, count int) backend.Range {
	return backend.Range{Space: s.id, Offset: offset, Count: count}
}

// readAll runs a program that reads the session's memory.
func readAll(ctx context.Context, s *Session) error {
	out, err := s.Run(ctx, []backend.Step{backend.Read{Src: s.all()}})
	if err == nil && !bytes.Equal(out[0], bytes.Repeat([]byte{1}, 256)) {
		err = fmt.Errorf("another answer: %x", out[0])
	}
	return err
}

// commit returns the commitment to four elements.
func commit(s *Session, b *Bases) Commit {
	return Commit{Bases: b, Job: backend.Job{Count: 4, Src: part(s, 0, 4)}}
}

func stats(e *Engine, name string) BackendStats {
	for _, b := range e.Stats().Backends {
		if b.Name == name {
			return b
		}
	}
	return BackendStats{}
}

// TestSession follows a session from its opening to its end.
func TestSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t}
		var p phases
		e := w.engine(Config{Backend: "gpu", Observer: &p, CheckInput: true})
		defer w.close(e)
		b := load(t, e, source(6))
		p.all = nil
		s := open(t, e)
		if s.Backend() != "gpu" || s.Len() != 8 || s.Err() != nil || !s.Current() {
			t.Errorf("%s, %d, %v", s.Backend(), s.Len(), s.Err())
		}
		other, err := s.Beside(t.Context(), 4)
		if err != nil || !s.Together(other) || s.Space() == other.Space() {
			t.Fatal(err)
		}
		var seen []backend.Step
		w.run = func(_ context.Context, _ *fake, steps []backend.Step, _ [][]byte) error {
			seen = steps
			return nil
		}
		c := commit(s, b)
		c.Offset = 2
		steps := []backend.Step{
			backend.Write{Dst: part(s, 0, 2), Input: backend.Input{Bytes: make([]byte, 64)}}, c,
			backend.Invert{Dst: other.all(), Src: part(s, 4, 4)}, backend.Evaluate{Src: []backend.Range{s.all()}, Point: make([]byte, 32)},
		}
		out, err := s.Run(t.Context(), steps)
		if err != nil || len(out) != 4 || len(out[0]) != 0 || !bytes.Equal(out[1], right) || len(out[3]) != 32 {
			t.Errorf("%d answers, %v", len(out), err)
		}
		if len(seen) != 4 || !seen[0].(backend.Write).Check ||
			!reflect.DeepEqual(seen[1], backend.Job{Bases: 1, Offset: 2, Count: 4, Src: part(s, 0, 4)}) {
			t.Errorf("the backend saw %+v", seen)
		}
		st := e.Stats()
		if g := stats(e, "gpu"); st.Sessions != 2 || g.Spaces != 12*32 || g.Programs != 1 || g.Broken != 0 ||
			st.InFlight != 0 || g.InFlight != 0 {
			t.Errorf("%+v", st)
		}
		for what, steps := range map[string][]backend.Step{
			"a range beyond":           {backend.Read{Src: part(s, 1, 8)}},
			"the backend's own bases":  {backend.Job{Bases: 1, Count: 1, Src: part(s, 0, 1)}},
			"no bases":                 {Commit{}},
			"more than there are":      {Commit{Bases: b, Job: backend.Job{Count: s.all().Count, Src: s.all()}}},
			"a step that is not there": {nil},
		} {
			if _, err := s.Run(t.Context(), steps); backend.FaultOf(err) != backend.FaultCaller {
				t.Errorf("%s: %v", what, err)
			}
		}
		b.Close()
		if _, err := s.Run(t.Context(), steps); !errors.Is(err, backend.ErrClosed) {
			t.Errorf("closed bases: %v", err)
		}
		if err := readAll(t.Context(), s); err != nil {
			t.Errorf("after what was the caller's fault: %v", err)
		}
		want := []string{"begin call ", "begin space gpu", "end space <nil>", "end call <nil>", "begin space gpu", "end space <nil>",
			"begin program gpu", "end program <nil>", "begin check gpu", "end check <nil>"}
		if !slices.Equal(p.all[:10], want) {
			t.Errorf("phases %q", p.all)
		}
		for range 2 {
			if err := errors.Join(s.Close(), other.Close()); err != nil {
				t.Error(err)
			}
		}
		if err := readAll(t.Context(), s); !errors.Is(err, backend.ErrClosed) || errors.Is(err, backend.ErrGone) {
			t.Errorf("closed: %v", err)
		}
		if n := len(w.last("gpu").spaces); n != 0 || e.Stats().Sessions != 0 || stats(e, "gpu").Spaces != 0 {
			t.Errorf("%d spaces left, %+v", n, e.Stats())
		}
		if k := w.kinds(); len(k) != 0 {
			t.Errorf("events %q", k)
		}
	})
}

// TestSessionDiesWithItsBackend: the session says that its backend died, and the next session is on
// the repaired backend.
func TestSessionDiesWithItsBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, open: func(ctx context.Context, _ string, nth int) error {
			if nth > 1 {
				pause(ctx, time.Second)
			}
			return ctx.Err()
		}}
		e := w.engine(Config{Backend: "gpu"})
		defer w.close(e)
		s := open(t, e)
		w.run = func(_ context.Context, f *fake, _ []backend.Step, _ [][]byte) error {
			f.die()
			return nil
		}
		if err := readAll(t.Context(), s); !errors.Is(err, backend.ErrGone) {
			t.Errorf("under a program: %v", err)
		}
		w.run = nil
		if err := s.Err(); !errors.Is(err, backend.ErrGone) || s.Current() {
			t.Errorf("afterwards: %v", err)
		}
		if err := readAll(t.Context(), s); !errors.Is(err, backend.ErrGone) || !strings.Contains(err.Error(), "are lost") {
			t.Errorf("the next program: %v", err)
		}
		begin := time.Now()
		again := open(t, e)
		if took := time.Since(begin); took != time.Second || again.Backend() != "gpu" || s.Together(again) {
			t.Errorf("another session on %s after %v", again.Backend(), took)
		}
		if err := readAll(t.Context(), again); err != nil {
			t.Error(err)
		}
		if st := e.Stats(); st.Sessions != 1 || stats(e, "gpu").Broken != 1 {
			t.Errorf("%+v", st)
		}
		if err := errors.Join(s.Close(), again.Close()); err != nil {
			t.Error(err)
		}
		if k := w.kinds(); !slices.Equal(k, []string{"gone gpu", "restarted gpu"}) {
			t.Errorf("events %q", k)
		}
	})
}

// TestSessionsHoldNothingUp: Use and Close do not wait for sessions that nobody uses, and such a
// session says what happened.
func TestSessionsHoldNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t}
		e := w.engine(Config{Backend: "gpu"})
		s := open(t, e)
		begin := time.Now()
		if err := e.Use(t.Context(), "other"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := w.last("gpu").closes; n != 1 || time.Since(begin) > time.Second {
			t.Errorf("the old backend was closed %d times, after %v", n, time.Since(begin))
		}
		if err := readAll(t.Context(), s); !errors.Is(err, backend.ErrGone) ||
			!strings.Contains(err.Error(), "replaced") && !strings.Contains(err.Error(), "closed") {
			t.Errorf("replaced: %v", err)
		}
		last := open(t, e)
		begin = time.Now()
		w.close(e)
		if time.Since(begin) > time.Second {
			t.Errorf("Close took %v", time.Since(begin))
		}
		if err := readAll(t.Context(), last); !errors.Is(err, backend.ErrClosed) || errors.Is(err, backend.ErrGone) {
			t.Errorf("the engine is closed: %v", err)
		}
		if err := errors.Join(s.Close(), last.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestSessionGoesWhereItCan: a session passes over backends without the capability or the room.
func TestSessionGoesWhereItCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t}
		full := func(_ context.Context, f *fake, _ int) error {
			if f.name == "cpu" {
				return nil
			}
			return fmt.Errorf("%w: 5 bytes are left", backend.ErrOutOfMemory)
		}
		for _, fallback := range []string{"cpu", NoFallback} {
			w.space, w.events = full, nil
			e := w.engine(Config{Backend: "gpu", Fallbacks: []string{fallback}})
			s, err := e.OpenSession(t.Context(), space8)
			if fallback == "cpu" {
				if err != nil || s.Backend() != "cpu" || s.Current() {
					t.Errorf("%v", err)
				}
				if k := w.kinds(); !slices.Equal(k, []string{"failed gpu", "fell back cpu"}) {
					t.Errorf("events %q", k)
				}
				s.Close()
			} else if !errors.Is(err, backend.ErrOutOfMemory) || !strings.Contains(err.Error(), "8 scalars of bn254, 256 bytes") ||
				!strings.Contains(err.Error(), "5 bytes are left") {
				t.Errorf("no room: %v", err)
			}
			w.close(e)

			w.space = nil
			e, err = New(t.Context(), Config{Backend: "gpu", Fallbacks: []string{fallback},
				Open: func(ctx context.Context, name string) (backend.Backend, error) {
					b, err := w.opener(ctx, name)
					if name == "gpu" && err == nil {
						return incapable{b}, nil
					}
					return b, err
				}})
			if err != nil {
				t.Fatal(err)
			}
			if s, err = e.OpenSession(t.Context(), space8); fallback == "cpu" && (err != nil || s.Backend() != "cpu" || !s.Current()) {
				t.Errorf("past one that cannot: %v", err)
			}
			if fallback == NoFallback && (!errors.Is(err, backend.ErrUnsupported) ||
				!strings.Contains(err.Error(), "gpu has no programs over scalars of bn254")) {
				t.Errorf("nobody can: %v", err)
			}
			if _, err := e.OpenSession(t.Context(),
				Space{Elements: backend.Elements{Element: backend.ScalarOf(backend.BN254), Count: -1}}); backend.FaultOf(err) == backend.FaultNone {
				t.Error("a negative space")
			}
			w.close(e)
		}
	})
}

// TestRepeat: f is called again if it failed because of its session's backend, and only then.
func TestRepeat(t *testing.T)      { testRepeat(t, false) }
func TestRepeatAhead(t *testing.T) { testRepeat(t, true) } // with a session opened ahead

func testRepeat(t *testing.T, ahead bool) {
	mine := errors.New("the witness is wrong")
	for name, c := range map[string]struct {
		run   func(f *fake, out [][]byte) error
		f     func(err error) error // turns a program's error into f's
		calls int
		by    string
		err   error
		kinds []string
	}{
		"well": {calls: 1, by: "gpu"},
		"dies once": {
			run: func(f *fake, _ [][]byte) error {
				if f.nth == 1 {
					f.die()
				}
				return nil
			},
			calls: 2, by: "gpu", kinds: []string{"gone gpu", "restarted gpu"},
		},
		"always dies": {
			run: func(f *fake, _ [][]byte) error {
				if f.name == "gpu" {
					f.die()
				}
				return nil
			},
			calls: 3, by: "cpu", // after a second death in a row it does not wait
		},
		"dies, and f hides it": {
			run: func(f *fake, _ [][]byte) error {
				if f.nth == 1 {
					f.die()
				}
				return nil
			},
			f: func(err error) error {
				if err != nil {
					return mine
				}
				return nil
			},
			calls: 2, by: "gpu", kinds: []string{"gone gpu", "restarted gpu"},
		},
		"fails": {
			run: func(f *fake, _ [][]byte) error {
				if f.name == "gpu" {
					return fmt.Errorf("%w: no room for a transform", backend.ErrOutOfMemory)
				}
				return nil
			},
			calls: 2, by: "cpu", kinds: []string{"failed gpu", "fell back cpu"},
		},
		"answers too little": {
			run: func(f *fake, out [][]byte) error {
				if f.name == "gpu" {
					out[0] = out[0][1:]
				}
				return nil
			},
			calls: 2, by: "cpu", kinds: []string{"wrong answer gpu", "fell back cpu lasting"},
		},
		"f finds it wrong": {
			f: func() func(error) error {
				n := 0
				return func(err error) error {
					if n++; n == 1 && err == nil {
						return fmt.Errorf("the proof does not verify: %w", ErrWrongAnswer)
					}
					return err
				}
			}(),
			calls: 2, by: "cpu", kinds: []string{"wrong answer gpu", "fell back cpu lasting"},
		},
		"f fails by itself": {f: func(error) error { return mine }, calls: 1, by: "gpu", err: mine},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{t: t}
				if c.run != nil {
					w.run = func(_ context.Context, f *fake, _ []backend.Step, out [][]byte) error { return c.run(f, out) }
				}
				e := w.engine(Config{Backend: "gpu"})
				defer w.close(e)
				calls := 0
				var sessions []*Session
				repeat := func(ctx context.Context, f func(context.Context, *Session) error) (string, error) {
					return e.Repeat(ctx, space8, f)
				}
				var first *Session
				if ahead {
					var err error
					if first, err = e.OpenSession(t.Context(), space8); err != nil {
						t.Fatal(err)
					}
					repeat = first.Repeat
				}
				by, err := repeat(t.Context(), func(ctx context.Context, s *Session) error {
					calls++
					sessions = append(sessions, s)
					err := readAll(ctx, s)
					if c.f != nil {
						err = c.f(err)
					}
					return err
				})
				if ahead && sessions[0] != first {
					t.Error("not in the session that was open")
				}
				want := c.calls
				if ahead && name == "always dies" {
					want++ // opening a session proves a backend
				}
				if calls != want || by != c.by || !errors.Is(err, c.err) || (err != nil) != (c.err != nil) {
					t.Errorf("%d calls, by %q, %v", calls, by, err)
				}
				for i, s := range sessions {
					if err := s.Err(); !errors.Is(err, backend.ErrClosed) {
						t.Errorf("session %d afterwards: %v", i, err)
					}
				}
				if k := w.kinds(); c.kinds != nil && !slices.Equal(k, c.kinds) {
					t.Errorf("events %q", k)
				}
				if st := e.Stats(); st.Sessions != 0 || st.InFlight != 0 || c.by == "gpu" && st.Refused != 0 ||
					strings.Contains(name, "wrong") && st.Refused != 1 {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

// TestRepeatAheadElsewhere: if a session opened ahead is not on the backend that a call gets now,
// it is closed, and Repeat opens another.
func TestRepeatAheadElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		between func(ctx context.Context, w *world, e *Engine) error
		by      string
	}{
		"replaced": {func(ctx context.Context, _ *world, e *Engine) error { return e.Use(ctx, "other") }, "other"},
		"dead": {func(_ context.Context, w *world, _ *Engine) error {
			w.last("gpu").die()
			time.Sleep(time.Minute)
			return nil
		}, "gpu"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{t: t}
				e := w.engine(Config{Backend: "gpu"})
				defer w.close(e)
				first, err := e.OpenSession(t.Context(), space8)
				if err != nil {
					t.Fatal(err)
				}
				if err := c.between(t.Context(), w, e); err != nil {
					t.Fatal(err)
				}
				by, err := first.Repeat(t.Context(), func(ctx context.Context, s *Session) error {
					if s == first || !errors.Is(first.Err(), backend.ErrClosed) {
						t.Error("the session is used, or open")
					}
					return readAll(ctx, s)
				})
				if by != c.by || err != nil {
					t.Errorf("by %q, %v", by, err)
				}
				if st := e.Stats(); st.Sessions != 0 || st.InFlight != 0 {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

// TestRepeatEnds: Repeat ends with its context, with the engine, and when no backend is left. A
// panic of f leaves nothing behind.
func TestRepeatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t}
		e := w.engine(Config{Backend: "gpu", Fallbacks: []string{NoFallback}, Restarts: -1})
		ctx, cancel := context.WithCancel(t.Context())
		_, err := e.Repeat(ctx, space8, func(ctx context.Context, s *Session) error {
			cancel()
			return readAll(ctx, s)
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		w.run = func(_ context.Context, f *fake, _ []backend.Step, _ [][]byte) error { f.die(); return nil }
		_, err = e.Repeat(t.Context(), space8, func(ctx context.Context, s *Session) error { return readAll(ctx, s) })
		if !errors.Is(err, backend.ErrGone) {
			t.Errorf("nobody is left: %v", err)
		}
		w.run = nil
		func() {
			defer func() { _ = recover() }()
			_, _ = e.Repeat(t.Context(), space8, func(context.Context, *Session) error { panic("for a test") })
		}()
		if st := e.Stats(); st.InFlight != 0 || st.Sessions != 0 {
			t.Errorf("after a panic: %+v", st)
		}
		w.close(e)
		if _, err := e.Repeat(t.Context(), space8, nil); !errors.Is(err, backend.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	})
}

// TestRepeatIsACall: Use and Shutdown wait for f, which finishes where it began. A shutdown that
// runs out of time ends it too.
func TestRepeatIsACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t}
		e := w.engine(Config{Backend: "gpu"})
		var used, free, ended atomic.Bool
		go func() {
			by, err := e.Repeat(t.Context(), space8, func(ctx context.Context, s *Session) error {
				idle, err := s.Beside(ctx, 1)
				if err != nil {
					return err
				}
				if err := e.Use(ctx, "other"); err != nil {
					return err
				}
				used.Store(true)
				if s.Current() {
					t.Error("a session on a backend that was replaced is current")
				}
				free.Store(errors.Is(idle.Err(), backend.ErrGone))
				time.Sleep(time.Second)
				return readAll(ctx, s)
			})
			if by != "gpu" || err != nil {
				t.Errorf("by %q, %v", by, err)
			}
			ended.Store(true)
		}()
		time.Sleep(time.Millisecond)
		if !used.Load() || !free.Load() || w.last("gpu").closes != 0 {
			t.Errorf("Use returned: %v; another session of the old backend is lost: %v; closed %d times",
				used.Load(), free.Load(), w.last("gpu").closes)
		}
		err := e.Shutdown(t.Context())
		synctest.Wait() // until what follows the end of f is done, which takes no time
		if err != nil || !ended.Load() {
			t.Errorf("Shutdown before the end of f: %v", err)
		}

		e = w.engine(Config{Backend: "gpu"})
		done := make(chan error, 1)
		go func() {
			_, err := e.Repeat(t.Context(), space8, func(ctx context.Context, s *Session) error {
				for {
					if err := readAll(ctx, s); err != nil {
						return err
					}
					time.Sleep(time.Second)
				}
			})
			done <- err
		}()
		time.Sleep(time.Millisecond)
		short, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := e.Shutdown(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, backend.ErrClosed) {
			t.Errorf("ended by a shutdown: %v", err)
		}
		w.close(e)
	})
}

// TestProgramOnAHungBackend: pings find that the backend hangs, and the program ends.
func TestProgramOnAHungBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t}
		hang := func(ctx context.Context, f *fake) error {
			if f.name == "cpu" || f.nth > 1 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}
		w.ping = hang
		w.run = func(ctx context.Context, f *fake, _ []backend.Step, _ [][]byte) error { return hang(ctx, f) }
		e := w.engine(Config{Backend: "gpu", PingEvery: time.Second, PingTimeout: time.Second})
		defer w.close(e)
		s := open(t, e)
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := readAll(short, s); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a deadline: %v", err)
		}
		begin := time.Now()
		if err := readAll(t.Context(), s); !errors.Is(err, backend.ErrGone) || !strings.Contains(err.Error(), "hangs") ||
			time.Since(begin) > 5*time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		if err := readAll(t.Context(), open(t, e)); err != nil {
			t.Error(err)
		}
	})
}

// TestProgramAnswersAreChecked: answers of programs are checked as those of MSMs are. They are
// elements, points or infinity, and may be compared with another backend's.
func TestProgramAnswersAreChecked(t *testing.T) {
	infinity := make([]byte, 64)
	zeros := make([]byte, 128)
	evaluate := func(s *Session) backend.Step {
		return backend.Evaluate{Src: []backend.Range{s.all()}, Point: make([]byte, 32)}
	}
	overwrite := func(s *Session) backend.Step { return backend.Invert{Dst: part(s, 3, 2), Src: part(s, 5, 2)} }
	for name, c := range map[string]struct {
		commit  []byte // the backend's answer
		vector  []byte // what a read of the vector returns
		sum     []byte // the right sum
		before  func(*Session) backend.Step
		after   func(*Session) backend.Step
		every   int
		bad     bool // Space.Check refuses the elements
		wrong   bool
		sums    int
		reads   int
		compare uint64
		kinds   []string
	}{
		"right":                       {commit: right},
		"off the curve":               {commit: bytes.Repeat([]byte{9}, 64), wrong: true},
		"an element above r":          {commit: right, after: evaluate, bad: true, wrong: true},
		"infinity":                    {commit: infinity, vector: bytes.Repeat([]byte{1}, 128), sum: infinity, sums: 1, reads: 1},
		"infinity of zeros":           {commit: infinity, vector: zeros, reads: 1},
		"not infinity":                {commit: infinity, vector: bytes.Repeat([]byte{1}, 128), sum: right, sums: 1, reads: 1, wrong: true},
		"infinity of what is no more": {commit: infinity, after: overwrite, kinds: []string{"not compared gpu"}},
		"compared": {commit: right, vector: bytes.Repeat([]byte{1}, 128), before: overwrite,
			after: overwrite, every: 1, reads: 1, compare: 2},
		"compared, not the same": {commit: bytes.Repeat([]byte{8}, 64), vector: zeros, every: 1, reads: 1, compare: 1, wrong: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reads := 0
				var secret []byte
				w := &world{t: t}
				w.run = func(_ context.Context, f *fake, steps []backend.Step, out [][]byte) error {
					for i, s := range steps {
						switch s := s.(type) {
						case backend.Job:
							out[i] = bytes.Clone(c.commit)
						case backend.Read:
							if s.Src.Count != 4 {
								break // the program is compared as a whole
							}
							reads++
							secret = bytes.Clone(c.vector)
							out[i] = secret
						}
					}
					return nil
				}
				e := w.engine(Config{Backend: "gpu", Check: CheckCurve, CompareEvery: c.every})
				defer w.close(e)
				sums := 0
				src := source(4)
				src.Check = func(answer []byte, _ Check) (bool, error) {
					if answer[0] == 9 {
						return false, ErrWrongAnswer
					}
					return bytes.Equal(answer, infinity), nil
				}
				src.Sum = func(_ context.Context, offset, count int, scalars []byte) ([]byte, error) {
					if sums++; offset != 0 || count != 4 || !bytes.Equal(scalars, c.vector) {
						t.Errorf("a sum of %d from %d, scalars %x", count, offset, scalars)
					}
					return c.sum, nil
				}
				b := load(t, e, src)
				sp := space8
				sp.Check = func([]byte) error {
					if c.bad {
						return fmt.Errorf("%w: above r", ErrWrongAnswer)
					}
					return nil
				}
				s, err := e.OpenSession(t.Context(), sp)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				var steps []backend.Step
				if c.before != nil {
					steps = append(steps, c.before(s))
				}
				at := len(steps)
				steps = append(steps, commit(s, b))
				if c.after != nil {
					steps = append(steps, c.after(s))
				}
				before := e.Stats().Compared
				out, err := s.Run(t.Context(), steps)
				if c.wrong != errors.Is(err, ErrWrongAnswer) || !c.wrong && (err != nil || len(out) != len(steps) || !bytes.Equal(out[at], c.commit)) {
					t.Errorf("%d answers, %v", len(out), err)
				}
				if sums != c.sums || reads != c.reads || e.Stats().Compared-before != c.compare {
					t.Errorf("%d sums, %d reads, %d compared", sums, reads, e.Stats().Compared)
				}
				if !zero(secret) {
					t.Error("scalars that were read are not wiped")
				}
				if c.wrong {
					if err := s.Err(); !errors.Is(err, backend.ErrGone) || e.Stats().Refused != 1 {
						t.Errorf("after a wrong answer: %v, %d refused", err, e.Stats().Refused)
					}
				}
				if k := w.kinds(); c.kinds != nil && !slices.Equal(k, c.kinds) {
					t.Errorf("events %q", k)
				}
			})
		})
	}
}

// TestPanicInAProgram: a panic in a backend in this process counts as the backend's fault.
func TestPanicInAProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, run: func(context.Context, *fake, []backend.Step, [][]byte) error { panic("for a test") }}
		e := w.engine(Config{Backend: "gpu"})
		defer w.close(e)
		s := open(t, e)
		if err := readAll(t.Context(), s); !errors.Is(err, backend.ErrInternal) || s.Err() != nil {
			t.Errorf("%v", err)
		}
		if st := e.Stats(); st.InFlight != 0 {
			t.Errorf("%+v", st)
		}
	})
}
