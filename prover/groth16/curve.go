package groth16

import (
	"context"
	"fmt"
	"hash/maphash"
	"io"

	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/keycache"
	"github.com/pippin-zk/pippin/prover/internal/keyfile"
	"github.com/pippin-zk/pippin/prover/internal/matrices"
	"github.com/pippin-zk/pippin/prover/internal/resident"
	"github.com/pippin-zk/pippin/prover/internal/solve"
	"github.com/pippin-zk/pippin/vector"
)

// curve connects gnark's types of one curve to the algorithm, which is written once for all curves.
// Each generated file has one value.
type curve[P1, P2 any, S comparable] struct {
	g1 *group.Ops[P1, S]
	g2 *group.Ops[P2, S]
	fr *group.Field[S]
	// vectors computes over the same field on a backend.
	vectors *vector.Field[S]

	// parts returns a view of a key. It returns false for a key of another curve.
	parts func(ProvingKey) (*parts[P1, P2, S], bool)
	// keyOf makes a key in two steps: from gnark-crypto's encoding of its domain, which says
	// whether it has tables, and then from its parts. Tables take long to make.
	keyOf func(domain io.Reader) (func(*parts[P1, P2, S]) ProvingKey, error)
	// writeDomain writes gnark-crypto's domain of a size, without its tables.
	writeDomain func(_ io.Writer, size uint64) error
	// verifies reports whether a verifying key belongs to a proving key.
	verifies func(VerifyingKey, *parts[P1, P2, S]) bool
	// handleOf returns the handle of a key of this curve.
	handleOf func(ProvingKey) keycache.Handle
	// system returns a constraint system as package solve takes it. It returns false for one of
	// another curve.
	system func(constraint.ConstraintSystem) (solve.System[S], bool)
	// proof makes gnark's proof.
	proof func(*proof[P1, P2]) Proof
	// random2 returns a random point, drawn by gnark-crypto.
	random2 func() (P2, error)
	// domain returns the size of the domain for that many constraints, and a generator.
	domain func(constraints int) (size int, root S)
	// keys makes gnark's keys.
	keys func(*keys[P1, P2, S]) (ProvingKey, VerifyingKey, error)
}

// proof is a proof with its types as parameters.
type proof[P1, P2 any] struct {
	ar, krs       P1
	bs            P2
	commitments   []P1
	commitmentPok P1
}

// binding is what a Prover needs from a curve.
type binding interface {
	// check refuses a key that does not belong to a constraint system. The shape is that of the
	// system.
	check(constraint.ConstraintSystem, *shape, ProvingKey) error
	// load loads a key for a constraint system of a shape, and others of that shape.
	load(context.Context, *engine.Engine, *options, shape, constraint.ConstraintSystem, ProvingKey) (scheme, error)
	// belongs returns a function that reports whether a verifying key belongs to a proving key.
	belongs(ProvingKey) func(VerifyingKey) bool
	// setup makes the keys of a constraint system, whose shape is given.
	setup(context.Context, *engine.Engine, *shape, constraint.ConstraintSystem, *setupOptions) (ProvingKey, VerifyingKey, error)
	fingerprint(ProvingKey) (uint64, error)
	handle(ProvingKey) keycache.Handle
	// domainBytes and read read a key's file.
	domainBytes(size uint64) ([]byte, error)
	read(_ *keyfile.Reader, size uint64, domain []byte) (ProvingKey, error)
}

// bindingOf returns the binding of a key's curve.
func bindingOf(pk ProvingKey) (binding, error) {
	if pk == nil {
		return nil, fmt.Errorf("%w: no proving key", backend.ErrInvalidInput)
	}
	b, ok := bindings[pk.CurveID()]
	if !ok {
		return nil, fmt.Errorf("%w: Groth16 on the curve %s", backend.ErrUnsupported, pk.CurveID())
	}
	return b, nil
}

func (c *curve[P1, P2, S]) partsOf(pk ProvingKey) (*parts[P1, P2, S], error) {
	p, ok := c.parts(pk)
	if !ok {
		return nil, fmt.Errorf("%w: a proving key of type %T", backend.ErrInvalidInput, pk)
	}
	return p, nil
}

func (c *curve[P1, P2, S]) systemOf(ccs constraint.ConstraintSystem) (solve.System[S], error) {
	sys, ok := c.system(ccs)
	if !ok {
		return sys, fmt.Errorf("%w: a constraint system of type %T with a key of another curve", backend.ErrInvalidInput, ccs)
	}
	return sys, nil
}

func (c *curve[P1, P2, S]) check(ccs constraint.ConstraintSystem, s *shape, pk ProvingKey) error {
	p, err := c.partsOf(pk)
	if err != nil {
		return err
	}
	if _, err := c.systemOf(ccs); err != nil {
		return err
	}
	return p.check(s)
}

func (c *curve[P1, P2, S]) load(ctx context.Context, e *engine.Engine, o *options, s shape, ccs constraint.ConstraintSystem,
	pk ProvingKey) (scheme, error) {
	p, err := c.partsOf(pk)
	if err != nil {
		return nil, err
	}
	sys, err := c.systemOf(ccs)
	if err != nil {
		return nil, err
	}
	if o.mergeBases == MergeAuto && o.where.onBackend(e, c.vectors.Curve()) {
		plain := *o
		plain.mergeBases = MergeNever // a backend takes the values of wires as they are, and adds none up
		o = &plain
	}
	k, err := newKey(ctx, c, o, p, s)
	if err != nil {
		return nil, err
	}
	if resident.Elsewhere(e, c.vectors.Curve()) { // else nothing has them
		k.matrixElements = matrices.Elements(c.vectors, matrices.Sizes(sys.System.System), len(sys.Coefficients))
	}
	if k, err = k.in(ctx, e); err != nil {
		return nil, err
	}
	return newProver(k, o.overlap, o.where), nil
}

func (c *curve[P1, P2, S]) belongs(pk ProvingKey) func(VerifyingKey) bool {
	p, ok := c.parts(pk)
	return func(vk VerifyingKey) bool { return ok && c.verifies(vk, p) }
}

func (c *curve[P1, P2, S]) handle(pk ProvingKey) keycache.Handle {
	return c.handleOf(pk)
}

// fingerprint returns a hash of the addresses and lengths of all slices of a key, of its single
// points, and of a few dozen points of every slice. It takes microseconds. Two keys of one circuit
// differ in nearly all points, and so in their fingerprints.
func (c *curve[P1, P2, S]) fingerprint(pk ProvingKey) (uint64, error) {
	p, err := c.partsOf(pk)
	if err != nil {
		return 0, err
	}
	var h maphash.Hash
	h.SetSeed(keycache.Seed)
	h.Write(layout.Bytes([]P1{p.alpha, p.beta, p.delta}))
	h.Write(layout.Bytes([]P2{p.beta2, p.delta2}))
	for _, s := range [][]P1{p.a, p.b, p.k, p.z} {
		keycache.Sample(&h, s)
	}
	keycache.Sample(&h, p.b2)
	for _, ped := range p.pedersen {
		keycache.Sample(&h, ped.basis)
		keycache.Sample(&h, ped.sigma)
	}
	return h.Sum64(), nil
}
