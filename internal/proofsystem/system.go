// Package proofsystem has gnark's proof systems as values. Whoever times, serves or
// plans proofs asks a Scheme, and knows neither the systems nor their curves.
package proofsystem

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/consensys/gnark-crypto/kzg"
	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/frontend"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
)

// System names a proof system, on command lines and in records.
type System string

// The systems.
const (
	Groth16 System = "groth16"
	PLONK   System = "plonk"
)

// Systems lists the systems.
func Systems() []System { return []System{Groth16, PLONK} }

// Parse reads the name of a system, in either case.
func Parse(s string) (System, error) {
	if y := System(strings.ToLower(s)); slices.Contains(Systems(), y) {
		return y, nil
	}
	return "", fmt.Errorf("%w: unknown proof system %q (groth16, plonk)", backend.ErrInvalidInput, s)
}

// On returns the system over a curve, or backend.ErrUnsupported.
func (s System) On(c backend.Curve) (Scheme, error) {
	types, ok := schemes[s]
	if !ok || !c.Valid() {
		return nil, fmt.Errorf("%w: proof system %q on %v", backend.ErrUnsupported, s, c)
	}
	return types(c), nil
}

// Of tells the proof system and the curve that a constraint system is for, or
// backend.ErrUnsupported.
func Of(ccs constraint.ConstraintSystem) (System, backend.Curve, error) {
	for _, c := range backend.Curves() {
		if c.ScalarField().Cmp(ccs.Field()) != 0 {
			continue
		}
		switch ccs.GetCommitments().(type) {
		case constraint.Groth16Commitments:
			return Groth16, c, nil
		case constraint.PlonkCommitments:
			return PLONK, c, nil
		}
	}
	return "", 0, fmt.Errorf("%w: a constraint system of type %T", backend.ErrUnsupported, ccs)
}

// Scheme is a proof system over one curve. Safe for concurrent use.
type Scheme interface {
	// ID returns gnark's number of the system.
	ID() gnark.ID
	// Compile compiles a circuit.
	Compile(frontend.Circuit, ...frontend.CompileOption) (constraint.ConstraintSystem, error)
	// NewConstraints returns an empty constraint system, to be read.
	NewConstraints() constraint.ConstraintSystem
	// NewWitness returns an empty witness, to be read.
	NewWitness() (witness.Witness, error)
	// NewKeys returns empty keys, to be read or set up.
	NewKeys() Keys
	// SizesOf returns what a proof for a constraint system computes. One of another
	// proof system is backend.ErrInvalidInput.
	SizesOf(constraint.ConstraintSystem) (*Sizes, error)
}

// Proof is a proof of gnark's.
type Proof interface {
	io.WriterTo
	io.ReaderFrom
}

// SRS makes the two forms of a KZG setup for a constraint system.
type SRS func(constraint.ConstraintSystem) (canonical, lagrange kzg.SRS, err error)

// Keys are the proving key and the verifying key of a circuit. What reads and sets up
// must not be called beside anything else.
type Keys interface {
	// SetUp makes both keys with gnark. Groth16 does not use the SRS.
	SetUp(constraint.ConstraintSystem, SRS) error
	// SetUpOn makes both keys with this module, on an engine.
	SetUpOn(context.Context, *engine.Engine, constraint.ConstraintSystem, SRS) error
	// ReadProving and ReadVerifying read a key that gnark wrote with WriteTo or
	// WriteRawTo. ReadProving does not check that points are on the curve.
	ReadProving(io.Reader) error
	ReadVerifying(io.Reader) error
	// ReadProvingOn reads a proving key in any of gnark's forms. Its points are checked on
	// an engine.
	ReadProvingOn(context.Context, *engine.Engine, io.Reader) error
	// ReadProvingChecked reads one that gnark wrote with WriteTo or WriteRawTo, with
	// gnark's own checks.
	ReadProvingChecked(io.Reader) error
	// WriteProving writes the proving key compressed.
	WriteProving(io.Writer) error
	// Files lists what to write, and read again, to keep both keys in files that
	// nobody else changes. Reading checks nothing.
	Files() []File

	// Sizes returns what a proof with the proving key computes.
	Sizes() (*Sizes, error)
	// Transforms returns a function that does the Fourier transforms of one proof
	// with gnark-crypto, on values of its own. It is nil when the prover of this
	// module does not transform in this process.
	Transforms() (func(), error)

	// NewProver loads the proving key into an engine; a nil engine is one in this
	// process.
	NewProver(*engine.Engine, constraint.ConstraintSystem, Options) (Prover, error)
	// ProveByGnark proves with gnark's own prover.
	ProveByGnark(constraint.ConstraintSystem, witness.Witness, ...gnark.ProverOption) (Proof, error)
	// Verify verifies a proof of this system and curve.
	Verify(Proof, witness.Witness, ...gnark.VerifierOption) error
	// NewProof returns an empty proof, to be read.
	NewProof() Proof
}

// File is a key as a file.
type File struct {
	Name  string // proving, verifying
	Write func(io.Writer) error
	Read  func(io.Reader) error
}

// Options say how proofs are made. The zero value is the default.
type Options struct {
	// NoMerging has Groth16 merge no equal bases and scalars. PLONK merges none.
	NoMerging bool
}

// Prover proves statements of one circuit. Safe for concurrent use. For errors and
// contexts see prover/groth16 and prover/plonk.
type Prover interface {
	Prove(context.Context, witness.Witness, ...gnark.ProverOption) (Proof, error)
	// ProveAll yields the proofs in the order of the witnesses, with at most inFlight
	// of them worked at.
	ProveAll(ctx context.Context, witnesses iter.Seq[witness.Witness], inFlight int, opts ...gnark.ProverOption) iter.Seq2[Proof, error]
	// Close frees the key's points after the proofs in flight.
	Close() error
}

// Unsatisfied returns the number of the constraint that a witness does not satisfy,
// when err says so.
func Unsatisfied(err error) (constraint int, ok bool) {
	for _, c := range bindings {
		if constraint, ok = c.unsatisfied(err); ok {
			return constraint, true
		}
	}
	return 0, false
}
