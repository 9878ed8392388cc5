package layout

import (
	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin/backend"
)

var curveIDs = [...]ecc.ID{
	backend.BN254:    ecc.BN254,
	backend.BLS12377: ecc.BLS12_377,
	backend.BLS12381: ecc.BLS12_381,
	backend.BW6761:   ecc.BW6_761,
}

// CurveID returns gnark-crypto's number of a curve, which must be valid.
func CurveID(c backend.Curve) ecc.ID { return curveIDs[c] }
