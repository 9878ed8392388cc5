// Command quickstart is the smallest use of an engine: one multi-scalar
// multiplication on BN254 whose answer is known.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/msm"
)

func main() {
	points, scalars, want := input(1 << 16)
	if err := run(context.Background(), points, scalars, want); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("the sum of %d products is right\n", len(points))
}

func run(ctx context.Context, points []bn254.G1Affine, scalars []fr.Element, want bn254.G1Affine) error {
	e, err := pippin.New(ctx, engine.Config{Backend: "cpu"}) // or "plugin:cpu", "cuda"
	if err != nil {
		return err
	}
	defer e.Close()
	bases, err := msm.BN254G1.Load(ctx, e, points) // once: they stay where the backend computes
	if err != nil {
		return err
	}
	sum, err := bases.MSM(ctx, scalars) // as often as you like, from any goroutine
	if err != nil {
		return err
	}
	if !sum.Equal(&want) {
		return errors.New("the sum of products is wrong")
	}
	return nil
}

// input returns n multiples k[i] of the generator, n random scalars s[i], and the
// answer: the generator times the sum of s[i]*k[i].
func input(n int) ([]bn254.G1Affine, []fr.Element, bn254.G1Affine) {
	k, s := make(fr.Vector, n), make(fr.Vector, n)
	k.MustSetRandom()
	s.MustSetRandom()
	_, _, g, _ := bn254.Generators()
	product := s.InnerProduct(k)
	want := bn254.BatchScalarMultiplicationG1(&g, []fr.Element{product})[0]
	return bn254.BatchScalarMultiplicationG1(&g, k), s, want
}
