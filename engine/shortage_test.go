package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// TestShortagePasses: bases that had no room are asked for again. After a shortage, however long it
// was, calls are back within 5 s, or within a hundred times what a refused load takes, at most a
// minute; until then the backend is asked with pauses.
func TestShortagePasses(t *testing.T) {
	for name, row := range map[string]struct {
		lasts, refusal time.Duration
		back           time.Duration
		asked          int64 // at most
	}{
		"short":          {300 * time.Millisecond, 0, 2 * time.Second, 2},
		"ten seconds":    {10 * time.Second, 0, 5 * time.Second, 6},
		"an hour":        {time.Hour, 0, 5 * time.Second, 910},
		"slow refusals":  {time.Hour, 200 * time.Millisecond, 21 * time.Second, 190},
		"very slow ones": {3 * time.Hour, 20 * time.Second, 90 * time.Second, 190},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked, free atomic.Int64
				w := &world{t: t, load: func(ctx context.Context, f *fake, _ *backend.Bases) error {
					if f.name == "cpu" || free.Load() != 0 {
						return nil
					}
					asked.Add(1)
					pause(ctx, row.refusal)
					return fmt.Errorf("%w: another program has the memory", backend.ErrOutOfMemory)
				}}
				e := w.engine(Config{Backend: "gpu"})
				defer w.close(e)
				b := load(t, e, source(4))
				call := func() string {
					by, err := ask(t.Context(), e, b)
					if err != nil {
						t.Fatal(err)
					}
					return by
				}
				for began := time.Now(); time.Since(began) < row.lasts; time.Sleep(50 * time.Millisecond) {
					if by := call(); by != "cpu" {
						t.Fatalf("answered by %s", by)
					}
				}
				if n := asked.Load(); n > row.asked || n < row.asked/2 {
					t.Errorf("asked %d times in %v, at most %d are expected", n, row.lasts, row.asked)
				}
				free.Store(1)
				began := time.Now()
				for call() != "gpu" {
					time.Sleep(50 * time.Millisecond)
					if time.Since(began) > row.back {
						t.Fatalf("not back %v after the shortage", row.back)
					}
				}
				if r := e.Stats().Backends[0].Resident; r != b.src.Size() {
					t.Errorf("%d bytes are resident, of bases with %d", r, b.src.Size())
				}
			})
		})
	}
}

// TestOneAsksAgain: while one call asks whether there is room again, others go to the next backend
// at once.
func TestOneAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var loads atomic.Int64
		w := &world{t: t, load: func(ctx context.Context, f *fake, _ *backend.Bases) error {
			if f.name == "cpu" {
				return nil
			}
			if loads.Add(1) > 1 {
				pause(ctx, time.Minute)
			}
			return fmt.Errorf("%w: for a test", backend.ErrOutOfMemory)
		}}
		e := w.engine(Config{Backend: "gpu"})
		defer w.close(e)
		b := load(t, e, source(4))
		time.Sleep(5 * time.Second)
		go ask(t.Context(), e, b)
		synctest.Wait()
		began := time.Now()
		if by, err := ask(t.Context(), e, b); err != nil || by != "cpu" || time.Since(began) != 0 || loads.Load() != 2 {
			t.Errorf("answered by %q after %v, %v; the card was asked to load %d times", by, time.Since(began), err, loads.Load())
		}
		time.Sleep(2 * time.Minute)
	})
}

// TestAskingAgainEndsWithItsCall: a call that ends while it asks leaves the next one to ask.
func TestAskingAgainEndsWithItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var loads atomic.Int64
		w := &world{t: t, load: func(ctx context.Context, f *fake, _ *backend.Bases) error {
			if f.name == "cpu" {
				return nil
			}
			switch loads.Add(1) {
			case 1:
				return fmt.Errorf("%w: for a test", backend.ErrOutOfMemory)
			case 2:
				<-ctx.Done()
				return backend.Ended(ctx)
			}
			return nil
		}}
		e := w.engine(Config{Backend: "gpu"})
		defer w.close(e)
		b := load(t, e, source(4))
		time.Sleep(5 * time.Second)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := ask(short, e, b); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the call that asked and ended: %v", err)
		}
		if by, err := ask(t.Context(), e, b); err != nil || by != "gpu" || loads.Load() != 3 {
			t.Errorf("the next one: answered by %q, %v; the card was asked to load %d times", by, err, loads.Load())
		}
	})
}

// TestReadOnceIsNotAskedAgain: bases that were to be read during Load only are not read later, where
// there was no room for them.
func TestReadOnceIsNotAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var loads atomic.Int64
		w := &world{t: t, load: func(_ context.Context, f *fake, _ *backend.Bases) error {
			if f.name == "cpu" {
				return nil
			}
			loads.Add(1)
			return fmt.Errorf("%w: for a test", backend.ErrOutOfMemory)
		}}
		e := w.engine(Config{Backend: "gpu"})
		defer w.close(e)
		src := source(4)
		src.ReadOnce = true
		b := load(t, e, src)
		for range 3 {
			time.Sleep(time.Minute)
			if by, err := ask(t.Context(), e, b); err != nil || by != "cpu" || loads.Load() != 1 {
				t.Errorf("answered by %q, %v; the card was asked to load %d times", by, err, loads.Load())
			}
		}
	})
}
