// Command circom proves a circuit of circom from the files that circom and snarkjs made, and
// verifies the proof with snarkjs's verification key.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/circom"
)

// A program would read these with circom.OpenKey and circom.OpenWitness.
var (
	//go:embed circuit.zkey
	provingKey []byte
	//go:embed witness.wtns
	witness []byte
	//go:embed verification_key.json
	verificationKey []byte
)

func main() {
	proof, err := run(context.Background(), provingKey, witness, verificationKey)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("verified: somebody knows the x of %v = x^3 + x + %v\n", proof.Public[0], proof.Public[1])
}

// run returns a proof that the verification key has accepted.
func run(ctx context.Context, provingKey, witness, verificationKey []byte) (proof *circom.Proof, err error) {
	e, err := pippin.New(ctx, engine.Config{Backend: "cpu"}) // or "cuda"
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	key, err := circom.ParseKey(provingKey, circom.WithEngine(e)) // once: it stays where the backend computes
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, key.Close()) }()
	w, err := circom.ParseWitness(witness)
	if err != nil {
		return nil, err
	}
	proof, err = key.Prove(ctx, w) // as often as you like, from any goroutine
	if err != nil {
		return nil, err
	}
	vk, err := circom.ParseVerifyingKey(verificationKey)
	if err != nil {
		return nil, err
	}
	return proof, vk.Verify(proof)
}
