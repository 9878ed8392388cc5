package wire

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/consensys/gnark-crypto/ecc"
	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/solidity"
	"github.com/consensys/gnark/backend/witness"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/plonk"
)

// The proof systems.
const (
	Groth16 = "groth16"
	Plonk   = "plonk"
)

// Proof is a proof of either system.
type Proof interface {
	io.WriterTo
	io.ReaderFrom
}

// Verifier reads a proof and checks it.
type Verifier func(proof []byte, public witness.Witness) (Proof, error)

// Curves are pippin's.
var Curves = []ecc.ID{ecc.BN254, ecc.BLS12_377, ecc.BLS12_381, ecc.BW6_761}

// CurveOf is the curve of a work that is one of pippin's.
func CurveOf(w Work) (ecc.ID, error) {
	id, err := ecc.IDFromString(w.Curve)
	if err == nil && !slices.Contains(Curves, id) {
		err = fmt.Errorf("%s is no curve of pippin's", id)
	}
	if err == nil && w.System != Groth16 && w.System != Plonk {
		err = fmt.Errorf("%q is no proof system (%s, %s)", w.System, Groth16, Plonk)
	}
	if err != nil {
		return id, fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
	}
	return id, nil
}

// Fits refuses a witness over another curve's field.
func Fits(work Work, w witness.Witness) error {
	curve, err := CurveOf(work)
	if err != nil {
		return err
	}
	own, err := witness.New(curve.ScalarField())
	if err != nil {
		return fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
	}
	if w == nil || reflect.TypeOf(own.Vector()) != reflect.TypeOf(w.Vector()) {
		return fmt.Errorf("%w: the witness is not over the field of %s", backend.ErrInvalidInput, curve)
	}
	return nil
}

// ProverOptions are gnark's for a work. They hold hash functions: each proof takes
// new ones.
func ProverOptions(w Work) []gnark.ProverOption {
	if !w.Solidity {
		return nil
	}
	return []gnark.ProverOption{solidity.WithProverTargetSolidityVerifier(system(w))}
}

// VerifierOptions are the verifier's, as ProverOptions are.
func VerifierOptions(w Work) []gnark.VerifierOption {
	if !w.Solidity {
		return nil
	}
	return []gnark.VerifierOption{solidity.WithVerifierTargetSolidityVerifier(system(w))}
}

func system(w Work) gnark.ID {
	if w.System == Plonk {
		return gnark.PLONK
	}
	return gnark.GROTH16
}

// VerifierOf verifies with a key that gnark wrote.
func VerifierOf(w Work, key io.Reader) (Verifier, error) {
	curve, err := CurveOf(w)
	if err != nil {
		return nil, err
	}
	var read io.ReaderFrom
	var fresh func() Proof
	var verify func(p Proof, public witness.Witness) error
	switch w.System {
	case Groth16:
		vk := groth16.NewVerifyingKey(curve)
		read, fresh = vk, func() Proof { return groth16.NewProof(curve) }
		verify = func(p Proof, public witness.Witness) error {
			return groth16.Verify(p.(groth16.Proof), vk, public, VerifierOptions(w)...)
		}
	default:
		vk := plonk.NewVerifyingKey(curve)
		read, fresh = vk, func() Proof { return plonk.NewProof(curve) }
		verify = func(p Proof, public witness.Witness) error {
			return plonk.Verify(p.(plonk.Proof), vk, public, VerifierOptions(w)...)
		}
	}
	if _, err := read.ReadFrom(key); err != nil {
		return nil, fmt.Errorf("%w: the verifying key: %w", backend.ErrInvalidInput, err)
	}
	return func(text []byte, public witness.Witness) (Proof, error) {
		p := fresh()
		if _, err := p.ReadFrom(bytes.NewReader(text)); err != nil {
			return nil, err
		}
		return p, verify(p, public)
	}, nil
}
