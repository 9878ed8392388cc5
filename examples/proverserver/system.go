package main

import (
	"context"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/frontend/cs/scs"
	"github.com/consensys/gnark/test/unsafekzg"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/plonk"
)

// system is a circuit's prover and verifier in one proof system.
type system struct {
	prove  func(context.Context, witness.Witness) (any, error)
	verify func(proof any, public witness.Witness) error
	close  func() error
}

func newSystem(name string, e *engine.Engine, circuit frontend.Circuit) (*system, error) {
	field := ecc.BN254.ScalarField()
	switch name {
	case "groth16":
		ccs, err := frontend.Compile(field, r1cs.NewBuilder, circuit)
		if err != nil {
			return nil, err
		}
		pk, vk, err := groth16.Setup(ccs)
		if err != nil {
			return nil, err
		}
		p, err := groth16.NewProver(e, ccs, pk)
		if err != nil {
			return nil, err
		}
		return &system{
			func(ctx context.Context, w witness.Witness) (any, error) { return p.Prove(ctx, w) },
			func(proof any, public witness.Witness) error {
				return groth16.Verify(proof.(groth16.Proof), vk, public)
			},
			p.Close,
		}, nil
	case "plonk":
		ccs, err := frontend.Compile(field, scs.NewBuilder, circuit)
		if err != nil {
			return nil, err
		}
		canonical, lagrange, err := unsafekzg.NewSRS(ccs) // whose secret is known: not for real proofs
		if err != nil {
			return nil, err
		}
		pk, vk, err := plonk.Setup(ccs, canonical, lagrange)
		if err != nil {
			return nil, err
		}
		p, err := plonk.NewProver(e, ccs, pk)
		if err != nil {
			return nil, err
		}
		return &system{
			func(ctx context.Context, w witness.Witness) (any, error) { return p.Prove(ctx, w) },
			func(proof any, public witness.Witness) error {
				return plonk.Verify(proof.(plonk.Proof), vk, public)
			},
			p.Close,
		}, nil
	}
	return nil, fmt.Errorf("unknown proof system %q (groth16, plonk)", name)
}
