package oracle

import (
	"math/big"

	"github.com/consensys/gnark-crypto/ecc"
	bls12377 "github.com/consensys/gnark-crypto/ecc/bls12-377"
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	bw6761 "github.com/consensys/gnark-crypto/ecc/bw6-761"
)

// Group is a group of one of the four curves with gnark-crypto's generator.
type Group struct {
	Curve
	Generator Point
	Order     *big.Int
}

type coordinate interface{ BigInt(*big.Int) *big.Int }

func elem(xs ...coordinate) Elem {
	e := make(Elem, len(xs))
	for i, x := range xs {
		e[i] = x.BigInt(new(big.Int))
	}
	return e
}

func group(id ecc.ID, nonResidue int64, x, y Elem) Group {
	f := Field{P: id.BaseField(), Degree: len(x), NonResidue: nonResidue}
	b := f.Sub(f.Mul(y, y), f.Mul(f.Mul(x, x), x))
	return Group{Curve{f, b}, Point{x, y}, id.ScalarField()}
}

// Groups returns G1 and G2 of the four curves, under names such as "bn254_g1".
func Groups() map[string]Group {
	_, _, bn1, bn2 := bn254.Generators()
	_, _, b71, b72 := bls12377.Generators()
	_, _, b81, b82 := bls12381.Generators()
	_, _, bw1, bw2 := bw6761.Generators()
	return map[string]Group{
		"bn254_g1":     group(ecc.BN254, 0, elem(&bn1.X), elem(&bn1.Y)),
		"bn254_g2":     group(ecc.BN254, -1, elem(&bn2.X.A0, &bn2.X.A1), elem(&bn2.Y.A0, &bn2.Y.A1)),
		"bls12_377_g1": group(ecc.BLS12_377, 0, elem(&b71.X), elem(&b71.Y)),
		"bls12_377_g2": group(ecc.BLS12_377, -5, elem(&b72.X.A0, &b72.X.A1), elem(&b72.Y.A0, &b72.Y.A1)),
		"bls12_381_g1": group(ecc.BLS12_381, 0, elem(&b81.X), elem(&b81.Y)),
		"bls12_381_g2": group(ecc.BLS12_381, -1, elem(&b82.X.A0, &b82.X.A1), elem(&b82.Y.A0, &b82.Y.A1)),
		"bw6_761_g1":   group(ecc.BW6_761, 0, elem(&bw1.X), elem(&bw1.Y)),
		"bw6_761_g2":   group(ecc.BW6_761, 0, elem(&bw2.X), elem(&bw2.Y)),
	}
}
