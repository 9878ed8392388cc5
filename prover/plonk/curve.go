package plonk

import (
	"context"
	"fmt"
	"hash/maphash"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/kzg"
	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/keycache"
	"github.com/pippin-zk/pippin/prover/internal/keyfile"
	"github.com/pippin-zk/pippin/prover/internal/solve"
	"github.com/pippin-zk/pippin/vector"
)

// curve ties gnark's types of one curve to the algorithm, which is written once
// for all of them. The generated files have one value each.
type curve[P any, S comparable] struct {
	g1 *group.Ops[P, S]
	fr *group.Field[S]

	// vectors computes over the same field on a backend.
	vectors *vector.Field[S]
	// parts returns a view of a key, and false for a key of another curve.
	parts func(ProvingKey) (*parts[P, S], bool)
	// verifies reports whether a verifying key is for the proofs of a key.
	verifies func(VerifyingKey, *parts[P, S]) bool
	// generator returns a root of unity of an order.
	generator func(order uint64) (S, error)
	// handleOf returns the handle of a key of this curve.
	handleOf func(ProvingKey) keycache.Handle
	// system returns a constraint system as package solve wants it, and false for one
	// of another curve.
	system func(constraint.ConstraintSystem) (solve.System[S], bool)
	// trace returns the columns, of n rows, of a constraint system of this curve.
	trace func(ccs constraint.ConstraintSystem, n int) *trace[S]
	// proof makes gnark's proof.
	proof func(*proof[P, S]) Proof
	// srsPoints returns the points of a setup of this curve, and false for another.
	srsPoints func(kzg.SRS) ([]P, bool)
	// keys makes gnark's keys, with the verifying key of a setup.
	keys func(*parts[P, S], kzg.SRS) (ProvingKey, VerifyingKey, error)
	// coset returns what shifts the domain of n elements.
	coset func(n uint64) S
	// readSetup reads the verifying key of a setup.
	readSetup func(*keyfile.Reader) kzg.SRS
}

// binding is what a Prover needs of a curve.
type binding interface {
	// check refuses a key that is not for a constraint system, whose shape is given.
	check(constraint.ConstraintSystem, *shape, ProvingKey) error
	// load loads a key for a constraint system.
	load(context.Context, *engine.Engine, constraint.ConstraintSystem, *shape, ProvingKey) (scheme, error)
	// belongs returns a function that reports whether a verifying key is for the proofs
	// of a proving key.
	belongs(ProvingKey) func(VerifyingKey) bool
	// setup makes the keys of a constraint system, whose shape is given.
	setup(ctx context.Context, e *engine.Engine, s *shape, ccs constraint.ConstraintSystem,
		srs, lagrange kzg.SRS) (ProvingKey, VerifyingKey, error)
	fingerprint(ProvingKey) (uint64, error)
	handle(ProvingKey) keycache.Handle
	// read reads a key's file.
	read(*keyfile.Reader) (ProvingKey, error)
}

// curveOf is a constraint system that knows its curve; a PLONK key does not.
type curveOf interface{ CurveID() ecc.ID }

// bindingOf returns the binding of a constraint system's curve, and the system's shape.
func bindingOf(ccs constraint.ConstraintSystem) (binding, *shape, error) {
	s, err := shapeOf(ccs)
	if err != nil {
		return nil, nil, err
	}
	c, ok := ccs.(curveOf)
	if !ok {
		return nil, nil, fmt.Errorf("%w: a constraint system of type %T", backend.ErrInvalidInput, ccs)
	}
	b, ok := bindings[c.CurveID()]
	if !ok {
		return nil, nil, fmt.Errorf("%w: PLONK on the curve %s", backend.ErrUnsupported, c.CurveID())
	}
	return b, s, nil
}

func (c *curve[P, S]) partsOf(pk ProvingKey) (*parts[P, S], error) {
	p, ok := c.parts(pk)
	if !ok {
		return nil, fmt.Errorf("%w: a proving key of type %T with a constraint system of another curve, or an empty one",
			backend.ErrInvalidInput, pk)
	}
	return p, nil
}

func (c *curve[P, S]) systemOf(ccs constraint.ConstraintSystem) (solve.System[S], error) {
	sys, ok := c.system(ccs)
	if !ok {
		return sys, fmt.Errorf("%w: a constraint system of type %T with a key of another curve", backend.ErrInvalidInput, ccs)
	}
	return sys, nil
}

func (c *curve[P, S]) check(ccs constraint.ConstraintSystem, s *shape, pk ProvingKey) error {
	p, err := c.partsOf(pk)
	if err != nil {
		return err
	}
	if _, err := c.systemOf(ccs); err != nil {
		return err
	}
	return p.check(s)
}

func (c *curve[P, S]) belongs(pk ProvingKey) func(VerifyingKey) bool {
	p, ok := c.parts(pk)
	return func(vk VerifyingKey) bool { return ok && c.verifies(vk, p) }
}

func (c *curve[P, S]) handle(pk ProvingKey) keycache.Handle { return c.handleOf(pk) }

// fingerprint returns a hash of the addresses and lengths of a key's slices and of some of
// its points. It takes microseconds. Two keys differ in nearly all points, and so in their
// fingerprints.
func (c *curve[P, S]) fingerprint(pk ProvingKey) (uint64, error) {
	p, err := c.partsOf(pk)
	if err != nil {
		return 0, err
	}
	var h maphash.Hash
	h.SetSeed(keycache.Seed)
	h.Write(layout.Bytes(p.columns))
	keycache.Sample(&h, p.canonical)
	keycache.Sample(&h, p.lagrange)
	return h.Sum64(), nil
}
