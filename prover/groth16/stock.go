package groth16

import (
	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/backend"
	stock "github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
)

// gnark's own types, so that this package can stand in for gnark's.
type (
	// Proof is a proof of gnark's groth16: the same type.
	Proof = stock.Proof
	// ProvingKey is what Prove and NewProver need, and Setup makes: gnark's type.
	ProvingKey = stock.ProvingKey
	// VerifyingKey is what Verify needs, and Setup makes: gnark's type.
	VerifyingKey = stock.VerifyingKey
)

// DummySetup calls gnark's: it makes a key of the right shape, for timing only.
func DummySetup(ccs constraint.ConstraintSystem) (ProvingKey, error) { return stock.DummySetup(ccs) }

// Verify returns nil if a proof is right for the public witness. It is gnark's, and runs in
// this process.
func Verify(proof Proof, vk VerifyingKey, publicWitness witness.Witness, opts ...backend.VerifierOption) error {
	return stock.Verify(proof, vk, publicWitness, opts...)
}

// NewCS returns an empty constraint system of a curve, to be read into by ReadFrom.
func NewCS(curve ecc.ID) constraint.ConstraintSystem { return stock.NewCS(curve) }

// NewProof returns an empty proof of a curve, to be read into by ReadFrom.
func NewProof(curve ecc.ID) Proof { return stock.NewProof(curve) }

// NewProvingKey returns an empty key of a curve, to be read into by ReadFrom. ReadProvingKey
// is faster.
func NewProvingKey(curve ecc.ID) ProvingKey { return stock.NewProvingKey(curve) }

// NewVerifyingKey returns an empty key of a curve, to be read into by ReadFrom.
func NewVerifyingKey(curve ecc.ID) VerifyingKey { return stock.NewVerifyingKey(curve) }
