package msm

import (
	"errors"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/local"
)

// TestNilEngine computes without an engine: in this process.
func TestNilEngine(t *testing.T) {
	t.Cleanup(func() { local.Close() })
	points, scalars, want := input(16)
	b := load(t, nil, points)
	if got, err := b.MSM(t.Context(), scalars); err != nil || got != want {
		t.Errorf("wrong point, %v", err)
	}
	batch := NewBatch(nil)
	a := b.Add(batch, scalars)
	if err := batch.Run(t.Context()); err != nil || a.Point() != want {
		t.Errorf("batch: wrong point, %v", err)
	}
	s, err := BN254G1.NewScalars(t.Context(), nil, 16)
	if err != nil {
		t.Fatal(err)
	}
	s.Free()
	var sum bn254.G1Affine
	for _, n := range []int{16, engine.DefaultThreshold} {
		points, scalars, want := input(n)
		if _, err := BN254G1.On(nil).MultiExp(&sum, points, scalars, ecc.MultiExpConfig{}); err != nil || sum != want {
			t.Errorf("drop-in, %d points: wrong point, %v", n, err)
		}
	}
}

// TestZeroValues calls what nothing made: errors, or nothing, and no panic.
func TestZeroValues(t *testing.T) {
	t.Cleanup(func() { local.Close() })
	ctx := t.Context()
	points, scalars, _ := input(4)
	_, err := BN254G1.Load(ctx, &engine.Engine{}, points)
	_, errScalars := BN254G1.NewScalars(ctx, &engine.Engine{}, 4)
	var sum bn254.G1Affine
	_, errDropIn := (DropIn[bn254.G1Affine, fr254.Element]{}).MultiExp(&sum, points, scalars, ecc.MultiExpConfig{})
	_, errOn := BN254G1.On(&engine.Engine{}).MultiExp(&sum, points, scalars, ecc.MultiExpConfig{})
	errs := []error{err, errScalars, errDropIn, errOn, new(Batch).Run(ctx), (*Batch)(nil).Run(ctx)}
	for _, b := range []*Bases[bn254.G1Affine, fr254.Element]{nil, {}} {
		_, sum := b.MSM(ctx, scalars)
		_, digest := b.Digest(ctx)
		_, part := b.Slice(0, 0)
		batch := NewBatch(nil)
		b.Add(batch, scalars)
		errs = append(errs, sum, digest, part, batch.Run(ctx))
		if core, _ := b.Core(); core != nil || b.Len() != 0 || b.Group() != nil || b.Close() != nil {
			t.Error("bases that nothing made have something")
		}
	}
	for i, err := range errs {
		if !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	for _, s := range []*Scalars[fr254.Element]{nil, {}} {
		if s.Free(); s.Slice() != nil {
			t.Error("scalars that nothing made")
		}
	}
}

// TestScalarsAfterFree: what was freed is another call's, so that nobody may be
// handed it.
func TestScalarsAfterFree(t *testing.T) {
	for _, name := range []string{"shared", "cpu"} {
		e := (&world{t: t}).engine(engine.Config{Backend: name})
		s, err := BN254G1.NewScalars(t.Context(), e, 8)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Slice()) != 8 {
			t.Error("no scalars")
		}
		s.Free()
		s.Free()
		if s.Slice() != nil {
			t.Errorf("%s: scalars after Free", name)
		}
	}
}
