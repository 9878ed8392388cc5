package hook

import (
	"context"
	"fmt"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/msm"
)

// MultiplesOf returns the hook of gnark-crypto's BatchScalarMultiplication of a group. It
// answers base times each scalar, or nil to leave that to gnark-crypto. That function
// has no error: a strict runtime panics with it.
func MultiplesOf[P, S any](r *Runtime, g *msm.Group[P, S]) func(base *P, scalars []S) []P {
	return func(base *P, scalars []S) []P {
		n := len(scalars)
		if n == 0 || r.declinesPoints(n) {
			return nil
		}
		products, err := program(r, g, multiples, n, func(e *opened) ([]P, error) {
			return g.Multiples(context.Background(), e.Engine, *base, scalars)
		})
		if err != nil {
			panic(fmt.Errorf("pippin: %w", err))
		}
		return products
	}
}

// ToLagrangeOf returns the hook of gnark-crypto's ToLagrangeG1. It answers the key in Lagrange
// form, nil to leave that to gnark-crypto, or an error when ToLagrangeG1 is to fail with
// it.
func ToLagrangeOf[P, S any](r *Runtime, g *msm.Group[P, S]) func(powers []P) ([]P, error) {
	return func(powers []P) ([]P, error) {
		n := len(powers)
		if n < 2 || n&(n-1) != 0 || r.declinesPoints(n) {
			return nil, nil
		}
		return program(r, g, toLagrange, n, func(e *opened) ([]P, error) {
			return g.ToLagrange(context.Background(), e.Engine, powers)
		})
	}
}

// declinesPoints reports whether programs over n points are left to gnark-crypto. In
// this process they always are: the backend that is linked in has MSMs only, and would
// call the same functions.
func (r *Runtime) declinesPoints(n int) bool {
	return n < r.o.Threshold || n >= backend.MaxCount || r.o.Backend == "cpu"
}

// program has f compute n points of a group on the engine. Its error is nil unless the
// runtime is strict.
func program[P, S any](r *Runtime, g *msm.Group[P, S], what call, n int, f func(*opened) ([]P, error)) ([]P, error) {
	e, err := r.open()
	if err != nil {
		return nil, r.failure(err)
	}
	start := time.Now()
	points, err := f(e)
	if err != nil {
		r.report("failure of "+string(what), fmt.Sprintf("%s: %v", what, err))
		return nil, r.failure(err)
	}
	// Nothing else answers: the engine falls back to this process, which has no programs.
	l := line{Call: what, Curve: g.Curve().String(), Group: g.Group().String(), Points: n, Backend: r.o.Backend}
	l.MS = milliseconds(start)
	r.write(l)
	return points, nil
}
