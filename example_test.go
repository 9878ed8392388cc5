package pippin_test

import (
	"context"
	"fmt"
	"log"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/msm"
)

// A prover opens an engine, loads its bases once and asks for as many sums as it
// wants. The backend is swapped meanwhile.
func Example() {
	ctx := context.Background()
	e, err := pippin.New(ctx, engine.Config{Backend: "cpu"}) // "plugin:cpu" and "cuda" are processes of their own
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	_, _, g, _ := bn254.Generators()
	bases, err := msm.BN254G1.Load(ctx, e, []bn254.G1Affine{g, g, g})
	if err != nil {
		log.Fatal(err)
	}
	for _, backend := range []string{"cpu", "reference"} {
		if err := e.Use(ctx, backend); err != nil {
			log.Fatal(err)
		}
		sum, err := bases.MSM(ctx, []fr.Element{fr.NewElement(1), fr.NewElement(2), fr.NewElement(3)})
		if err != nil {
			log.Fatal(err)
		}
		six := bn254.BatchScalarMultiplicationG1(&g, []fr.Element{fr.NewElement(6)})
		fmt.Println(backend, sum.Equal(&six[0]))
	}
	// Output:
	// cpu true
	// reference true
}
