package kzg_test

import (
	"context"
	"fmt"
	"log"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	bn254kzg "github.com/consensys/gnark-crypto/ecc/bn254/kzg"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/kzg"
)

// The key is loaded once; gnark-crypto verifies what is opened.
func Example() {
	ctx := context.Background()
	e, err := pippin.New(ctx, engine.Config{Backend: "cpu"})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	srs, err := bn254kzg.NewSRS(16, big.NewInt(42)) // whose secret is known: for examples only
	if err != nil {
		log.Fatal(err)
	}
	key, err := kzg.LoadBN254(ctx, e, srs.Pk)
	if err != nil {
		log.Fatal(err)
	}
	defer key.Close()
	polynomial := []fr.Element{fr.NewElement(1), fr.NewElement(2), fr.NewElement(3)} // 1 + 2 x + 3 x^2
	digest, err := key.Commit(ctx, polynomial)
	if err != nil {
		log.Fatal(err)
	}
	point := fr.NewElement(5)
	proof, err := key.Open(ctx, polynomial, point)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(proof.ClaimedValue.String(), bn254kzg.Verify(&digest, &proof, point, srs.Vk) == nil)
	// Output: 86 true
}
