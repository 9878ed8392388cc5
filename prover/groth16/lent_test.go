package groth16_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/backend/witness"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/prover/internal/resident"
	"github.com/pippin-zk/pippin/prover/internal/samples"
)

// proverOn returns a prover whose engine has one lender, which is elsewhere.
func proverOn(t *testing.T, b *built) (*groth16.Prover, *faulty.Lender) {
	t.Helper()
	l := &faulty.Lender{Of: &faulty.Backends{Elsewhere: true}}
	p, err := groth16.NewProver(newEngine(t, engine.Config{Open: l.Open}), b.ccs, b.pk)
	if err != nil {
		t.Fatal(err)
	}
	return p, l
}

// TestSolutionsAreWhereTheBackendReads: nothing of a proof is copied to the backend's memory, whether it is
// made alone or in a stream. All of that memory is given back and wiped. Without memory the proofs are right too.
func TestSolutionsAreWhereTheBackendReads(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("random of 60"))
	w := b.witness(t, 3)
	wrong := b.witness(t, -3)
	solution := 32 * (b.ccs.GetNbPublicVariables() + b.ccs.GetNbSecretVariables() + b.ccs.GetNbInternalVariables())
	for most, lends := range map[int]bool{1 << 30: true, 4 * solution: true, 4*solution - 1: false, 0: false} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			defer func(was int64) { resident.MostLent = was }(resident.MostLent)
			resident.MostLent = int64(most)
			p, l := proverOn(t, b)
			if _, err := p.Prove(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			l.Inputs() // what was asked when the backend was opened, and the key's tables
			for _, inFlight := range []int{1, 4} {
				for proof, err := range p.ProveAll(t.Context(), slices.Values(slices.Repeat([]witness.Witness{w}, 8)), inFlight) {
					if err != nil {
						t.Fatal(err)
					}
					b.verify(t, proof, w)
				}
			}
			if _, err := p.Prove(t.Context(), wrong); err == nil {
				t.Error("a proof of a wrong witness")
			}
			if in, other := l.Inputs(); lends != (other == 0) || lends != (in > 0) {
				t.Errorf("%d inputs in the backend's memory, %d elsewhere", in, other)
			}
			resident.LentNow.Add(int64(most)) // by others, so that there is nothing to lend
			_, err := p.Prove(t.Context(), w)
			if in, _ := l.Inputs(); err != nil || in > 0 {
				t.Errorf("%v, %d inputs in the backend's memory although others have all of it", err, in)
			}
			resident.LentNow.Add(-int64(most))
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			l.Look(t)
			if n := resident.LentNow.Load(); n != 0 {
				t.Errorf("%d bytes count as lent", n)
			}
		})
	}
}

// TestSumsBeginEarly: when all wires have values the sums begin, while constraints are being checked. If the
// solver then leaves the witness to gnark's, they begin again with what that finds.
func TestSumsBeginEarly(t *testing.T) {
	for name, err := range map[string]error{"solved": nil, "left to gnark": assignment.ErrDefect} {
		t.Run(name, func(t *testing.T) {
			b := build(t, ecc.BN254, samples.ByName("commitments"))
			w := b.witness(t, 3)
			p, l := proverOn(t, b)
			l.BeginsEarly(t, groth16.Settled, err, func() error {
				proof, err := p.Prove(t.Context(), w)
				if err == nil {
					b.verify(t, proof, w)
				}
				return err
			}, p.Close)
		})
	}
}
