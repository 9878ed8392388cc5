package main

import (
	"fmt"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/backend/plonk"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/frontend/cs/scs"
	"github.com/consensys/gnark/logger"
	"github.com/consensys/gnark/test/unsafekzg"
)

const rounds = 100

func init() {
	logger.Disable()
	cases["groth16"], cases["plonk"] = groth16Case, plonkCase
}

// powers says that Y is X squared and added to itself, again and again.
type powers struct {
	X frontend.Variable
	Y frontend.Variable `gnark:",public"`
}

func (c *powers) Define(api frontend.API) error {
	x := c.X
	for range rounds {
		x = api.Add(api.Mul(x, x), x)
	}
	// A commitment too: Groth16 has an MSM within the solver for it.
	committer, ok := api.(frontend.Committer)
	if !ok {
		return fmt.Errorf("no commitments with %T", api)
	}
	com, err := committer.Commit(c.X, x)
	if err != nil {
		return err
	}
	api.AssertIsDifferent(com, 0)
	api.AssertIsEqual(x, c.Y)
	return nil
}

func assignment(field *big.Int) *powers {
	x := big.NewInt(3)
	y := new(big.Int).Set(x)
	for range rounds {
		t := new(big.Int).Mul(y, y)
		y = t.Add(t, y).Mod(t, field)
	}
	return &powers{X: x, Y: y}
}

var snarkCurves = []ecc.ID{ecc.BN254, ecc.BLS12_377, ecc.BLS12_381, ecc.BW6_761}

func groth16Case() error {
	for _, id := range snarkCurves {
		ccs, err := frontend.Compile(id.ScalarField(), r1cs.NewBuilder, &powers{})
		if err != nil {
			return err
		}
		pk, vk, err := groth16.Setup(ccs)
		if err != nil {
			return err
		}
		witness, err := frontend.NewWitness(assignment(id.ScalarField()), id.ScalarField())
		if err != nil {
			return err
		}
		public, err := witness.Public()
		if err != nil {
			return err
		}
		for range 3 {
			proof, err := groth16.Prove(ccs, pk, witness)
			if err != nil {
				return err
			}
			if err := groth16.Verify(proof, vk, public); err != nil {
				return fmt.Errorf("%v: %w", id, err)
			}
		}
	}
	return nil
}

func plonkCase() error {
	for _, id := range snarkCurves {
		ccs, err := frontend.Compile(id.ScalarField(), scs.NewBuilder, &powers{})
		if err != nil {
			return err
		}
		srs, lagrange, err := unsafekzg.NewSRS(ccs)
		if err != nil {
			return err
		}
		pk, vk, err := plonk.Setup(ccs, srs, lagrange)
		if err != nil {
			return err
		}
		witness, err := frontend.NewWitness(assignment(id.ScalarField()), id.ScalarField())
		if err != nil {
			return err
		}
		public, err := witness.Public()
		if err != nil {
			return err
		}
		for range 3 {
			proof, err := plonk.Prove(ccs, pk, witness)
			if err != nil {
				return err
			}
			if err := plonk.Verify(proof, vk, public); err != nil {
				return fmt.Errorf("%v: %w", id, err)
			}
		}
	}
	return nil
}
