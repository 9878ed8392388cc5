// Package keycache keeps what a prover's Prove needs again: an engine, and the proving
// keys that were loaded into it and are still in use.
package keycache

import (
	"hash/maphash"
	"runtime"
	"sync"
	"weak"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
)

// Resident is a key in an engine. Close waits for the proofs in flight.
type Resident interface{ Close() error }

// Purpose is what shows that a resident key is still the one to use.
type Purpose[M any] interface{ Same(M) bool }

// Keys keeps one R for each proving key. O is the options that keys are loaded
// with. The zero value is ready; it is safe for concurrent use.
type Keys[O any, M Purpose[M], R Resident] struct {
	mu     sync.Mutex
	engine *engine.Engine
	opts   O
	keys   map[any]*entry[M, R] // by weak pointer to the key
}

type entry[M any, R Resident] struct {
	purpose M
	ready   chan struct{} // closed when the fields below are set
	key     R
	err     error
}

func (e *entry[M, R]) close() {
	<-e.ready
	if e.err == nil {
		// The only possible error is a backend's that could not free the
		// points; nobody waits for them.
		_ = e.key.Close()
	}
}

// Use sets the engine that keys are loaded into from now on, and frees those that are
// loaded.
func (k *Keys[O, M, R]) Use(engine *engine.Engine, opts O) {
	k.mu.Lock()
	old := k.keys
	k.engine, k.opts, k.keys = engine, opts, nil
	k.mu.Unlock()
	for _, e := range old {
		e.close()
	}
}

// Renew frees what was loaded without an engine of Use, since what stands for one is another
// now.
func (k *Keys[O, M, R]) Renew() {
	k.mu.Lock()
	var old map[any]*entry[M, R]
	if k.engine == nil {
		old, k.keys = k.keys, nil
	}
	k.mu.Unlock()
	for _, e := range old {
		e.close()
	}
}

// Engine returns the engine of Use.
func (k *Keys[O, M, R]) Engine() *engine.Engine {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.engine
}

// Handle names a proving key without keeping it alive.
type Handle struct {
	at          any
	whenGarbage func(func(at any))
}

// HandleOf returns a key's handle.
func HandleOf[K any](pk *K) Handle {
	at := weak.Make(pk)
	return Handle{at, func(f func(any)) { runtime.AddCleanup(pk, f, any(at)) }}
}

// For returns what is resident of a key, and loads it first if need be. Concurrent callers
// share one load. For calls check before it drops what was loaded for another purpose.
func (k *Keys[O, M, R]) For(h Handle, purpose M, check func() error, load func(*engine.Engine, O) (R, error)) (R, error) {
	k.mu.Lock()
	old := k.keys[h.at]
	if old != nil && old.purpose.Same(purpose) {
		k.mu.Unlock()
		<-old.ready
		return old.key, old.err
	}
	if err := check(); err != nil {
		k.mu.Unlock()
		var none R
		return none, err
	}
	e := &entry[M, R]{purpose: purpose, ready: make(chan struct{})}
	if k.keys == nil {
		k.keys = map[any]*entry[M, R]{}
	}
	k.keys[h.at] = e
	engine, opts := k.engine, k.opts
	k.mu.Unlock()

	if old == nil {
		h.whenGarbage(k.forget)
	} else {
		old.close()
	}
	e.key, e.err = load(engine, opts)
	close(e.ready)
	if e.err != nil {
		k.mu.Lock()
		if k.keys[h.at] == e {
			delete(k.keys, h.at)
		}
		k.mu.Unlock()
	}
	return e.key, e.err
}

// forget closes what is resident of a key that is garbage.
func (k *Keys[O, M, R]) forget(at any) {
	k.mu.Lock()
	e := k.keys[at]
	delete(k.keys, at)
	k.mu.Unlock()
	if e != nil {
		go e.close() // it may wait, which cleanups must not
	}
}

// Seed is that of fingerprints, which tell keys in the same variable apart.
var Seed = maphash.MakeSeed()

// Sample hashes where a slice is and some of what it holds.
func Sample[T any](h *maphash.Hash, s []T) {
	const samples = 32
	lo, hi := layout.Range(s)
	maphash.WriteComparable(h, [2]uintptr{lo, hi})
	for i := range min(samples, len(s)) {
		at := i * len(s) / samples
		if len(s) < samples {
			at = i
		}
		h.Write(layout.Bytes(s[at : at+1]))
	}
}
