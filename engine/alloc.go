package engine

import (
	"context"
	"sync"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// Alloc is memory for scalars where the preferred backend reads them, or nil
// when that has none, has no more, or is not there: then any memory will do.
func (e *Engine) Alloc(ctx context.Context, size int) (backend.Buffer, error) {
	if err := e.begin(); err != nil {
		return nil, err
	}
	defer e.end()
	c := &call{began: time.Now(), brief: true}
	for deaths := 1; ; deaths++ {
		g, err := e.pick(ctx, c)
		if err != nil {
			return nil, backend.Ended(ctx)
		}
		buf, err := g.alloc(ctx, size)
		g.exit()
		if err == nil {
			return buf, nil
		}
		act, cure := decide(failure{err: err, ended: ctx.Err() != nil, deaths: deaths, allowed: e.cfg.Restarts})
		g.apply(cure, err)
		switch {
		case ctx.Err() != nil:
			return nil, backend.Ended(ctx)
		case act == retry:
		case backend.FaultOf(err) == backend.FaultCaller && !isGone(err):
			return nil, err
		default:
			return nil, nil // any memory will do
		}
	}
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

// counted is a buffer that is in the engine's statistics until it is freed.
type counted struct {
	backend.Buffer
	free func()
}

func (c *counted) Free() { c.free() }
