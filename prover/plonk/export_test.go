package plonk

import (
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/prover/internal/solve"
)

// Settled has solutions over BN254 wait for f when their wires have values, and end with err, until restore is
// called.
func Settled(f func(), err error) (restore func()) {
	was := bn254Curve.system
	bn254Curve.system = func(ccs constraint.ConstraintSystem) (solve.System[fr.Element], bool) {
		s, ok := was(ccs)
		return faulty.Settled(s, assignment.Over[fr.Element](), f, err), ok
	}
	return func() { bn254Curve.system = was }
}
