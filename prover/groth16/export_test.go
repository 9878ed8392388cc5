package groth16

import (
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
)

// Overlap makes the transforms run beside the witness's MSMs, or after them.
func Overlap(on bool) Option {
	return func(o *options) {
		o.overlap = overlapNever
		if on {
			o.overlap = overlapAlways
		}
	}
}

// Quotient makes the engine's backend compute the quotient, or this process.
func Quotient(onBackend bool) Option {
	return func(o *options) {
		o.where = whereHere
		if onBackend {
			o.where = whereBackend
		}
	}
}

// MostMultiples lets one program of a set-up compute at most n products, until restore is called.
func MostMultiples(n int) (restore func()) {
	was := mostMultiples
	mostMultiples = n
	return func() { mostMultiples = was }
}

// Settled has solutions over BN254 wait for f when their wires have values, and end with err, until restore is
// called.
func Settled(f func(), err error) (restore func()) {
	return faulty.Settled(&bn254Curve.system, assignment.Over[fr.Element](), f, err)
}
