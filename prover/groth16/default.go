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

// provers is what Prove keeps between calls: the engine, and for every live
// proving key the Prover that was used last with it.
var provers struct {
	mu     sync.Mutex
	engine *msm.Engine
	opts   []Option
	kept   map[any]*keptProver // by weak pointer to the key
}

// keptProver is a Prover with what shows that it still fits.
type keptProver struct {
	fingerprint uint64
	ccs         constraint.ConstraintSystem

	ready  chan struct{} // closed when the fields below are set
	prover *Prover
	err    error
}

func (k *keptProver) close() {
	<-k.ready
	if k.err == nil {
		// The only possible error is a backend's that could not free the
		// points; nobody waits for them.
		_ = k.prover.Close()
	}
}

// Use has Prove run on the engine from now on, with the options given; a nil
// engine is this process, as before the first Use. What Prove had loaded into
// the engine before is freed after the proofs in flight. The caller keeps the
// engine open while it is in use, and closes it.
func Use(engine *msm.Engine, opts ...Option) {
	provers.mu.Lock()
	old := provers.kept
	provers.engine, provers.opts, provers.kept = engine, opts, map[any]*keptProver{}
	provers.mu.Unlock()
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
		p, err := proverFor(ctx, ccs, pk)
		if err != nil {
			return nil, err
		}
		proof, err := p.Prove(ctx, fullWitness, opts...)
		if errors.Is(err, backend.ErrClosed) && p.isClosed() {
			continue // Use, or another key in the same variable, came between
		}
		return proof, err
	}
}

// proverFor is the Prover kept for a key, or a new one. Concurrent callers
// share one load.
func proverFor(ctx context.Context, ccs constraint.ConstraintSystem, pk ProvingKey) (*Prover, error) {
	b, err := bindingOf(pk)
	if err != nil {
		return nil, err
	}
	print, err := b.fingerprint(pk)
	if err != nil {
		return nil, err
	}
	at, whenGarbage := b.handle(pk)
	provers.mu.Lock()
	old := provers.kept[at]
	if old != nil && old.fingerprint == print && old.ccs == ccs {
		provers.mu.Unlock()
		<-old.ready
		return old.prover, old.err
	}
	k := &keptProver{ready: make(chan struct{}), fingerprint: print, ccs: ccs}
	if provers.kept == nil {
		provers.kept = map[any]*keptProver{}
	}
	provers.kept[at] = k
	engine, options := provers.engine, provers.opts
	provers.mu.Unlock()

	if old == nil {
		whenGarbage(forget)
	} else {
		old.close()
	}
	k.prover, k.err = newProver(ctx, engine, ccs, pk, options)
	close(k.ready)
	if k.err != nil {
		provers.mu.Lock()
		if provers.kept[at] == k {
			delete(provers.kept, at)
		}
		provers.mu.Unlock()
	}
	return k.prover, k.err
}

// forget closes the Prover of a key that is garbage.
func forget(at any) {
	provers.mu.Lock()
	k := provers.kept[at]
	delete(provers.kept, at)
	provers.mu.Unlock()
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
