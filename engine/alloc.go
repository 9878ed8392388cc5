package engine

import (
	"context"
	"sync"

	"github.com/pippin-zk/pippin/backend"
)

// Alloc takes memory for scalars from the preferred backend, which reads them there without a copy.
// It returns nil when that backend has no such memory, has none left, or is not open: then the
// caller may use any memory.
func (e *Engine) Alloc(ctx context.Context, size int) (backend.Buffer, error) {
	if err := e.begin(); err != nil {
		return nil, err
	}
	defer e.end()
	var buf backend.Buffer
	_, err := e.attempt(ctx, &call{brief: true, only: true, restarts: max(e.cfg.Restarts, 0)},
		func(ctx context.Context, g *generation) (err error) {
			buf, err = g.alloc(ctx, size)
			return err
		})
	switch {
	case err == nil:
		return buf, nil
	case ctx.Err() != nil:
		return nil, backend.Ended(ctx)
	case backend.FaultOf(err) == backend.FaultCaller && !isGone(err):
		return nil, err
	}
	return nil, nil
}

func (g *generation) alloc(ctx context.Context, size int) (backend.Buffer, error) {
	a, ok := backend.As[backend.Allocator](g.b)
	if !ok {
		return nil, nil
	}
	b, err := on(ctx, g, func(ctx context.Context, _ backend.Backend) (backend.Buffer, error) { return a.Alloc(ctx, size) })
	if err != nil {
		return nil, err
	}
	g.prove()
	shared := func(n int) { g.e.sum(func(st *Stats) { st.Shared += int64(n) }) }
	shared(size)
	return &counted{b, sync.OnceFunc(func() {
		b.Free()
		shared(-size)
	})}, nil
}

// counted is a buffer that Stats.Shared counts until it is freed.
type counted struct {
	backend.Buffer
	free func()
}

func (c *counted) Free() { c.free() }
