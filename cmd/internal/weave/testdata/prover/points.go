package main

import (
	"fmt"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-377"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bw6-761"
)

func init() { cases["products"] = productsCase }

// productsCase compares BatchScalarMultiplication of every group with products computed
// one by one.
func productsCase() error {
	all := groups()
	for i, check := range []func(group, int) error{
		products(bn254.BatchScalarMultiplicationG1), products(bn254.BatchScalarMultiplicationG2),
		products(bls12377.BatchScalarMultiplicationG1), products(bls12377.BatchScalarMultiplicationG2),
		products(bls12381.BatchScalarMultiplicationG1), products(bls12381.BatchScalarMultiplicationG2),
		products(bw6761.BatchScalarMultiplicationG1), products(bw6761.BatchScalarMultiplicationG2),
	} {
		for _, n := range []int{1, 130} {
			if err := check(all[i], n); err != nil {
				return err
			}
		}
	}
	return nil
}

// multiplier is a group whose products can be computed one by one.
type multiplier[P, S any] interface {
	generator() P
	random(n int) ([]S, []P) // scalars, and the products of each and the generator
	same(p, q P) bool
}

func products[P, S any](batch func(*P, []S) []P) func(group, int) error {
	return func(g group, n int) error {
		m := g.(multiplier[P, S])
		scalars, want := m.random(n)
		base := m.generator()
		got := batch(&base, scalars)
		if len(got) != n {
			return fmt.Errorf("%w: %v, %d products of %d", errWrong, g, len(got), n)
		}
		for i := range got {
			if !m.same(got[i], want[i]) {
				return fmt.Errorf("%w: %v, product %d of %d", errWrong, g, i, n)
			}
		}
		return nil
	}
}

func (g typed[P, J, S, AP, JP, SP]) generator() P { return g.g }

func (g typed[P, J, S, AP, JP, SP]) same(p, q P) bool { return AP(&p).Equal(&q) }

func (g typed[P, J, S, AP, JP, SP]) random(n int) ([]S, []P) {
	scalars, want := make([]S, n), make([]P, n)
	for i := range scalars {
		k := new(big.Int).Div(g.order, big.NewInt(int64(i+1)))
		k.Mod(k.Sub(k, big.NewInt(1)), g.order)
		if i == 3 {
			k.SetInt64(0)
		}
		SP(&scalars[i]).SetBigInt(k)
		AP(&want[i]).ScalarMultiplication(&g.g, k)
	}
	return scalars, want
}

func (g typed[P, J, S, AP, JP, SP]) isMultiple(p P, k *big.Int) bool {
	var want P
	return AP(AP(&want).ScalarMultiplication(&g.g, k)).Equal(&p)
}
