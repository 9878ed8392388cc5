package known

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/engine"
)

// faulty is a backend that spoils one bit of an answer.
type faulty struct {
	backend.Backend
	msm, read bool
}

func (f faulty) Unwrap() backend.Backend { return f.Backend }

func (f faulty) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	out, err := f.Backend.MSM(ctx, jobs)
	if f.msm && err == nil {
		out[0][5] ^= 16
	}
	return out, err
}

func (f faulty) NewSpace(ctx context.Context, e backend.Element, n int) (backend.SpaceID, error) {
	v, _ := backend.As[backend.Programs](f.Backend)
	return v.NewSpace(ctx, e, n)
}

func (f faulty) FreeSpace(ctx context.Context, id backend.SpaceID) error {
	v, _ := backend.As[backend.Programs](f.Backend)
	return v.FreeSpace(ctx, id)
}

func (f faulty) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	v, _ := backend.As[backend.Programs](f.Backend)
	out, err := v.Run(ctx, steps)
	if f.read && err == nil {
		last := out[len(out)-1]
		last[len(last)-1] ^= 1
	}
	return out, err
}

// TestAll: the double-and-add backend, which shares no code with the CPU's MSMs, gives every known answer, and one
// bit that is wrong is found. All are asked of a backend that can compute everything.
func TestAll(t *testing.T) {
	reference, here := cpu.NewReference(), cpu.New(cpu.Options{})
	defer reference.Close()
	defer here.Close()
	for _, k := range All() {
		for name, b := range map[string]backend.Backend{"cpu": here, "reference": reference} {
			if !k.Can(b.Info()) {
				if name == "cpu" {
					t.Errorf("%s is not asked of the CPU", k.Name)
				}
				continue
			}
			if err := k.Run(t.Context(), b); err != nil {
				t.Errorf("%s on %s: %v", k.Name, name, err)
			}
		}
		if k.Can(backend.Info{}) {
			t.Errorf("%s is asked of a backend that has nothing", k.Name)
		}
		spoiled := faulty{here, k.Name == "MSM", k.Name != "MSM"}
		if err := k.Run(t.Context(), spoiled); !errors.Is(err, engine.ErrWrongAnswer) {
			t.Errorf("%s, spoiled: %v", k.Name, err)
		}
		if err := Test(t.Context(), spoiled); !errors.Is(err, engine.ErrWrongAnswer) {
			t.Errorf("%s, spoiled: Test finds %v", k.Name, err)
		}
	}
}

// TestNothingStays: what refuses is not accused, and nothing stays in a backend.
func TestNothingStays(t *testing.T) {
	b := cpu.New(cpu.Options{})
	for _, k := range All() {
		began := time.Now()
		if err := k.Run(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %v on the CPU", k.Name, time.Since(began))
		if _, err := b.MSM(t.Context(), []backend.Job{{Bases: 1, Count: 1, Input: backend.Input{Bytes: make([]byte, 32)}}}); err == nil {
			t.Errorf("%s leaves its bases", k.Name)
		}
	}
	if err := Test(t.Context(), b); err != nil {
		t.Error(err)
	}
	b.Close()
	if err := Test(t.Context(), b); err != nil {
		t.Errorf("Test accuses a closed backend: %v", err)
	}
	for _, k := range All() {
		if err := k.Run(t.Context(), b); err == nil || errors.Is(err, engine.ErrWrongAnswer) {
			t.Errorf("%s on a closed backend: %v", k.Name, err)
		}
	}
}
