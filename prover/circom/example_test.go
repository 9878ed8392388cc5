package circom_test

import (
	"context"
	"log"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/circom"
)

// A key stays on the GPU for many proofs.
func Example() {
	ctx := context.Background()
	e, err := pippin.New(ctx, engine.Config{Backend: "cuda"})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	circom.Use(e)
	key, err := circom.OpenKey("circuit.zkey")
	if err != nil {
		log.Fatal(err)
	}
	defer key.Close()
	witness, err := circom.OpenWitness("witness.wtns")
	if err != nil {
		log.Fatal(err)
	}
	defer witness.Wipe()
	proof, err := key.Prove(ctx, witness)
	if err != nil {
		log.Fatal(err) // with circom.ErrNotVerified in it if the witness is not the circuit's
	}
	log.Print("proved, with the public signals ", proof.Public)
}
