package msm

import (
	"errors"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
)

// TestZeroValues calls methods of zero values. They return errors or nothing, and do not panic.
func TestZeroValues(t *testing.T) {
	ctx := t.Context()
	points, scalars, _ := input(4)
	e := (&world{t: t}).engine(engine.Config{})
	var sum bn254.G1Affine
	_, errDropIn := (DropIn[bn254.G1Affine, fr254.Element]{}).MultiExp(&sum, points, scalars, ecc.MultiExpConfig{})
	errs := []error{errDropIn, new(Batch).Run(ctx), (*Batch)(nil).Run(ctx)}
	for _, none := range []*engine.Engine{nil, {}} {
		_, load := BN254G1.Load(ctx, none, points)
		_, memory := BN254G1.NewScalars(ctx, none, 4)
		_, on := BN254G1.On(none).MultiExp(&sum, points, scalars, ecc.MultiExpConfig{})
		errs = append(errs, load, memory, on, NewBatch(none).Run(ctx))
	}
	for _, b := range []*Bases[bn254.G1Affine, fr254.Element]{nil, {}} {
		_, sum := b.MSM(ctx, scalars)
		_, digest := b.Digest(ctx)
		_, part := b.Slice(0, 0)
		batch := NewBatch(e)
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

// TestScalarsAfterFree: freed memory may belong to another call, so Slice must not return it.
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
