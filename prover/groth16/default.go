package groth16

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"weak"

	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/msm"
)

// kept is what Prove keeps between calls: the engine with its options, and
// every live proving key that was used with it.
var kept struct {
	mu     sync.Mutex
	engine *msm.Engine
	opts   options
	keys   map[any]*keptKey // by weak pointer to the key
}

// keptKey is a resident key with what shows that it still fits.
type keptKey struct {
	fingerprint uint64
	shape       shape

	ready chan struct{} // closed when the fields below are set
	key   *residentKey
	err   error
}

func (k *keptKey) close() {
	<-k.ready
	if k.err == nil {
		// The only possible error is a backend's that could not free the
		// points; nobody waits for them.
		_ = k.key.close()
	}
}

// Use has Prove run on the engine from now on, with the options given; a nil
// engine is one in this process, as before the first Use. What Prove had loaded
// into the engine before is freed after the proofs in flight. The caller keeps
// the engine open while it is in use, and closes it.
func Use(engine *msm.Engine, opts ...Option) {
	var o options
	for _, set := range opts {
		set(&o)
	}
	kept.mu.Lock()
	old := kept.keys
	kept.engine, kept.opts, kept.keys = engine, o, map[any]*keptKey{}
	kept.mu.Unlock()
	for _, k := range old {
		k.close()
	}
}

// Prove is gnark's Prove on the engine of Use. The key's points are loaded by
// the first call with a key, and freed when the key is garbage or by Use.
//
// A key must not be changed point by point after its first use; reading
// another key into the same variable is noticed.
func Prove(ccs constraint.ConstraintSystem, pk ProvingKey, fullWitness witness.Witness, opts ...gnark.ProverOption) (Proof, error) {
	ctx := context.Background()
	for {
		k, err := keyFor(ctx, ccs, pk)
		if err != nil {
			return nil, err
		}
		proof, err := k.prove(ctx, ccs, fullWitness, opts)
		if errors.Is(err, backend.ErrClosed) && k.isClosed() {
			continue // Use, or another key in the same variable, came between
		}
		return proof, err
	}
}

// keyFor is what is resident of a key, for a constraint system. Concurrent
// callers share one load.
func keyFor(ctx context.Context, ccs constraint.ConstraintSystem, pk ProvingKey) (*residentKey, error) {
	b, err := bindingOf(pk)
	if err != nil {
		return nil, err
	}
	print, err := b.fingerprint(pk)
	if err != nil {
		return nil, err
	}
	s, err := shapeOf(ccs)
	if err != nil {
		return nil, err
	}
	at, whenGarbage := b.handle(pk)
	kept.mu.Lock()
	old := kept.keys[at]
	if old != nil && old.fingerprint == print && old.shape.equal(&s) {
		kept.mu.Unlock()
		<-old.ready
		return old.key, old.err
	}
	if err := b.check(ccs, &s, pk); err != nil { // before it drops what fits another
		kept.mu.Unlock()
		return nil, err
	}
	k := &keptKey{ready: make(chan struct{}), fingerprint: print, shape: s}
	if kept.keys == nil {
		kept.keys = map[any]*keptKey{}
	}
	kept.keys[at] = k
	engine, options := kept.engine, kept.opts
	kept.mu.Unlock()

	if old == nil {
		whenGarbage(forget)
	} else {
		old.close()
	}
	k.key, k.err = loadKey(ctx, engine, options, b, s, pk)
	close(k.ready)
	if k.err != nil {
		kept.mu.Lock()
		if kept.keys[at] == k {
			delete(kept.keys, at)
		}
		kept.mu.Unlock()
	}
	return k.key, k.err
}

// forget closes what is resident of a key that is garbage.
func forget(at any) {
	kept.mu.Lock()
	k := kept.keys[at]
	delete(kept.keys, at)
	kept.mu.Unlock()
	if k != nil {
		go k.close() // it may wait, which cleanups must not
	}
}

// handleOf names a key without keeping it alive, and says how to hear of its
// end.
func handleOf[K any](pk *K) (at any, whenGarbage func(func(any))) {
	at = weak.Make(pk)
	return at, func(f func(any)) { runtime.AddCleanup(pk, f, at) }
}
