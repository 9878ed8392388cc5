package pedersen_test

import (
	"context"
	"fmt"
	"log"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	stock "github.com/consensys/gnark-crypto/ecc/bn254/fr/pedersen"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/pedersen"
)

// A commitment with the proof that the values in it are known.
func Example() {
	ctx := context.Background()
	e, err := pippin.New(ctx, engine.Config{Backend: "cpu"})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	_, _, g, _ := bn254.Generators()
	bases := bn254.BatchScalarMultiplicationG1(&g, []fr.Element{fr.NewElement(3), fr.NewElement(5)})
	pks, vk, err := stock.Setup([][]bn254.G1Affine{bases})
	if err != nil {
		log.Fatal(err)
	}
	key, err := pedersen.LoadBN254(ctx, e, pks[0])
	if err != nil {
		log.Fatal(err)
	}
	defer key.Close()
	values := []fr.Element{fr.NewElement(7), fr.NewElement(11)}
	commitment, err := key.Commit(ctx, values)
	if err != nil {
		log.Fatal(err)
	}
	proof, err := key.ProveKnowledge(ctx, values)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(vk.Verify(commitment, proof) == nil)
	// Output: true
}
