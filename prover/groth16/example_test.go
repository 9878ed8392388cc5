package groth16_test

import (
	"context"
	"fmt"
	"log"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/logger"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/groth16"
)

// cubic states: I know X with X^3 + X + 5 = Y.
type cubic struct {
	X frontend.Variable
	Y frontend.Variable `gnark:",public"`
}

func (c *cubic) Define(api frontend.API) error {
	api.AssertIsEqual(c.Y, api.Add(api.Mul(c.X, c.X, c.X), c.X, 5))
	return nil
}

// The import is pippin's instead of gnark's, and a program may name an engine. Everything else is
// as with gnark.
func Example() {
	logger.Disable()
	ccs, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder, &cubic{})
	if err != nil {
		log.Fatal(err)
	}
	e, err := pippin.New(context.Background(), engine.Config{Backend: "cpu"})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	groth16.Use(e)
	defer groth16.Use(nil)
	pk, vk, err := groth16.Setup(ccs)
	if err != nil {
		log.Fatal(err)
	}
	witness, err := frontend.NewWitness(&cubic{X: 3, Y: 35}, ecc.BN254.ScalarField())
	if err != nil {
		log.Fatal(err)
	}

	proof, err := groth16.Prove(ccs, pk, witness)
	if err != nil {
		log.Fatal(err)
	}

	public, err := witness.Public()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(groth16.Verify(proof, vk, public) == nil)
	// Output: true
}
