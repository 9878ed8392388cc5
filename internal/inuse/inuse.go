// Package inuse has the engine that pippin.Use gave to the whole program. The provers take it
// where they were given none.
package inuse

import (
	"sync"

	"github.com/pippin-zk/pippin/engine"
)

var (
	mu      sync.Mutex
	current *engine.Engine
	changed []func()
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
