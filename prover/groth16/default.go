package groth16

import (
	"context"

	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/inuse"
	"github.com/pippin-zk/pippin/prover/internal/keycache"
	"github.com/pippin-zk/pippin/prover/internal/proving"
)

// kept is what Prove keeps between calls.
var kept keycache.Keys[options, purpose, *residentKey]

func init() { inuse.OnChange(kept.Renew) }

// purpose is what a key was loaded for.
type purpose struct {
	fingerprint uint64
	shape       shape
}

func (p purpose) Same(o purpose) bool {
	return p.fingerprint == o.fingerprint && p.shape.equal(&o.shape)
}

// Use makes Prove run on an engine from now on, with the given options. A nil engine means
// that of pippin.Use, or else one in this process, as before the first Use. What Prove had loaded into the engine before is freed
// after the proofs in flight. The caller keeps the engine open while it is in use, and closes it.
func Use(engine *engine.Engine, opts ...Option) { kept.Use(engine, optionsOf(opts)) }

// Prove does what gnark's Prove does, on the engine of Use. The first call with a key loads its
// points. They are freed when the key becomes garbage, or by the next Use.
//
// Do not change points of a key after its first use. Reading another key into the same variable is
// safe: Prove notices it.
func Prove(ccs constraint.ConstraintSystem, pk ProvingKey, fullWitness witness.Witness, opts ...gnark.ProverOption) (Proof, error) {
	return proving.Prove(func(ctx context.Context) (*residentKey, error) { return keyFor(ctx, ccs, pk) }, ccs, fullWitness, opts)
}

// keyFor returns a key that is resident for a constraint system. It loads the key if it is not.
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
	return kept.For(b.handle(pk), purpose{print, s},
		func() error { return b.check(ccs, &s, pk) },
		func(e *engine.Engine, o options) (*residentKey, error) { return loadKey(ctx, e, o, b, s, ccs, pk) })
}
