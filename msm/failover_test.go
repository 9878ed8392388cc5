package msm

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bn254"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
)

func TestSwapUnderLoad(t *testing.T) {
	w := &world{t: t}
	e := w.engine(engine.Config{Backend: "a"})
	points, scalars, want := input(64)
	b := load(t, e, points)
	ctx, stop := context.WithCancel(t.Context())
	var calls atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				got, err := b.MSM(t.Context(), scalars)
				if err != nil || got != want {
					t.Errorf("wrong point, %v", err)
					return
				}
				calls.Add(1)
			}
		})
	}
	for i := range 20 {
		name := []string{"b", "a", "cpu"}[i%3]
		if err := e.Use(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if e.Backend() != name || e.Info().Name != name {
			t.Errorf("current is %s", e.Backend())
		}
		for before := calls.Load(); calls.Load() < before+5 && !t.Failed(); {
			time.Sleep(time.Millisecond)
		}
	}
	stop()
	wg.Wait()
}

func TestCallsFinishOnTheOldBackend(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	w := &world{t: t}
	w.msm = func(_ context.Context, f *fake, out [][]byte) error {
		if f.name == "slow" {
			close(entered)
			<-leave
		}
		return nil
	}
	e := w.engine(engine.Config{Backend: "slow"})
	points, scalars, want := input(4)
	b := load(t, e, points)
	done := make(chan error)
	go func() {
		got, err := b.MSM(context.Background(), scalars)
		if err == nil && got != want {
			err = errors.New("wrong point")
		}
		done <- err
	}()
	<-entered
	if err := e.Use(t.Context(), "quick"); err != nil {
		t.Fatal(err)
	}
	if got, err := b.MSM(t.Context(), scalars); err != nil || got != want {
		t.Fatalf("new call during an old one: %v", err)
	}
	if w.opened[0].closes.Load() != 0 {
		t.Error("the old backend was closed under its call")
	}
	close(leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestUseFailsWithoutChange(t *testing.T) {
	w := &world{t: t}
	w.open = func(name string, _ int) error {
		if name == "missing" {
			return fmt.Errorf("%w: no such plugin", backend.ErrUnavailable)
		}
		return nil
	}
	w.load = func(f *fake, b backend.Bases) error {
		if f.name == "small" {
			return fmt.Errorf("%w: %d bytes", backend.ErrOutOfMemory, b.Size())
		}
		return nil
	}
	e := w.engine(engine.Config{})
	points, scalars, want := input(4)
	b := load(t, e, points)
	for name, sentinel := range map[string]error{"missing": backend.ErrUnavailable, "small": backend.ErrOutOfMemory} {
		if err := e.Use(t.Context(), name); !errors.Is(err, sentinel) {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := b.MSM(t.Context(), scalars); err != nil || got != want || e.Backend() != "cpu" {
			t.Errorf("after a failed Use: %v", err)
		}
	}
	if _, err := engine.New(t.Context(), engine.Config{Open: w.opener, Backend: "missing"}); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("New on a missing backend: %v", err)
	}
}

// gone makes the backend "gpu" die at every k-th call.
func gone(k int64) func(context.Context, *fake, [][]byte) error {
	var n atomic.Int64
	dead := sync.Map{}
	return func(_ context.Context, f *fake, _ [][]byte) error {
		if f.name != "gpu" {
			return nil
		}
		if _, is := dead.Load(f); is || n.Add(1)%k == 0 {
			dead.Store(f, true)
			return fmt.Errorf("%w: killed", backend.ErrGone)
		}
		return nil
	}
}

func TestDeadBackendIsReopened(t *testing.T) {
	w := &world{t: t, msm: gone(5)}
	e := w.engine(engine.Config{Backend: "gpu"})
	points, scalars, want := input(8)
	b := load(t, e, points)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 20 {
				if got, err := b.MSM(t.Context(), scalars); err != nil || got != want {
					t.Errorf("wrong point, %v", err)
				}
			}
		})
	}
	wg.Wait()
	if !w.saw(engine.EventRestart) || len(w.opened) < 5 {
		t.Errorf("%d backends, events %v", len(w.opened), w.events)
	}
	// One death, one restart: never more openings than deaths allow.
	if n := len(w.opened); n > 60/4+3 {
		t.Errorf("%d openings for about 15 deaths", n)
	}
}

func TestRestartsUsedUp(t *testing.T) {
	w := &world{t: t, msm: gone(2)}
	w.open = func(name string, nth int) error {
		if name == "gpu" && nth > 2 {
			return fmt.Errorf("%w: it died too often", backend.ErrUnavailable)
		}
		return nil
	}
	e := w.engine(engine.Config{Backend: "gpu"})
	points, scalars, want := input(8)
	b := load(t, e, points)
	for range 6 {
		if got, err := b.MSM(t.Context(), scalars); err != nil || got != want {
			t.Fatalf("wrong point, %v", err)
		}
	}
	if e.Backend() != "cpu" || !w.saw(engine.EventFallback) {
		t.Errorf("on %s after %v", e.Backend(), w.events)
	}
	if err := e.Use(t.Context(), "cpu"); err != nil || !w.saw(engine.EventSwapped) {
		t.Errorf("%v, %v", err, w.kinds())
	}
}

func TestWithoutFallback(t *testing.T) {
	w := &world{t: t, msm: gone(1)}
	w.open = func(name string, nth int) error {
		if nth > 1 {
			return fmt.Errorf("%w: used up", backend.ErrUnavailable)
		}
		return nil
	}
	e := w.engine(engine.Config{Backend: "gpu", Fallbacks: []string{engine.NoFallback}})
	points, scalars, _ := input(8)
	b := load(t, e, points)
	_, err := b.MSM(t.Context(), scalars)
	if !errors.Is(err, backend.ErrGone) || !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

func TestOutOfMemoryGoesToTheFallbackAndIsRemembered(t *testing.T) {
	full := true
	w := &world{t: t}
	w.load = func(f *fake, b backend.Bases) error {
		if f.name == "gpu" && full && b.Count > 4 {
			return fmt.Errorf("%w: %d bytes wanted", backend.ErrOutOfMemory, b.Size())
		}
		return nil
	}
	e := w.engine(engine.Config{Backend: "gpu"})
	points, scalars, want := input(8)
	small := load(t, e, points[:2])
	b := load(t, e, points)
	for range 5 {
		batch := NewBatch(e)
		a := b.Add(batch, scalars)
		if err := batch.Run(t.Context()); err != nil || a.Point() != want || batch.Backend() != "cpu" {
			t.Fatalf("wrong point, %v, from %q", err, batch.Backend())
		}
	}
	if n := w.opened[0].loads; n != 2 {
		t.Errorf("%d loads on the full backend, want 2", n)
	}
	if e.Backend() != "gpu" {
		t.Error("the backend was replaced")
	}
	full = false
	small.Close()
	if got, err := b.MSM(t.Context(), scalars); err != nil || got != want {
		t.Fatalf("wrong point, %v", err)
	}
	if n := w.opened[0].loads; n != 3 {
		t.Errorf("freeing other bases did not lead to another try: %d loads", n)
	}
}

func TestInvalidInputIsNotRepeated(t *testing.T) {
	w := &world{t: t}
	w.msm = func(_ context.Context, f *fake, _ [][]byte) error {
		return fmt.Errorf("%w: scalar 3 is not below r", backend.ErrInvalidInput)
	}
	e := w.engine(engine.Config{Backend: "gpu"})
	points, scalars, _ := input(4)
	if _, err := load(t, e, points).MSM(t.Context(), scalars); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("%v", err)
	}
	if len(w.opened) != 1 || len(w.kinds()) > 1 {
		t.Errorf("%d backends, events %v", len(w.opened), w.kinds())
	}
}

// TestWrongAnswers: for each check the backend answers with a point that the check must refuse.
func TestWrongAnswers(t *testing.T) {
	_, _, g1, _ := bn254.Generators()
	off := g1
	off.Y.SetUint64(5)
	large := g1 // the same point, but in a form that gnark-crypto never has
	q := layout.BaseField(backend.BN254)
	for i, carry := 0, uint64(0); i < len(q); i++ {
		large.X[i], carry = bits.Add64(large.X[i], q[i], carry)
	}
	for _, c := range []struct {
		name  string
		cfg   engine.Config
		wrong []byte
	}{
		{"off the curve", engine.Config{Check: engine.CheckCurve}, layout.Bytes([]bn254.G1Affine{off})},
		{"another point", engine.Config{CompareEvery: 1}, layout.Bytes([]bn254.G1Affine{g1})},
		{"not below q", engine.Config{}, layout.Bytes([]bn254.G1Affine{large})},
		{"infinity", engine.Config{Check: engine.CheckCurve}, make([]byte, 64)},
		{"too short", engine.Config{}, make([]byte, 63)},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &world{t: t}
			w.msm = func(_ context.Context, f *fake, out [][]byte) error {
				if f.name == "gpu" {
					out[0] = c.wrong
				}
				return nil
			}
			c.cfg.Backend = "gpu"
			e := w.engine(c.cfg)
			points, scalars, want := input(6)
			b := load(t, e, points)
			if got, err := b.MSM(t.Context(), scalars); err != nil || got != want {
				t.Fatalf("wrong point, %v", err)
			}
			if e.Backend() != "cpu" || !w.saw(engine.EventWrong) {
				t.Errorf("on %s after %v", e.Backend(), w.events)
			}
			if c.cfg.CompareEvery > 0 {
				return
			}
			c.cfg.Fallbacks = []string{engine.NoFallback}
			e = (&world{t: t, msm: w.msm}).engine(c.cfg)
			if _, err := load(t, e, points).MSM(t.Context(), scalars); !errors.Is(err, engine.ErrWrongAnswer) {
				t.Errorf("without a fallback: %v", err)
			}
		})
	}
}

func TestCompareEvery(t *testing.T) {
	w := &world{t: t}
	e := w.engine(engine.Config{Backend: "gpu", CompareEvery: 3})
	points, scalars, want := input(6)
	b := load(t, e, points)
	for range 9 {
		if got, err := b.MSM(t.Context(), scalars); err != nil || got != want {
			t.Fatalf("wrong point, %v", err)
		}
	}
	if n := len(w.opened[1].jobs); n != 3 {
		t.Errorf("%d of 9 answers were compared, want 3", n)
	}
}

func TestCancel(t *testing.T) {
	w := &world{t: t}
	var block atomic.Bool
	w.msm = func(ctx context.Context, f *fake, _ [][]byte) error {
		if block.Load() {
			<-ctx.Done()
		}
		return ctx.Err()
	}
	e := w.engine(engine.Config{Backend: "gpu"})
	points, scalars, want := input(4)
	b := load(t, e, points)
	block.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := b.MSM(ctx, scalars); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	block.Store(false)
	if got, err := b.MSM(t.Context(), scalars); err != nil || got != want {
		t.Errorf("after a cancelled call: %v", err)
	}
	if len(w.opened) != 1 {
		t.Error("a cancelled call replaced the backend")
	}
}

func TestClose(t *testing.T) {
	w := &world{t: t}
	e := w.engine(engine.Config{})
	points, scalars, _ := input(4)
	b, c := load(t, e, points), load(t, e, points)
	if err := b.Close(); err != nil || b.Close() != nil {
		t.Error(err)
	}
	if _, err := b.MSM(t.Context(), scalars); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("closed bases: %v", err)
	}
	if f := w.opened[0]; f.frees != 1 || f.held != 1 {
		t.Errorf("%d frees, %d left", f.frees, f.held)
	}
	e.Close()
	if _, err := c.MSM(t.Context(), scalars); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("closed engine: %v", err)
	}
	if _, err := BN254G1.Load(t.Context(), e, points); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("load on a closed engine: %v", err)
	}
	if err := e.Use(t.Context(), "cpu"); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("swap of a closed engine: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("closing bases of a closed engine: %v", err)
	}
}

func TestConfig(t *testing.T) {
	w := &world{t: t}
	for name, cfg := range map[string]engine.Config{
		"no opener":               {},
		"negative":                {Open: w.opener, CompareEvery: -1},
		"nothing to compare with": {Open: w.opener, CompareEvery: 2, Fallbacks: []string{engine.NoFallback}},
	} {
		if _, err := engine.New(t.Context(), cfg); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ev := engine.Event{Kind: engine.EventFailed, Backend: "gpu", Err: errors.New("boom")}
	if s := ev.String(); !strings.Contains(s, "gpu") || !strings.Contains(s, "boom") {
		t.Error(s)
	}
}
