package backendtest

import (
	"context"
	"errors"

	"github.com/pippin-zk/pippin/backend"
)

func pointFaults() []fault {
	run := func(name string, run func(context.Context, backend.Programs, []backend.Step) ([][]byte, error), found ...string) fault {
		return fault{name, found, func(b backend.Backend) backend.Backend { return &faultyVectors{Backend: b, run: run} }}
	}
	return []fault{
		run("coordinates are not checked", eachStep(func(w *backend.Write) { w.Check = false }), "spaces of points"),
		run("the first scalar is for all points",
			eachStep(func(m *backend.MultiplyPoints) { m.Scalars.Count = min(m.Scalars.Count, 1) }), "products of points"),
		run("shifts are forgotten over points", eachStep(func(t *backend.Transform) {
			if t.Dst.Space == t.Src.Space {
				t.Shift = nil
			}
		}), "transforms of points"),
		run("one point is checked", eachStep(func(c *backend.CheckPoints) { c.Src.Count = min(c.Src.Count, 1) }), "valid points"),
		run("differences are sums", eachStep(func(a *backend.AddPoints) { a.Plus, a.Minus = append(a.Plus, a.Minus...), nil }),
			"random programs over points"),
		run("sums write beside their range", besides[backend.AddPoints](func(s backend.AddPoints) backend.Range {
			return s.Dst
		}, 64), "accesses of points"),
		run("errors about points do not say where", func(ctx context.Context, v backend.Programs, steps []backend.Step) ([][]byte, error) {
			answers, err := v.Run(ctx, steps)
			if errors.Is(err, backend.ErrInvalidInput) {
				err = backend.ErrInvalidInput
			}
			return answers, err
		}, "encodings", "wrong steps over points"),
		run("contexts are ignored over points", func(ctx context.Context, v backend.Programs, steps []backend.Step) ([][]byte, error) {
			return v.Run(context.WithoutCancel(ctx), steps)
		}, "cancelled programs over points"),
	}
}
