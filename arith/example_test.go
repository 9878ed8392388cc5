package arith_test

import (
	"context"
	"fmt"
	"log"
	"math/big"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/arith"
	"github.com/pippin-zk/pippin/engine"
)

// Three numbers to the power of 65537 modulo the same prime: what all have in common
// is given once.
func ExampleCalculator_ExpMod() {
	ctx := context.Background()
	e, err := pippin.New(ctx, engine.Config{Backend: "cpu"}) // or "plugin:cpu", "cuda"
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	prime := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 127), big.NewInt(1))
	bases, err := arith.FromBig(127, big.NewInt(2), big.NewInt(3), big.NewInt(5)) // of 127 bits
	if err != nil {
		log.Fatal(err)
	}
	exponent, err := arith.FromBig(17, big.NewInt(65537))
	if err != nil {
		log.Fatal(err)
	}
	modulus, err := arith.FromBig(127, prime)
	if err != nil {
		log.Fatal(err)
	}
	powers, err := arith.On(e, arith.Options{}).ExpMod(ctx, bases, exponent, modulus)
	if err != nil {
		log.Fatal(err)
	}
	for i := range powers.Len() {
		fmt.Println(powers.Big(i))
	}
	// Output:
	// 32
	// 4569278088761131322242499456678237192
	// 122630667861307842403878704284112573558
}
