package mpcsetup_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/consensys/gnark-crypto/ecc"
	cs "github.com/consensys/gnark/constraint/bn254"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/logger"

	"github.com/pippin-zk/pippin/prover/groth16/mpcsetup"
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

// Two participants contribute to the powers of tau. Whoever has both files computes the powers from
// them, and then makes the keys of a circuit, here without more contributions.
func Example() {
	logger.Disable()
	ctx, c := context.Background(), mpcsetup.BN254
	const n, beacon = 8, "a public number of a later time"

	var files [][]byte
	p := c.NewPhase1(n)
	for range 2 {
		if err := c.ContributePhase1(ctx, nil, p); err != nil { // nil means an engine in this process
			log.Fatal(err)
		}
		var file bytes.Buffer
		if _, err := p.WriteTo(&file); err != nil {
			log.Fatal(err)
		}
		files = append(files, file.Bytes())
	}

	var contributions []*mpcsetup.BN254Phase1
	for _, b := range files {
		read, err := c.ReadPhase1(ctx, nil, bytes.NewReader(b))
		if err != nil {
			log.Fatal(err)
		}
		contributions = append(contributions, read)
	}
	commons, err := c.VerifyPhase1(ctx, nil, n, []byte(beacon), contributions)
	if err != nil {
		log.Fatal(err)
	}

	ccs, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder, &cubic{})
	if err != nil {
		log.Fatal(err)
	}
	pk, _, err := c.VerifyPhase2(ctx, nil, ccs.(*cs.R1CS), commons, []byte(beacon), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("a key for proofs on", pk.CurveID())
	// Output: a key for proofs on bn254
}
