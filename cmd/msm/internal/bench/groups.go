package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/vector"
)

// group is one of msm's eight groups with its types hidden, so that one loop
// serves them all. Points and scalars are bytes in memory layout.
type group interface {
	// load makes points resident in e; they must not change before close.
	load(ctx context.Context, e *engine.Engine, points []byte, hints ...msm.Hint) (bases, error)
	// transform compares transforms over the scalar field.
	transform(ctx context.Context, t transforming) error
}

// bases is points loaded into an engine.
type bases interface {
	// scalars makes scalars ready to be multiplied with points offset on: in
	// the memory given, or copied to shared memory.
	scalars(ctx context.Context, offset int, s []byte, path report.Path) (input, error)
	// batch is the answers of several MSMs in one batch.
	batch(ctx context.Context, in []input) ([][]byte, error)
	close() error
}

// input is scalars for one MSM.
type input interface {
	// msm is the answer, as bytes, and the time that Bases.MSM took.
	msm(ctx context.Context) (answer []byte, took time.Duration, err error)
	free()
}

// groupOf looks a group up.
func groupOf(c backend.Curve, g backend.Group) (group, error) {
	if !c.Valid() || !g.Valid() {
		return nil, fmt.Errorf("%w: group %v %v", backend.ErrInvalidInput, c, g)
	}
	return [...][2]group{
		backend.BN254:    {typed(msm.BN254G1, vector.BN254), typed(msm.BN254G2, vector.BN254)},
		backend.BLS12377: {typed(msm.BLS12377G1, vector.BLS12377), typed(msm.BLS12377G2, vector.BLS12377)},
		backend.BLS12381: {typed(msm.BLS12381G1, vector.BLS12381), typed(msm.BLS12381G2, vector.BLS12381)},
		backend.BW6761:   {typed(msm.BW6761G1, vector.BW6761), typed(msm.BW6761G2, vector.BW6761)},
	}[c][g-backend.G1], nil
}

func typed[P any, S comparable](g *msm.Group[P, S], f *vector.Field[S]) group {
	return typedGroup[P, S]{g, f}
}

type typedGroup[P any, S comparable] struct {
	g *msm.Group[P, S]
	f *vector.Field[S]
}

func (t typedGroup[P, S]) transform(ctx context.Context, of transforming) error {
	return transform(ctx, of, t.f)
}

func (t typedGroup[P, S]) load(ctx context.Context, e *engine.Engine, points []byte, hints ...msm.Hint) (bases, error) {
	p, err := layout.View[P](points)
	if err != nil {
		return nil, err
	}
	b, err := t.g.Load(ctx, e, p, hints...)
	if err != nil {
		return nil, err
	}
	return typedBases[P, S]{t.g, e, b}, nil
}

type typedBases[P, S any] struct {
	g *msm.Group[P, S]
	e *engine.Engine
	b *msm.Bases[P, S]
}

func (t typedBases[P, S]) close() error { return t.b.Close() }

func (t typedBases[P, S]) scalars(ctx context.Context, offset int, raw []byte, path report.Path) (input, error) {
	s, err := layout.View[S](raw)
	if err != nil {
		return nil, err
	}
	part, err := t.b.Slice(offset, offset+len(s))
	if err != nil {
		return nil, err
	}
	in := &typedInput[P, S]{bases: part, s: s}
	if path == report.Arena {
		if in.buffer, err = t.g.NewScalars(ctx, t.e, len(s)); err != nil {
			return nil, err
		}
		in.s = in.buffer.Slice()
		copy(in.s, s)
	}
	return in, nil
}

func (t typedBases[P, S]) batch(ctx context.Context, in []input) ([][]byte, error) {
	batch := msm.NewBatch(t.e)
	answers := make([]*msm.Answer[P], len(in))
	for i, x := range in {
		x := x.(*typedInput[P, S])
		answers[i] = x.bases.Add(batch, x.s)
	}
	if err := batch.Run(ctx); err != nil {
		return nil, err
	}
	out := make([][]byte, len(in))
	for i, a := range answers {
		out[i] = bytesOf(a.Point())
	}
	return out, nil
}

type typedInput[P, S any] struct {
	bases  *msm.Bases[P, S]
	s      []S
	buffer *msm.Scalars[S] // nil when s is the caller's
}

func (t *typedInput[P, S]) msm(ctx context.Context) ([]byte, time.Duration, error) {
	start := time.Now()
	p, err := t.bases.MSM(ctx, t.s)
	took := time.Since(start)
	if err != nil {
		return nil, took, err
	}
	return bytesOf(p), took, nil
}

func (t *typedInput[P, S]) free() {
	if t.buffer != nil {
		t.buffer.Free()
	}
}

// bytesOf returns a point's memory.
func bytesOf[P any](p P) []byte { return layout.Bytes([]P{p}) }
