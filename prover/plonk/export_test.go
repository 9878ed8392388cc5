package plonk

import (
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
)

// Settled has solutions over BN254 wait for f when their wires have values, and end with err, until restore is
// called.
func Settled(f func(), err error) (restore func()) {
	return faulty.Settled(&bn254Curve.system, assignment.Over[fr.Element](), f, err)
}
