// Package inuse has the engine that pippin.Use gave to the whole program. The provers take it
// where they were given none. It also knows what other engines there are, so that a prover that
// has none can say so.
package inuse

import (
	"slices"
	"sync"
	"weak"

	"github.com/pippin-zk/pippin/engine"
)

var (
	mu      sync.Mutex
	current *engine.Engine
	changed []func()
	opened  []weak.Pointer[engine.Engine]
)

// Engine returns the program's engine, or nil.
func Engine() *engine.Engine {
	mu.Lock()
	defer mu.Unlock()
	return current
}

// Set makes an engine the program's, and calls what OnChange was given. nil is none.
func Set(e *engine.Engine) {
	mu.Lock()
	current = e
	all := changed
	mu.Unlock()
	for _, f := range all {
		f()
	}
}

// OnChange has f called after each Set.
func OnChange(f func()) {
	mu.Lock()
	defer mu.Unlock()
	changed = append(changed[:len(changed):len(changed)], f)
}

// Opened notes an engine that pippin.New opened.
func Opened(e *engine.Engine) {
	mu.Lock()
	defer mu.Unlock()
	opened = append(slices.DeleteFunc(opened, func(p weak.Pointer[engine.Engine]) bool {
		e := p.Value()
		return e == nil || e.Err() != nil
	}), weak.Make(e))
}

// Elsewhere returns an open engine that computes in another process, or nil.
func Elsewhere() *engine.Engine {
	mu.Lock()
	defer mu.Unlock()
	for _, p := range opened {
		if e := p.Value(); e != nil && e.Err() == nil && !e.Info().InProcess {
			return e
		}
	}
	return nil
}
