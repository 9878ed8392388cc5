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
	// Proof is gnark's type of proofs.
	Proof = stock.Proof
	// ProvingKey is gnark's type of proving keys. Prove and NewProver need it; Setup makes it.
	ProvingKey = stock.ProvingKey
	// VerifyingKey is gnark's type of verifying keys. Verify needs it; Setup makes it.
	VerifyingKey = stock.VerifyingKey
)

// DummySetup is gnark's: it makes a key of the right shape, for timing only.
func DummySetup(ccs constraint.ConstraintSystem) (ProvingKey, error) { return stock.DummySetup(ccs) }

// Verify returns nil if a proof is valid for the public witness. It is gnark's, and runs in this
// process.
func Verify(proof Proof, vk VerifyingKey, publicWitness witness.Witness, opts ...backend.VerifierOption) error {
	return stock.Verify(proof, vk, publicWitness, opts...)
}

// NewCS returns an empty constraint system of a curve, to be filled by its ReadFrom.
func NewCS(curve ecc.ID) constraint.ConstraintSystem { return stock.NewCS(curve) }

// NewProof returns an empty proof of a curve, to be filled by its ReadFrom.
func NewProof(curve ecc.ID) Proof { return stock.NewProof(curve) }

// NewProvingKey returns an empty key of a curve, to be filled by its ReadFrom. ReadProvingKey is
// faster.
func NewProvingKey(curve ecc.ID) ProvingKey { return stock.NewProvingKey(curve) }

// NewVerifyingKey returns an empty key of a curve, to be filled by its ReadFrom.
func NewVerifyingKey(curve ecc.ID) VerifyingKey { return stock.NewVerifyingKey(curve) }
