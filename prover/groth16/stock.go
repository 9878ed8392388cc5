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
	// Proof is gnark's.
	Proof = stock.Proof
	// ProvingKey is gnark's.
	ProvingKey = stock.ProvingKey
	// VerifyingKey is gnark's.
	VerifyingKey = stock.VerifyingKey
)

// DummySetup calls gnark's: it makes a key of the right shape, for timing only.
func DummySetup(ccs constraint.ConstraintSystem) (ProvingKey, error) { return stock.DummySetup(ccs) }

// Verify calls gnark's.
func Verify(proof Proof, vk VerifyingKey, publicWitness witness.Witness, opts ...backend.VerifierOption) error {
	return stock.Verify(proof, vk, publicWitness, opts...)
}

// NewCS calls gnark's.
func NewCS(curve ecc.ID) constraint.ConstraintSystem { return stock.NewCS(curve) }

// NewProof calls gnark's.
func NewProof(curve ecc.ID) Proof { return stock.NewProof(curve) }

// NewProvingKey calls gnark's.
func NewProvingKey(curve ecc.ID) ProvingKey { return stock.NewProvingKey(curve) }

// NewVerifyingKey calls gnark's.
func NewVerifyingKey(curve ecc.ID) VerifyingKey { return stock.NewVerifyingKey(curve) }
