package plonk_test

import (
	"context"
	"fmt"
	"log"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/scs"
	"github.com/consensys/gnark/logger"
	"github.com/consensys/gnark/test/unsafekzg"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/plonk"
)

// cubic says: I know X with X^3 + X + 5 = Y.
type cubic struct {
	X frontend.Variable
	Y frontend.Variable `gnark:",public"`
}

func (c *cubic) Define(api frontend.API) error {
	api.AssertIsEqual(c.Y, api.Add(api.Mul(c.X, c.X, c.X), c.X, 5))
	return nil
}

// The import is pippin's instead of gnark's, and an engine may be named; everything else
// is as with gnark.
func Example() {
	logger.Disable()
	ccs, err := frontend.Compile(ecc.BN254.ScalarField(), scs.NewBuilder, &cubic{})
	if err != nil {
		log.Fatal(err)
	}
	srs, lagrange, err := unsafekzg.NewSRS(ccs) // whose secret is known: for examples only
	if err != nil {
		log.Fatal(err)
	}
	e, err := pippin.New(context.Background(), engine.Config{Backend: "cpu"})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	plonk.Use(e)
	defer plonk.Use(nil)
	pk, vk, err := plonk.Setup(ccs, srs, lagrange)
	if err != nil {
		log.Fatal(err)
	}
	witness, err := frontend.NewWitness(&cubic{X: 3, Y: 35}, ecc.BN254.ScalarField())
	if err != nil {
		log.Fatal(err)
	}

	proof, err := plonk.Prove(ccs, pk, witness)
	if err != nil {
		log.Fatal(err)
	}

	public, err := witness.Public()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plonk.Verify(proof, vk, public) == nil)
	// Output: true
}
