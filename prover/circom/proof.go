package circom

import (
	"math/big"

	"github.com/consensys/gnark-crypto/ecc"
)

// G1 is a point of G1, as affine coordinates below q. Infinity has X and Y zero.
type G1 struct{ X, Y *big.Int }

// G2 is a point of G2. A coordinate is c0 + c1 u, given as c0 and c1, both below q. Infinity has
// zeros only.
type G2 struct{ X, Y [2]*big.Int }

// Proof is a proof with the public signals of which it is.
type Proof struct {
	Curve ecc.ID
	A     G1
	B     G2
	C     G1
	// Public has the public signals, each below r, in circom's order: outputs first.
	Public []*big.Int
}

// VerifyingKey verifies proofs.
type VerifyingKey struct {
	Curve              ecc.ID
	Alpha              G1
	Beta, Gamma, Delta G2
	// IC has one point more than there are public signals.
	IC []G1
}

// NbPublic returns the number of public signals.
func (vk *VerifyingKey) NbPublic() int { return len(vk.IC) - 1 }
