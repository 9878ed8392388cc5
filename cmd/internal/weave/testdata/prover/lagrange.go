package main

import (
	"fmt"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	fft381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	kzg381 "github.com/consensys/gnark-crypto/ecc/bls12-381/kzg"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fft254 "github.com/consensys/gnark-crypto/ecc/bn254/fr/fft"
	kzg254 "github.com/consensys/gnark-crypto/ecc/bn254/kzg"
)

func init() { cases["lagrange"] = lagrangeCase }

// lagrangeCase compares ToLagrangeG1 of keys with a known tau with the points L_i(tau) G,
// and has a length that is no power of two be refused.
func lagrangeCase() error {
	const n = 128
	tau := big.NewInt(987654321)
	g := groups()
	s254, err := kzg254.NewSRS(n, tau)
	if err != nil {
		return err
	}
	w254 := fft254.NewDomain(n).Generator
	if err := lagrange(g[0], kzg254.ToLagrangeG1, s254.Pk.G1, tau, w254.BigInt(new(big.Int)), bn254.ID.ScalarField()); err != nil {
		return err
	}
	s381, err := kzg381.NewSRS(n, tau)
	if err != nil {
		return err
	}
	w381 := fft381.NewDomain(n).Generator
	return lagrange(g[4], kzg381.ToLagrangeG1, s381.Pk.G1, tau, w381.BigInt(new(big.Int)), bls12381.ID.ScalarField())
}

// lagrange checks a key of the powers of tau. w generates the n-th roots of unity modulo r,
// and L_i(tau) = (tau^n - 1) / n * w^i / (tau - w^i).
func lagrange[P any](g group, transform func([]P) ([]P, error), powers []P, tau, w, r *big.Int) error {
	got, err := transform(powers)
	if err != nil {
		return err
	}
	n := big.NewInt(int64(len(powers)))
	scale := new(big.Int).Exp(tau, n, r)
	scale.Sub(scale, big.NewInt(1)).Mul(scale, new(big.Int).ModInverse(n, r))
	root := big.NewInt(1)
	for i := range got {
		l := new(big.Int).Sub(tau, root)
		l.ModInverse(l.Mod(l, r), r).Mul(l, root).Mul(l, scale).Mod(l, r)
		if !g.(interface{ isMultiple(P, *big.Int) bool }).isMultiple(got[i], l) {
			return fmt.Errorf("%w: %v, point %d in Lagrange form", errWrong, g, i)
		}
		root.Mod(root.Mul(root, w), r)
	}
	if _, err := transform(powers[:len(powers)-1]); err == nil || err.Error() != "len(coeffs) must be a power of 2" {
		return fmt.Errorf("a length that is no power of two: %v", err)
	}
	return nil
}
