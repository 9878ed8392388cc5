package proofsystem

import (
	"context"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"

	"github.com/consensys/gnark-crypto/ecc"
	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/frontend/cs/scs"

	gnarkgroth16 "github.com/consensys/gnark/backend/groth16"
	gnarkplonk "github.com/consensys/gnark/backend/plonk"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/plonk"
)

// written is what keys have in common.
type written interface {
	io.ReaderFrom
	io.WriterTo
	UnsafeReadFrom(io.Reader) (int64, error)
	WriteRawTo(io.Writer) (int64, error)
}

// system ties gnark's types of a proof system to Scheme and Keys: PK is its proving
// key, VK its verifying key, P its proof.
type system[PK, VK written, P Proof] struct {
	id          gnark.ID
	builder     frontend.NewBuilder
	constraints func(ecc.ID) constraint.ConstraintSystem
	proving     func(ecc.ID) PK
	verifying   func(ecc.ID) VK
	proof       func(ecc.ID) P
	setUp       func(constraint.ConstraintSystem, SRS) (PK, VK, error)
	setUpOn     func(context.Context, *engine.Engine, constraint.ConstraintSystem, SRS) (PK, VK, error)
	prove       func(constraint.ConstraintSystem, PK, witness.Witness, ...gnark.ProverOption) (P, error)
	verify      func(P, VK, witness.Witness, ...gnark.VerifierOption) error
	prover      func(*engine.Engine, constraint.ConstraintSystem, PK, Options) (typed[P], error)
	sizesOf     func(constraint.ConstraintSystem) (*Sizes, error)
	// facts returns what a proving key of a curve says, or false for another curve's.
	facts func(*curve, PK) (keyFacts, bool)
	// readOn reads a proving key on an engine.
	readOn func(context.Context, *engine.Engine, ecc.ID, io.Reader) (PK, error)
	// dump writes and reads a proving key the fast way.
	write func(PK, io.Writer) error
	read  func(PK, io.Reader) error
}

// keyFacts is what a proving key says of its proofs.
type keyFacts struct {
	sizes      *Sizes
	transforms func() func() // nil where there are none
}

// curve is what the generated files know of a curve.
type curve struct {
	groth16     func(gnarkgroth16.ProvingKey) (groth16Points, func() func(), bool)
	plonk       func(gnarkplonk.ProvingKey) (rows, commitments int, ok bool)
	unsatisfied func(error) (constraint int, ok bool)
}

// schemes has an entry for each system.
var schemes = map[System]func(backend.Curve) Scheme{
	Groth16: over(system[gnarkgroth16.ProvingKey, gnarkgroth16.VerifyingKey, gnarkgroth16.Proof]{
		id: gnark.GROTH16, builder: r1cs.NewBuilder[constraint.U64], constraints: gnarkgroth16.NewCS,
		proving: gnarkgroth16.NewProvingKey, verifying: gnarkgroth16.NewVerifyingKey, proof: gnarkgroth16.NewProof,
		setUp: func(ccs constraint.ConstraintSystem, _ SRS) (gnarkgroth16.ProvingKey, gnarkgroth16.VerifyingKey, error) {
			return gnarkgroth16.Setup(ccs)
		},
		setUpOn: func(ctx context.Context, e *engine.Engine, ccs constraint.ConstraintSystem,
			_ SRS) (gnarkgroth16.ProvingKey, gnarkgroth16.VerifyingKey, error) {
			return groth16.SetupOn(ctx, e, ccs)
		},
		prove: gnarkgroth16.Prove, verify: gnarkgroth16.Verify,
		prover: func(e *engine.Engine, ccs constraint.ConstraintSystem, pk gnarkgroth16.ProvingKey,
			o Options) (typed[gnarkgroth16.Proof], error) {
			if o.NoMerging {
				return groth16.NewProver(e, ccs, pk, groth16.MergeBases(groth16.MergeNever), groth16.MergeScalars(groth16.MergeNever))
			}
			return groth16.NewProver(e, ccs, pk)
		},
		sizesOf: groth16SizesOf,
		facts: func(c *curve, pk gnarkgroth16.ProvingKey) (keyFacts, bool) {
			points, transforms, ok := c.groth16(pk)
			return keyFacts{points.sizes(), transforms}, ok
		},
		readOn: func(ctx context.Context, e *engine.Engine, _ ecc.ID, r io.Reader) (gnarkgroth16.ProvingKey, error) {
			return groth16.ReadProvingKey(ctx, e, r)
		},
		write: gnarkgroth16.ProvingKey.WriteDump, read: gnarkgroth16.ProvingKey.ReadDump,
	}),
	PLONK: over(system[gnarkplonk.ProvingKey, gnarkplonk.VerifyingKey, gnarkplonk.Proof]{
		id: gnark.PLONK, builder: scs.NewBuilder[constraint.U64], constraints: gnarkplonk.NewCS,
		proving: gnarkplonk.NewProvingKey, verifying: gnarkplonk.NewVerifyingKey, proof: gnarkplonk.NewProof,
		setUp: func(ccs constraint.ConstraintSystem, srs SRS) (pk gnarkplonk.ProvingKey, vk gnarkplonk.VerifyingKey, err error) {
			canonical, lagrange, err := srs(ccs)
			if err != nil {
				return nil, nil, err
			}
			return gnarkplonk.Setup(ccs, canonical, lagrange)
		},
		setUpOn: func(ctx context.Context, e *engine.Engine, ccs constraint.ConstraintSystem,
			srs SRS) (pk gnarkplonk.ProvingKey, vk gnarkplonk.VerifyingKey, err error) {
			canonical, lagrange, err := srs(ccs)
			if err != nil {
				return nil, nil, err
			}
			return plonk.SetupOn(ctx, e, ccs, canonical, lagrange)
		},
		prove: gnarkplonk.Prove, verify: gnarkplonk.Verify,
		prover: func(e *engine.Engine, ccs constraint.ConstraintSystem, pk gnarkplonk.ProvingKey, _ Options) (typed[gnarkplonk.Proof], error) {
			return plonk.NewProver(e, ccs, pk)
		},
		sizesOf: plonkSizesOf,
		facts: func(c *curve, pk gnarkplonk.ProvingKey) (keyFacts, bool) {
			rows, commitments, ok := c.plonk(pk)
			if !ok {
				return keyFacts{}, false
			}
			// It does not know how many rows are used or committed to.
			return keyFacts{sizes: plonkSizes(rows, rows, slices.Repeat([]int{rows}, commitments))}, true
		},
		readOn: plonk.ReadProvingKey,
		write:  func(pk gnarkplonk.ProvingKey, w io.Writer) error { return only(pk.WriteRawTo(w)) },
		read:   func(pk gnarkplonk.ProvingKey, r io.Reader) error { return only(pk.UnsafeReadFrom(r)) },
	}),
}

// only returns the error of a method that also counts bytes.
func only(_ int64, err error) error { return err }

// over makes schemes of a system.
func over[PK, VK written, P Proof](s system[PK, VK, P]) func(backend.Curve) Scheme {
	return func(c backend.Curve) Scheme { return &scheme[PK, VK, P]{&s, curves.ID(c)} }
}

type scheme[PK, VK written, P Proof] struct {
	*system[PK, VK, P]
	on ecc.ID
}

func (s *scheme[PK, VK, P]) ID() gnark.ID { return s.id }

func (s *scheme[PK, VK, P]) Compile(c frontend.Circuit, opts ...frontend.CompileOption) (constraint.ConstraintSystem, error) {
	return frontend.Compile(s.on.ScalarField(), s.builder, c, opts...)
}

func (s *scheme[PK, VK, P]) NewConstraints() constraint.ConstraintSystem { return s.constraints(s.on) }

func (s *scheme[PK, VK, P]) NewWitness() (witness.Witness, error) {
	return witness.New(s.on.ScalarField())
}

func (s *scheme[PK, VK, P]) NewKeys() Keys {
	return &keys[PK, VK, P]{s, s.proving(s.on), s.verifying(s.on)}
}

func (s *scheme[PK, VK, P]) SizesOf(ccs constraint.ConstraintSystem) (*Sizes, error) {
	return s.sizesOf(ccs)
}

type keys[PK, VK written, P Proof] struct {
	*scheme[PK, VK, P]
	pk PK
	vk VK
}

func (k *keys[PK, VK, P]) SetUp(ccs constraint.ConstraintSystem, srs SRS) (err error) {
	k.pk, k.vk, err = k.setUp(ccs, srs)
	return err
}

func (k *keys[PK, VK, P]) SetUpOn(ctx context.Context, e *engine.Engine, ccs constraint.ConstraintSystem, srs SRS) (err error) {
	k.pk, k.vk, err = k.setUpOn(ctx, e, ccs, srs)
	return err
}

func (k *keys[PK, VK, P]) ReadProving(r io.Reader) error { return only(k.pk.UnsafeReadFrom(r)) }
func (k *keys[PK, VK, P]) ReadProvingOn(ctx context.Context, e *engine.Engine, r io.Reader) (err error) {
	k.pk, err = k.readOn(ctx, e, k.on, r)
	return err
}
func (k *keys[PK, VK, P]) ReadProvingChecked(r io.Reader) error { return only(k.pk.ReadFrom(r)) }
func (k *keys[PK, VK, P]) WriteProving(w io.Writer) error       { return only(k.pk.WriteTo(w)) }
func (k *keys[PK, VK, P]) ReadVerifying(r io.Reader) error      { return only(k.vk.ReadFrom(r)) }

func (k *keys[PK, VK, P]) Files() []File {
	return []File{
		{"proving", func(w io.Writer) error { return k.write(k.pk, w) }, func(r io.Reader) error { return k.read(k.pk, r) }},
		{"verifying", func(w io.Writer) error { return only(k.vk.WriteRawTo(w)) }, func(r io.Reader) error {
			return only(k.vk.UnsafeReadFrom(r))
		}},
	}
}

func (k *keys[PK, VK, P]) keyFacts() (keyFacts, error) {
	f, ok := k.facts(bindings[k.on], k.pk)
	if !ok {
		return f, fmt.Errorf("%w: a proving key of type %T on %s", backend.ErrUnsupported, k.pk, k.on)
	}
	return f, nil
}

func (k *keys[PK, VK, P]) Sizes() (*Sizes, error) {
	f, err := k.keyFacts()
	return f.sizes, err
}

func (k *keys[PK, VK, P]) Transforms() (func(), error) {
	f, err := k.keyFacts()
	if err != nil || f.transforms == nil {
		return nil, err
	}
	return f.transforms(), nil
}

func (k *keys[PK, VK, P]) NewProver(e *engine.Engine, ccs constraint.ConstraintSystem, o Options) (Prover, error) {
	p, err := k.prover(e, ccs, k.pk, o)
	if err != nil {
		return nil, err
	}
	return prover[P]{p}, nil
}

func (k *keys[PK, VK, P]) ProveByGnark(ccs constraint.ConstraintSystem, w witness.Witness, opts ...gnark.ProverOption) (Proof, error) {
	return k.prove(ccs, k.pk, w, opts...)
}

func (k *keys[PK, VK, P]) Verify(proof Proof, public witness.Witness, opts ...gnark.VerifierOption) error {
	// Every proof of gnark's is a plonk.Proof, and gnark panics at another type.
	p, ok := proof.(P)
	if !ok || reflect.TypeOf(proof) != reflect.TypeOf(k.NewProof()) {
		return fmt.Errorf("%w: a proof of type %T", backend.ErrInvalidInput, proof)
	}
	return k.verify(p, k.vk, public, opts...)
}

func (k *keys[PK, VK, P]) NewProof() Proof { return k.proof(k.on) }

// typed is a prover of this module: P is gnark's proof.
type typed[P Proof] interface {
	Prove(context.Context, witness.Witness, ...gnark.ProverOption) (P, error)
	ProveAll(context.Context, iter.Seq[witness.Witness], int, ...gnark.ProverOption) iter.Seq2[P, error]
	Close() error
}

// prover hides the type of the proofs.
type prover[P Proof] struct{ of typed[P] }

func (p prover[P]) Close() error { return p.of.Close() }

func (p prover[P]) Prove(ctx context.Context, w witness.Witness, opts ...gnark.ProverOption) (Proof, error) {
	return p.of.Prove(ctx, w, opts...)
}

func (p prover[P]) ProveAll(ctx context.Context, witnesses iter.Seq[witness.Witness], inFlight int,
	opts ...gnark.ProverOption) iter.Seq2[Proof, error] {
	return func(yield func(Proof, error) bool) {
		for proof, err := range p.of.ProveAll(ctx, witnesses, inFlight, opts...) {
			if !yield(proof, err) {
				return
			}
		}
	}
}

// transforms returns six transforms of a domain's size, as prover/groth16 does them: A
// and B to coefficients and on to the coset, C to coefficients, and the quotient back.
func transforms[E, D, O any, PE curves.Scalar[E]](d curves.Transforms[E, D, O], size uint64, dit, dif D, coset O) func() {
	var v [3][]E
	for i := range v {
		v[i] = make([]E, size)
		for j := range v[i] {
			PE(&v[i][j]).SetUint64(uint64(i*len(v[i])+j) * 0x9e3779b97f4a7c15) // in Montgomery form all bits differ
		}
	}
	return func() {
		for _, x := range v[:2] {
			d.FFTInverse(x, dif)
			d.FFT(x, dit, coset)
		}
		d.FFTInverse(v[2], dif)
		d.FFTInverse(v[0], dif, coset)
	}
}
