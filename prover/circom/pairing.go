package circom

import (
	"fmt"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	fp381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fp254 "github.com/consensys/gnark-crypto/ecc/bn254/fp"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
)

// pair returns the pairing of points of G1 and G2, in gnark-crypto's memory: the coefficients of an
// element of Fp12. gnark-crypto's final exponentiation adds a power, and snarkjs's the same one.
func pair(c backend.Curve, p, q []byte) ([]*big.Int, error) {
	switch c {
	case backend.BN254:
		return coefficients[fp254.Element](bn254.Pair, p, q)
	case backend.BLS12381:
		return coefficients[fp381.Element](bls12381.Pair, p, q)
	}
	return nil, fmt.Errorf("%w: no pairing on %s", backend.ErrUnsupported, c)
}

// coordinate is an element of a base field.
type coordinate[F any] interface {
	*F
	BigInt(*big.Int) *big.Int
}

// coefficients returns a pairing as the numbers of Fp that lie in its memory, one after the other.
func coefficients[F any, PF coordinate[F], P1, P2, GT any](pairing func([]P1, []P2) (GT, error), p, q []byte) ([]*big.Int, error) {
	p1, err := layout.View[P1](p)
	if err != nil {
		return nil, err
	}
	p2, err := layout.View[P2](q)
	if err != nil {
		return nil, err
	}
	e, err := pairing(p1, p2)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInternal, err)
	}
	parts, err := layout.View[F](layout.Bytes([]GT{e}))
	if err != nil {
		return nil, err
	}
	all := make([]*big.Int, len(parts))
	for i := range parts {
		all[i] = PF(&parts[i]).BigInt(new(big.Int))
	}
	return all, nil
}
