package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"reflect"

	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/solidity"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/proofsystem"
)

// Proof is one of gnark's proofs.
type Proof = proofsystem.Proof

// Verifier reads a proof and checks it.
type Verifier func(proof []byte, public witness.Witness) (Proof, error)

// SchemeOf returns the proof system of a work on its curve. Unknown names are
// backend.ErrInvalidInput.
func SchemeOf(w Work) (proofsystem.Scheme, error) {
	curve, err := backend.ParseCurve(w.Curve)
	if err != nil {
		return nil, err
	}
	system, err := proofsystem.Parse(w.System)
	if err != nil {
		return nil, err
	}
	return system.On(curve)
}

// Fits refuses a witness that is not over the field of the work's curve.
func Fits(work Work, w witness.Witness) error {
	scheme, err := SchemeOf(work)
	if err != nil {
		return err
	}
	own, err := scheme.NewWitness()
	if err != nil {
		return fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
	}
	if w == nil || reflect.TypeOf(own.Vector()) != reflect.TypeOf(w.Vector()) {
		return fmt.Errorf("%w: the witness is not over the field of %s", backend.ErrInvalidInput, work.Curve)
	}
	return nil
}

// Shape is the layout of a circuit's full witness as gnark marshals it: three 32-bit numbers that
// count the public values, the secret ones and all of them, then the values.
type Shape struct {
	public, secret int
	value          int // bytes
}

const witnessHeader = 3 * 4 // bytes

// ShapeOf returns the shape of the witnesses of a work's compiled circuit.
func ShapeOf(w Work, ccs constraint.ConstraintSystem) (Shape, error) {
	curve, err := backend.ParseCurve(w.Curve)
	if err != nil {
		return Shape{}, err
	}
	s := Shape{ccs.GetNbPublicVariables(), ccs.GetNbSecretVariables(), curve.ScalarBytes()}
	if system, _, err := proofsystem.Of(ccs); err != nil {
		return s, fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
	} else if system == proofsystem.Groth16 {
		s.public-- // an R1CS counts the constant 1, which is not in a witness
	}
	return s, nil
}

// Bytes returns the size of a witness in bytes.
func (s Shape) Bytes() int { return witnessHeader + (s.public+s.secret)*s.value }

// Check compares a witness with the shape. Call it before gnark reads the witness, because gnark
// takes as much memory as the header asks for.
func (s Shape) Check(witness []byte) error {
	if len(witness) != s.Bytes() {
		return fmt.Errorf("%w: the witness has %d bytes, those of its circuit have %d", backend.ErrInvalidInput, len(witness), s.Bytes())
	}
	for i, want := range []int{s.public, s.secret, s.public + s.secret} {
		if n := binary.BigEndian.Uint32(witness[4*i:]); uint64(n) != uint64(want) {
			return fmt.Errorf("%w: the header of the witness is that of another circuit", backend.ErrInvalidInput)
		}
	}
	return nil
}

// ProverOptions returns gnark's options for a work. Each proof needs new ones, because they hold
// hash functions, which have a state.
func ProverOptions(w Work, s proofsystem.Scheme) []gnark.ProverOption {
	if !w.Solidity {
		return nil
	}
	return []gnark.ProverOption{solidity.WithProverTargetSolidityVerifier(s.ID())}
}

// VerifierOf reads a key that gnark wrote and returns the Verifier that uses it.
func VerifierOf(w Work, key io.Reader) (Verifier, error) {
	scheme, err := SchemeOf(w)
	if err != nil {
		return nil, err
	}
	keys := scheme.NewKeys()
	if err := keys.ReadVerifying(key); err != nil {
		return nil, fmt.Errorf("%w: the verifying key: %w", backend.ErrInvalidInput, err)
	}
	return func(text []byte, public witness.Witness) (Proof, error) {
		p := keys.NewProof()
		if _, err := p.ReadFrom(bytes.NewReader(text)); err != nil {
			return nil, err
		}
		var opts []gnark.VerifierOption
		if w.Solidity {
			opts = append(opts, solidity.WithVerifierTargetSolidityVerifier(scheme.ID()))
		}
		return p, keys.Verify(p, public, opts...)
	}, nil
}
