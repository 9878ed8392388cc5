package resident

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/vector"
)

// TestRunning: programs end with what run returns, throws or leaves undone, or with End. After Retract they begin again,
// and nothing is held at the end.
func TestRunning(t *testing.T) {
	f := faulty.Backends{Elsewhere: true}
	e, err := engine.New(t.Context(), engine.Config{Open: f.Open, Fallbacks: []string{engine.NoFallback}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	type run = func(context.Context, *vector.Session[fr.Element]) error
	begin := func() *Running[fr.Element] { return NewRunning(t.Context(), vector.BN254, e, 4) }
	until := func(ctx context.Context, _ *vector.Session[fr.Element]) error {
		<-ctx.Done()
		return backend.Ended(ctx)
	}
	wrong := errors.New("wrong")
	for what, c := range map[string]struct {
		run  run
		want error
	}{
		"right": {func(context.Context, *vector.Session[fr.Element]) error { return nil }, nil},
		"wrong": {func(context.Context, *vector.Session[fr.Element]) error { return wrong }, wrong},
		"ended": {func(context.Context, *vector.Session[fr.Element]) error { runtime.Goexit(); return nil }, backend.ErrInvalidInput},
	} {
		r := begin()
		if r.Started() {
			t.Error("started before Start")
		}
		r.Start(c.run)
		by, err := r.Wait()
		if !errors.Is(err, c.want) || (by == "") != (c.want != nil) || !r.Started() {
			t.Errorf("%s: %v by %q", what, err, by)
		}
		r.End()
	}

	r := begin()
	r.Start(func(context.Context, *vector.Session[fr.Element]) error { panic(wrong) })
	func() {
		defer func() {
			if p := recover(); p != wrong {
				t.Errorf("Wait throws %v", p)
			}
		}()
		_, _ = r.Wait()
	}()
	r.End()

	r = begin()
	began := make(chan struct{})
	r.Start(func(ctx context.Context, s *vector.Session[fr.Element]) error { close(began); return until(ctx, s) })
	<-began
	if r.Retract(); r.Started() {
		t.Error("started after Retract")
	}
	r.Start(func(context.Context, *vector.Session[fr.Element]) error { return nil })
	if _, err := r.Wait(); err != nil {
		t.Error(err)
	}
	r.End()

	r = begin()
	r.Start(until)
	r.End()
	if _, err := r.Wait(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	(*Running[fr.Element])(nil).End()

	// Who ends programs does not wait for the backend.
	await := func(what string, is func() bool) {
		t.Helper()
		for since := time.Now(); !is(); time.Sleep(time.Millisecond) {
			if time.Since(since) > 10*time.Second {
				t.Fatalf("%s: %d spaces are held", what, f.Held())
			}
		}
	}
	await("after all", func() bool { return f.Held() == 0 })
	r = begin()
	await("ahead", func() bool { return f.Held() == 1 })
	r.End()
	await("not started", func() bool { return f.Held() == 0 })
}
