package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/pippin-zk/pippin/backend"
)

// keeping runs f with an engine on one backend, what it keeps, and a function that opens a session of
// so many elements whose memory is kept. asked counts the requests for memory.
func keeping(t *testing.T, f func(t *testing.T, w *world, e *Engine, k *Kept, open func(count int) *Session, asked *int)) {
	synctest.Test(t, func(t *testing.T) {
		w, asked := &world{t: t}, 0
		w.space = func(context.Context, *fake, int) error { asked++; return nil }
		e := w.engine(Config{Backend: "gpu"})
		k := e.Keep()
		f(t, w, e, k, func(count int) *Session {
			t.Helper()
			space := space8
			space.Count, space.Keep = count, k
			s, err := e.OpenSession(t.Context(), space)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}, &asked)
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		if n := len(w.last("gpu").spaces); n > 0 {
			t.Errorf("%d spaces are left", n)
		}
		w.close(e)
	})
}

func closed(t *testing.T, all ...*Session) {
	t.Helper()
	for _, s := range all {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestKept: sessions of as many elements with the same Kept get the memory of closed ones, others get
// memory of their own, and what is kept counts as the backend's.
func TestKept(t *testing.T) {
	keeping(t, func(t *testing.T, _ *world, e *Engine, _ *Kept, open func(int) *Session, asked *int) {
		s := open(8)
		beside, err := s.Beside(t.Context(), 4)
		if err != nil {
			t.Fatal(err)
		}
		ids := []backend.SpaceID{s.Space(), beside.Space()}
		closed(t, s, beside)
		if st := e.Stats(); st.Sessions != 0 || stats(e, "gpu").Spaces != 12*32 {
			t.Errorf("%d sessions, %d bytes", st.Sessions, stats(e, "gpu").Spaces)
		}
		again, small, second := open(8), open(4), open(8)
		if again.Space() != ids[0] || small.Space() != ids[1] || *asked != 3 {
			t.Errorf("spaces %d, %d, %d after %v, %d were asked for", again.Space(), small.Space(), second.Space(), ids, *asked)
		}
		if err := errors.Join(readAll(t.Context(), again), readAll(t.Context(), second)); err != nil {
			t.Error(err)
		}
		closed(t, again, small, second, second)
		other := e.Keep()
		space := space8
		for _, by := range []*Kept{nil, other} {
			space.Keep = by
			s, err := e.OpenSession(t.Context(), space)
			if err != nil || s.Space() <= second.Space() {
				t.Errorf("memory of another: %v", err)
			}
			closed(t, s)
		}
		if err := errors.Join(other.Close(), other.Close()); err != nil {
			t.Error(err)
		}
		if stats(e, "gpu").Spaces != 20*32 {
			t.Errorf("%d bytes are kept", stats(e, "gpu").Spaces)
		}
	})
}

// TestKeptAfterFailure: after a program has failed, memory that sessions had then is not kept.
func TestKeptAfterFailure(t *testing.T) {
	keeping(t, func(t *testing.T, w *world, e *Engine, k *Kept, open func(int) *Session, _ *int) {
		kept, s, beside := open(8), open(8), open(4)
		closed(t, kept)
		w.run = func(context.Context, *fake, []backend.Step, [][]byte) error {
			return fmt.Errorf("%w: no", backend.ErrInternal)
		}
		if err := readAll(t.Context(), s); err == nil {
			t.Error("no failure")
		}
		closed(t, s, beside)
		if n := len(w.last("gpu").spaces); n != 1 {
			t.Errorf("%d spaces are kept", n)
		}
		w.run = nil
		space := space8
		space.Keep = k
		for i := range 2 { // the second session finds what the first one leaves
			if _, err := e.Repeat(t.Context(), space, func(ctx context.Context, s *Session) error {
				if s.Space() != kept.Space() {
					t.Errorf("call %d has another space", i)
				}
				return readAll(ctx, s)
			}); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestKeptGivesWay: what is kept is freed for a session that finds no room, is bounded, and goes with
// its owner and its backend.
func TestKeptGivesWay(t *testing.T) {
	keeping(t, func(t *testing.T, w *world, e *Engine, k *Kept, open func(int) *Session, _ *int) {
		bytes := func() int64 { return stats(e, "gpu").Spaces }
		closed(t, open(8), open(4))
		w.space = func(_ context.Context, f *fake, _ int) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			if len(f.spaces) > 0 {
				return backend.ErrOutOfMemory
			}
			return nil
		}
		s := open(16)
		if bytes() != 16*32 {
			t.Errorf("%d bytes beside a session that needed all", bytes())
		}
		closed(t, s)
		closed(t, open(8))
		w.load = func(_ context.Context, f *fake, _ *backend.Bases) error { return w.space(t.Context(), f, 0) }
		if b := load(t, e, source(6)); bytes() != 0 || stats(e, "gpu").Resident == 0 {
			t.Errorf("%d bytes beside bases that needed all", bytes())
		} else {
			b.Close()
		}
		w.space, w.load = nil, nil
		closed(t, open(mostKeptBytes/32), open(1))
		if bytes() != mostKeptBytes {
			t.Errorf("%d bytes are kept", bytes())
		}
		closed(t, open(mostKeptBytes/32+1))
		e.slots[0].gen.freeKept()
		var all []*Session
		for i := range mostKept + 2 {
			all = append(all, open(i+1))
		}
		closed(t, all...)
		if n := len(w.last("gpu").spaces); n != mostKept {
			t.Errorf("%d spaces are kept", n)
		}
		s = open(8)
		if err := k.Close(); err != nil || bytes() != 8*32 {
			t.Errorf("%d bytes, %v", bytes(), err)
		}
		closed(t, s)
		if bytes() != 0 {
			t.Errorf("kept after Close: %d bytes", bytes())
		}
	})
	keeping(t, func(t *testing.T, w *world, e *Engine, _ *Kept, open func(int) *Session, asked *int) {
		closed(t, open(8))
		if err := e.Use(t.Context(), "other"); err != nil {
			t.Fatal(err)
		}
		s := open(8)
		if s.Backend() != "other" || *asked != 2 {
			t.Errorf("on %s, %d were asked for", s.Backend(), *asked)
		}
		closed(t, s)
		clear(w.last("gpu").spaces) // they went with it
		if stats(e, "other").Spaces != 8*32 {
			t.Error("nothing is kept")
		}
	})
}
