// Package local opens the engine of those who have none: gnark-crypto in this
// process.
package local

import (
	"context"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
)

// Engine returns e, or, if e is nil, the engine in this process, which all
// callers share and only tests close. It fails if gnark-crypto's types do not lie in
// memory as backends read them.
func Engine(e *engine.Engine) (*engine.Engine, error) {
	if err := layout.Check(); err != nil {
		return nil, err
	}
	if e != nil {
		return e, nil
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.e == nil {
		var err error
		if shared.e, err = Open(context.Background()); err != nil {
			return nil, err
		}
	}
	return shared.e, nil
}

var shared struct {
	sync.Mutex
	e *engine.Engine // nil until somebody needs it
}

// Close closes the engine that callers share; the next one who has none opens
// another. It is for tests that look for what is left over.
func Close() error {
	shared.Lock()
	defer shared.Unlock()
	e := shared.e
	shared.e = nil
	return e.Close()
}

// Open opens an engine on gnark-crypto in this process, with nothing to fall
// back to, which the caller closes.
func Open(ctx context.Context) (*engine.Engine, error) {
	return engine.New(ctx, engine.Config{
		Open:      func(context.Context, string) (backend.Backend, error) { return cpu.New(cpu.Options{}), nil },
		Fallbacks: []string{engine.NoFallback},
	})
}
