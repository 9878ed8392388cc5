package msm

import (
	"context"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
)

// Engine runs MSMs on the first of its backends that can: package engine, with
// gnark-crypto's types.
type Engine struct {
	core *engine.Engine
	cfg  Config

	mu    sync.Mutex
	bases map[*points]struct{} // in memory, for DropIn
}

// New opens an engine on cfg.Backend. An engine that cannot open it fails
// rather than fall back: that the user asked for a GPU that is not there
// should be known at the start.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	if err := layout.Check(); err != nil {
		return nil, err
	}
	core, err := engine.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &Engine{core: core, cfg: core.Config(), bases: map[*points]struct{}{}}, nil
}

// Core is the engine without gnark-crypto's types, for packages beside this one.
func (e *Engine) Core() *engine.Engine { return e.core }

// Info describes the backend that a call would be answered by, as far as it is
// known: one that was never needed has a name only, one that is being repaired
// no process.
func (e *Engine) Info() backend.Info { return e.core.Info() }

// Backend is the name of the backend that a call would be answered by.
func (e *Engine) Backend() string { return e.core.Backend() }

// Stats is the state of the engine now.
func (e *Engine) Stats() Stats { return e.core.Stats() }

// Observe begins a phase of something that stands on the engine, as
// Observer.Begin does. The function is never nil.
func (e *Engine) Observe(ctx context.Context, p Phase) (context.Context, func(error)) {
	return e.core.Observe(ctx, p)
}

// Use opens the backend called name, loads every live Bases into it from
// where its owner keeps it, and makes it the preferred one. Calls go on
// meanwhile: those in flight finish on the old backend, which is closed after
// the last of them. When the two do not fit into a device at the same time, the
// old one is closed first and calls go to the fallback until Use returns. On an
// error the old backend is preferred as before.
//
// Use with the name of the present backend opens it afresh, and one that was
// retired for a wrong answer is asked again.
func (e *Engine) Use(ctx context.Context, name string) error { return e.core.Use(ctx, name) }

// Close is Shutdown that waits 30 seconds for the calls in flight. Scalar
// buffers stay valid until their Free. Closing twice is no error.
func (e *Engine) Close() error { return e.core.Close() }

// Shutdown refuses new calls, waits for those in flight and closes the
// backends. When ctx ends first, the calls end with backend.ErrClosed, and
// Shutdown says so. Bases of the engine become unusable; they need no Close of
// their own afterwards, though it does no harm.
func (e *Engine) Shutdown(ctx context.Context) error { return e.core.Shutdown(ctx) }
