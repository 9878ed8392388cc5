package msm

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
)

func loadsOf(w *world) (n int) {
	for _, f := range w.all() {
		f.mu.Lock()
		n += f.loads
		f.mu.Unlock()
	}
	return n
}

// TestReadOnce: bases with ReadOnce are lost with their backend, whatever ends it. Others are
// loaded again.
func TestReadOnce(t *testing.T) {
	points, scalars, want := input(8)
	for name, lose := range map[string]func(*testing.T, *world, *engine.Engine){
		"swapped": func(t *testing.T, _ *world, e *engine.Engine) {
			if err := e.Use(t.Context(), "other"); err != nil {
				t.Fatal(err)
			}
		},
		"dead": func(_ *testing.T, w *world, _ *engine.Engine) { w.msm = gone(1) },
		"dead, fallback": func(_ *testing.T, w *world, _ *engine.Engine) {
			w.msm = gone(1)
			w.open = func(name string, nth int) error {
				if name == "gpu" && nth > 1 {
					return fmt.Errorf("%w: used up", backend.ErrUnavailable)
				}
				return nil
			}
		},
		"failing": func(_ *testing.T, w *world, _ *engine.Engine) {
			w.msm = func(_ context.Context, f *fake, _ [][]byte) error {
				if f.name == "gpu" {
					return fmt.Errorf("%w: for a test", backend.ErrOutOfMemory)
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t}
			e := w.engine(engine.Config{Backend: "gpu", Restarts: 1})
			kept := load(t, e, points)
			b, err := BN254G1.Load(t.Context(), e, points, ReadOnce())
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if got, err := b.MSM(t.Context(), scalars); err != nil || got != want {
					t.Fatalf("wrong point, %v", err)
				}
			}
			if n := loadsOf(w); n != 2 {
				t.Fatalf("%d loads, want 2", n)
			}
			lose(t, w, e)
			for range 2 {
				if _, err := b.MSM(t.Context(), scalars); !errors.Is(err, engine.ErrBasesLost) {
					t.Errorf("bases that were read once: %v", err)
				}
			}
			if got, err := kept.MSM(t.Context(), scalars); err != nil || got != want {
				t.Errorf("other bases: %v", err)
			}
			for _, f := range w.all()[1:] {
				if f.loads != 1 {
					t.Errorf("%d loads into %s", f.loads, f.name)
				}
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestReadOnceDuringLoad: if the backend dies during the load, the points are still there, and the
// load is repeated.
func TestReadOnceDuringLoad(t *testing.T) {
	points, scalars, want := input(8)
	w := &world{t: t}
	w.load = func(f *fake, _ backend.Bases) error {
		if f.name == "gpu" && f.nth == 1 {
			return fmt.Errorf("%w: killed", backend.ErrGone)
		}
		return nil
	}
	e := w.engine(engine.Config{Backend: "gpu"})
	b, err := BN254G1.Load(t.Context(), e, points, ReadOnce())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := b.MSM(t.Context(), scalars); err != nil || got != want || e.Backend() != "gpu" {
		t.Errorf("wrong point, %v", err)
	}
}

// TestReadOnceOutOfMemory: without room in the preferred backend, the fallback holds the bases and
// answers.
func TestReadOnceOutOfMemory(t *testing.T) {
	points, scalars, want := input(8)
	w := &world{t: t}
	w.load = func(f *fake, _ backend.Bases) error {
		if f.name == "gpu" {
			return fmt.Errorf("%w: for a test", backend.ErrOutOfMemory)
		}
		return nil
	}
	e := w.engine(engine.Config{Backend: "gpu"})
	b, err := BN254G1.Load(t.Context(), e, points, ReadOnce())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := b.MSM(t.Context(), scalars); err != nil || got != want {
			t.Fatalf("wrong point, %v", err)
		}
	}
	if n := loadsOf(w); n != 2 {
		t.Errorf("%d loads, want one in each backend", n)
	}
}

// TestReadOnceIsNobodyElses: such bases are not used where they would be read again or recognised
// by their address.
func TestReadOnceIsNobodyElses(t *testing.T) {
	points, scalars, want := input(8)
	e := (&world{t: t}).engine(engine.Config{Backend: "gpu", Threshold: -1})
	if _, err := BN254G1.Load(t.Context(), e, points, ReadOnce()); err != nil {
		t.Fatal(err)
	}
	points[0] = points[1]
	var got, stock bn254.G1Affine
	if _, err := stock.MultiExp(points, scalars, ecc.MultiExpConfig{}); err != nil {
		t.Fatal(err)
	}
	if _, err := BN254G1.On(e).MultiExp(&got, points, scalars, ecc.MultiExpConfig{}); err != nil || got != stock || got == want {
		t.Errorf("wrong point, %v", err)
	}
	compares := (&world{t: t}).engine(engine.Config{Backend: "gpu", CompareEvery: 1})
	if _, err := BN254G1.Load(t.Context(), compares, points, ReadOnce()); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("with CompareEvery: %v", err)
	}
}
