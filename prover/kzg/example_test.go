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

// The table is made once; then all openings of a polynomial cost little more than one.
func ExampleLoadMultiproofsBN254() {
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
	m, err := kzg.LoadMultiproofsBN254(ctx, e, srs.Pk, kzg.Cosets{Coefficients: 16, Domain: 32, Size: 4})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	polynomial := []fr.Element{fr.NewElement(1), fr.NewElement(2), fr.NewElement(3)} // 1 + 2 x + 3 x^2
	openings, err := m.Open(ctx, polynomial)
	if err != nil {
		log.Fatal(err)
	}
	first := openings[0]
	// Coset 0 is the roots of unity of order 4, of which the first is 1.
	fmt.Println(len(first.Proofs), "proofs of", len(first.Values[0]), "values each; the value at 1 is", first.Values[0][0].String())
	// The quotient of a polynomial of fewer coefficients than a coset has values is 0.
	fmt.Println(first.Proofs[0].IsInfinity())
	// Output:
	// 8 proofs of 4 values each; the value at 1 is 6
	// true
}
