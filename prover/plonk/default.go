package plonk

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
	ccs         constraint.ConstraintSystem
}

func (p purpose) Same(o purpose) bool { return p == o }

// Use makes Prove run on an engine from now on, with the options given. A nil engine
// stands for that of pippin.Use, or else one in this process, as before the first Use. What Prove had loaded into the
// engine before is freed after the proofs in flight. The caller keeps the engine open
// while it is in use, and closes it.
func Use(engine *engine.Engine, opts ...Option) { kept.Use(engine, optionsOf(opts)) }

// Prove does what gnark's Prove does, on the engine of Use. The first call with a key and
// its constraint system loads both, and keeps the constraint system reachable. They are
// freed when the key is garbage, by Use, or by a call with the key and another constraint
// system.
//
// Neither may be changed after its first use. Reading another key into the same variable
// is noticed.
func Prove(ccs constraint.ConstraintSystem, pk ProvingKey, fullWitness witness.Witness, opts ...gnark.ProverOption) (Proof, error) {
	return proving.Prove(func(ctx context.Context) (*residentKey, error) { return keyFor(ctx, ccs, pk) }, ccs, fullWitness, opts)
}

// keyFor returns what is resident of a key for a constraint system, and loads it first if
// need be.
func keyFor(ctx context.Context, ccs constraint.ConstraintSystem, pk ProvingKey) (*residentKey, error) {
	b, s, err := bindingOf(ccs)
	if err != nil {
		return nil, err
	}
	print, err := b.fingerprint(pk)
	if err != nil {
		return nil, err
	}
	return kept.For(b.handle(pk), purpose{print, ccs},
		func() error { return b.check(ccs, s, pk) },
		func(e *engine.Engine, o options) (*residentKey, error) { return loadKey(ctx, e, o, b, ccs, s, pk) })
}
