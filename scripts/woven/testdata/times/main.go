// Command times proves one statement again and again, and prints the milliseconds of each proof after the first, which
// loads the key: a line of JSON.
//
//	times CONSTRAINTS PROOFS
package main

import (
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"strconv"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/logger"
)

// circuit says that Y is X, squared and added to itself again and again.
type circuit struct {
	X      frontend.Variable
	Y      frontend.Variable `gnark:",public"`
	rounds int
}

func (c *circuit) Define(api frontend.API) error {
	x := c.X
	for range c.rounds {
		x = api.Add(api.Mul(x, x), x)
	}
	api.AssertIsEqual(x, c.Y)
	return nil
}

func main() {
	ms, err := run(os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(ms)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "times:", err)
		os.Exit(1)
	}
}

func run(args []string) (ms []float64, err error) {
	logger.Disable()
	if len(args) != 2 {
		return nil, fmt.Errorf("say times CONSTRAINTS PROOFS")
	}
	var n [2]int
	for i, a := range args {
		if n[i], err = strconv.Atoi(a); err != nil {
			return nil, err
		}
	}
	rounds, r := n[0]-1, ecc.BN254.ScalarField()
	ccs, err := frontend.Compile(r, r1cs.NewBuilder, &circuit{rounds: rounds})
	if err != nil {
		return nil, err
	}
	pk, vk, err := groth16.Setup(ccs)
	if err != nil {
		return nil, err
	}
	x := big.NewInt(3)
	y := new(big.Int).Set(x)
	for range rounds {
		t := new(big.Int).Mul(y, y)
		y = t.Add(t, y).Mod(t, r)
	}
	w, err := frontend.NewWitness(&circuit{X: x, Y: y}, r)
	if err != nil {
		return nil, err
	}
	public, err := w.Public()
	if err != nil {
		return nil, err
	}
	for i := range n[1] + 1 {
		start := time.Now()
		proof, err := groth16.Prove(ccs, pk, w)
		if err != nil {
			return nil, err
		}
		took := time.Since(start)
		if err := groth16.Verify(proof, vk, public); err != nil {
			return nil, err
		}
		if i > 0 {
			ms = append(ms, float64(took.Microseconds())/1000)
		}
	}
	return ms, nil
}
