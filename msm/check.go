package msm

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
)

// checkAnswer refuses an answer with a coordinate not below q, which gnark-crypto's points never
// have, and whatever level forbids.
func (g *Group[P, S]) checkAnswer(answer []byte, level engine.Check) (infinite bool, err error) {
	p := g.point(answer)
	switch {
	case layout.FirstNotBelow(layout.Bytes([]P{p}), layout.BaseField(g.curve)) >= 0:
		return false, fmt.Errorf("%w: a coordinate that is not below q of %v", engine.ErrWrongAnswer, g.curve)
	case level >= engine.CheckCurve && !g.onCurve(&p):
		return false, fmt.Errorf("%w: a point off the curve %v", engine.ErrWrongAnswer, g)
	case level >= engine.CheckSubgroup && !g.inGroup(&p):
		return false, fmt.Errorf("%w: a point outside the subgroup of %v", engine.ErrWrongAnswer, g)
	}
	return g.infinite(&p), nil
}

// checkPart is how many points are checked at a time.
const checkPart = 1 << 12

// checkBases refuses points with a coordinate not below q and points outside of
// the subgroup of order r, on all processors.
func (g *Group[P, S]) checkBases(ctx context.Context, b *backend.Bases) error {
	ctx, found := context.WithCancelCause(ctx)
	defer found(nil)
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Go(func() {
			for at := w * checkPart; at < b.Count && ctx.Err() == nil; at += workers * checkPart {
				if err := g.checkFrom(ctx, b, at); err != nil {
					found(err)
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// checkFrom checks the part of the bases that begins at index at.
func (g *Group[P, S]) checkFrom(ctx context.Context, b *backend.Bases, at int) error {
	pts, err := g.read(ctx, b, at, min(checkPart, b.Count-at))
	if err != nil {
		return err
	}
	if i := layout.FirstNotBelow(layout.Bytes(pts), layout.BaseField(g.curve)); i >= 0 {
		at += i * g.curve.FieldBytes() / g.curve.PointBytes(g.group)
		return fmt.Errorf("%w: base %d of %v has a coordinate that is not below q", backend.ErrInvalidInput, at, g)
	}
	for i := range pts {
		if !g.inGroup(&pts[i]) {
			return fmt.Errorf("%w: base %d of %v is not in the subgroup of order r", backend.ErrInvalidInput, at+i, g)
		}
	}
	return nil
}

// read returns count points of b from index at on.
func (g *Group[P, S]) read(ctx context.Context, b *backend.Bases, at, count int) ([]P, error) {
	part := cut(b, at, count)
	if part.File == nil {
		return layout.View[P](part.Bytes)
	}
	pts := make([]P, count)
	return pts, part.Read(ctx, layout.Bytes(pts))
}

// sum computes an MSM with gnark-crypto in this process.
func (g *Group[P, S]) sum(ctx context.Context, b *backend.Bases, offset, count int, scalars []byte) ([]byte, error) {
	// It takes one part after the other. A part is large enough for MultiExp to be fast, and small
	// enough that a cancellation is seen soon.
	const part = 16 * checkPart
	size := g.curve.ScalarBytes()
	var total P
	for at := 0; at < count; at += part {
		n := min(part, count-at)
		pts, err := g.read(ctx, b, offset+at, n)
		if err != nil {
			return nil, err
		}
		s := make([]S, n)
		copy(layout.Bytes(s), scalars[at*size:(at+n)*size])
		var p P
		err = g.multiExp(&p, pts, s, ecc.MultiExpConfig{})
		clear(s)
		if err == nil {
			err = backend.Ended(ctx)
		}
		if err != nil {
			return nil, err
		}
		g.add(&total, &p)
	}
	return layout.Bytes([]P{total}), nil
}
