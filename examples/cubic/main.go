// Command cubic is the first program of gnark's documentation, with one line changed: it proves
// the knowledge of a number X with X^3 + X + 5 = Y. The README shows it from the next line on.
package main

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/pippin-zk/pippin/prover/groth16" // changed: it was github.com/consensys/gnark/backend/groth16
)

type cubic struct {
	X frontend.Variable
	Y frontend.Variable `gnark:",public"`
}

func (c *cubic) Define(api frontend.API) error {
	api.AssertIsEqual(c.Y, api.Add(api.Mul(c.X, c.X, c.X), c.X, 5))
	return nil
}

func main() {
	field := ecc.BN254.ScalarField()
	ccs, _ := frontend.Compile(field, r1cs.NewBuilder, &cubic{})
	pk, vk, _ := groth16.Setup(ccs)
	witness, _ := frontend.NewWitness(&cubic{X: 3, Y: 35}, field)
	proof, _ := groth16.Prove(ccs, pk, witness)
	public, _ := witness.Public()
	fmt.Println("verified:", groth16.Verify(proof, vk, public) == nil)
}
