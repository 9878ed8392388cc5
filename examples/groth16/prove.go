package main

import (
	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"

	// The one changed line. It was "github.com/consensys/gnark/backend/groth16".
	"github.com/pippin-zk/pippin/prover/groth16"
)

// prove does what gnark's tutorial does: compile, set up, prove, verify. It returns the
// number of constraints.
func prove(s statement) (constraints int, err error) {
	ccs, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder, s.circuit)
	if err != nil {
		return 0, err
	}
	pk, vk, err := groth16.Setup(ccs)
	if err != nil {
		return 0, err
	}
	witness, err := frontend.NewWitness(s.assignment, ecc.BN254.ScalarField())
	if err != nil {
		return 0, err
	}
	proof, err := groth16.Prove(ccs, pk, witness)
	if err != nil {
		return 0, err
	}
	public, err := witness.Public()
	if err != nil {
		return 0, err
	}
	return ccs.GetNbConstraints(), groth16.Verify(proof, vk, public)
}
