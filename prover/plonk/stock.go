package plonk

import (
	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/backend"
	stock "github.com/consensys/gnark/backend/plonk"
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

// SRSSize calls gnark's: it returns how many points a setup must have.
func SRSSize(ccs constraint.ConstraintSystem) (sizeCanonical, sizeLagrange int) {
	return stock.SRSSize(ccs)
}

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
