package msm_test

import (
	"context"
	"fmt"
	"log"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/msm"
)

// numbers returns n small scalars, and points that are multiples of the generator.
func numbers(n int) ([]fr.Element, []bn254.G1Affine) {
	scalars := make([]fr.Element, n)
	for i := range scalars {
		scalars[i].SetUint64(uint64(i + 1))
	}
	_, _, g, _ := bn254.Generators()
	return scalars, bn254.BatchScalarMultiplicationG1(&g, scalars)
}

// Two MSMs over the same scalars are one batch: the scalars cross once.
func ExampleBatch() {
	ctx := context.Background()
	e, err := pippin.New(ctx, engine.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	scalars, points := numbers(4)
	bases, err := msm.BN254G1.Load(ctx, e, points)
	if err != nil {
		log.Fatal(err)
	}
	batch := msm.NewBatch(e)
	one, two := bases.Add(batch, scalars), bases.Add(batch, scalars)
	if err := batch.Run(ctx); err != nil {
		log.Fatal(err)
	}
	a, b := one.Point(), two.Point()
	fmt.Println(a.Equal(&b), a.Equal(&multiple(1*1 + 2*2 + 3*3 + 4*4)[0]))
	// Output: true true
}

// A program that calls gnark-crypto's MultiExp keeps its call.
func ExampleGroup_On() {
	e, err := pippin.New(context.Background(), engine.Config{Threshold: -1}) // so that small MSMs use the engine too
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	scalars, points := numbers(4)
	var sum bn254.G1Affine
	if _, err := msm.BN254G1.On(e).MultiExp(&sum, points, scalars, ecc.MultiExpConfig{}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum.Equal(&multiple(30)[0]))
	// Output: true
}

func multiple(k uint64) []bn254.G1Affine {
	_, _, g, _ := bn254.Generators()
	return bn254.BatchScalarMultiplicationG1(&g, []fr.Element{fr.NewElement(k)})
}
