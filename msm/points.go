package msm

import (
	"context"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
)

// Multiples returns the product of base by each scalar, as gnark-crypto's
// BatchScalarMultiplicationG1 and G2 do. The engine's first backend with programs over points
// computes them. base must be in the subgroup of order r.
//
// The time may depend on the scalars. They are read only during the call, and their copies are
// wiped.
func (g *Group[P, S]) Multiples(ctx context.Context, e *engine.Engine, base P, scalars []S) ([]P, error) {
	if len(scalars) == 0 {
		return nil, nil
	}
	products := make([]P, len(scalars))
	err := g.program(ctx, e, 1+len(scalars), func(ctx context.Context, points *engine.Session) error {
		factors, err := points.BesideOf(ctx, backend.Elements{Element: backend.ScalarOf(g.curve), Count: len(scalars)})
		if err != nil {
			return err
		}
		defer factors.Close()
		one := backend.Range{Space: points.Space(), Count: 1}
		all := backend.Range{Space: points.Space(), Offset: 1, Count: len(scalars)}
		by := backend.Range{Space: factors.Space(), Count: len(scalars)}
		return read(ctx, points, products,
			backend.Write{Dst: one, Input: backend.Input{Bytes: layout.Bytes([]P{base})}},
			backend.Write{Dst: by, Input: backend.Input{Bytes: layout.Bytes(scalars)}},
			backend.MultiplyPoints{Dst: all, Src: one, Scalars: by},
			backend.Read{Src: all})
	})
	if err != nil {
		return nil, err
	}
	return products, nil
}

// ToLagrange returns a key in Lagrange form, as gnark-crypto's kzg.ToLagrangeG1 does: from the
// points tau^i G it computes the points L_j(tau) G. Their number is a power of two, and L_j belongs
// to root of unity j of gnark-crypto's fft.Domain of that size. The engine's first backend with
// programs over points computes them.
func (g *Group[P, S]) ToLagrange(ctx context.Context, e *engine.Engine, powers []P) ([]P, error) {
	n := len(powers)
	if n == 0 || n&(n-1) != 0 {
		return nil, fmt.Errorf("%w: %d points, their number must be a power of two", backend.ErrInvalidInput, n)
	}
	lagrange := make([]P, n)
	err := g.program(ctx, e, n, func(ctx context.Context, points *engine.Session) error {
		all := backend.Range{Space: points.Space(), Count: n}
		return read(ctx, points, lagrange,
			backend.Write{Dst: all, Input: backend.Input{Bytes: layout.Bytes(powers)}},
			backend.Transform{Dst: all, Src: all, Inverse: true},
			backend.Read{Src: all})
	})
	if err != nil {
		return nil, err
	}
	return lagrange, nil
}

// program runs f with memory for n points. If a backend dies, it runs f again.
func (g *Group[P, S]) program(ctx context.Context, e *engine.Engine, n int, f func(context.Context, *engine.Session) error) error {
	if err := curves.Check(); err != nil {
		return err
	}
	space := engine.Space{Elements: backend.Elements{Element: backend.PointOf(g.curve, g.group), Count: n}}
	_, err := e.Repeat(ctx, space, f)
	return err
}

// read runs steps, the last of which reads points, and copies the points to dst.
func read[P any](ctx context.Context, s *engine.Session, dst []P, steps ...backend.Step) error {
	out, err := s.Run(ctx, steps)
	if err != nil {
		return err
	}
	copy(layout.Bytes(dst), out[len(out)-1])
	return nil
}
