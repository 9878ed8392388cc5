package plonk_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"runtime"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/witness"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/prover/internal/resident"
	"github.com/pippin-zk/pippin/prover/internal/samples"
	"github.com/pippin-zk/pippin/prover/plonk"
)

// proverOn returns a prover whose engine has one lender, which is elsewhere.
func proverOn(t *testing.T, b *built) (*plonk.Prover, *faulty.Lender) {
	t.Helper()
	l := &faulty.Lender{Of: &faulty.Backends{Elsewhere: true}}
	p, err := plonk.NewProver(newEngine(t, engine.Config{Open: l.Open}), b.ccs, b.pk)
	if err != nil {
		t.Fatal(err)
	}
	return p, l
}

// TestSolutionsAreWhereTheBackendReads: neither wires nor what the circuit commits to are copied to the backend's
// memory. All of that memory is given back and wiped. Without memory the proofs are right too.
func TestSolutionsAreWhereTheBackendReads(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	w, wrong := b.witness(t, 3), b.witness(t, -3)
	wires := 32 * (b.ccs.GetNbPublicVariables() + b.ccs.GetNbSecretVariables() + b.ccs.GetNbInternalVariables())
	for most, lent := range map[int]int{4 * wires: 1, 4*wires - 1: 0} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			defer func(was int64) { resident.MostLent = was }(resident.MostLent)
			resident.MostLent = int64(most)
			p, l := proverOn(t, b)
			const count = 4
			l.Inputs() // what was asked when the key was loaded
			for proof, err := range p.ProveAll(t.Context(), slices.Values(slices.Repeat([]witness.Witness{w}, count)), 2) {
				if err != nil {
					t.Fatal(err)
				}
				b.verify(t, proof, w)
			}
			// Each of the two commitments is a sum and a vector.
			if in, _ := l.Inputs(); in != count*(lent+2*2) {
				t.Errorf("%d inputs of %d proofs in the backend's memory, want %d of each", in, count, lent+2*2)
			}
			if _, err := p.Prove(t.Context(), wrong); err == nil {
				t.Error("a proof of a wrong witness")
			}
			if err := p.Close(); err != nil || l.Of.Held() != 0 {
				t.Errorf("%v, %d bases and spaces are left", err, l.Of.Held())
			}
			l.Look(t)
			if n := resident.LentNow.Load(); n != 0 {
				t.Errorf("%d bytes count as lent", n)
			}
		})
	}
}

// TestProofBeginsEarly: when all wires have values the proof begins, while constraints are being checked. If the solver
// then leaves the witness to gnark's, it is begun again with what that finds.
func TestProofBeginsEarly(t *testing.T) {
	for name, err := range map[string]error{"solved": nil, "left to gnark": assignment.ErrDefect} {
		t.Run(name, func(t *testing.T) {
			b := build(t, ecc.BN254, samples.ByName("commitments"))
			w := b.witness(t, 3)
			p, l := proverOn(t, b)
			l.BeginsEarly(t, plonk.Settled, err, func() error {
				proof, err := p.Prove(t.Context(), w)
				if err == nil {
					b.verify(t, proof, w)
				}
				return err
			}, p.Close)
		})
	}
}

// spoilt is a hash function that does something else.
type spoilt struct {
	hash.Hash
	instead func()
}

func (s *spoilt) Sum([]byte) []byte {
	s.instead()
	return nil
}

// TestHashThatPanics: a hash function of the caller's that panics does so where Prove was called, and one that ends its
// goroutine is an error.
func TestHashThatPanics(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("cubic"))
	w := b.witness(t, 3)
	f := &faulty.Backends{Elsewhere: true}
	p, err := plonk.NewProver(newEngine(t, engine.Config{Open: f.Open}), b.ccs, b.pk)
	if err != nil {
		t.Fatal(err)
	}
	prove := func(instead func()) (panicked any, err error) {
		defer func() { panicked = recover() }()
		_, err = p.Prove(t.Context(), w, gnark.WithProverChallengeHashFunction(&spoilt{sha256.New(), instead}))
		return nil, err
	}
	if panicked, _ := prove(func() { panic("spoilt") }); panicked != "spoilt" {
		t.Errorf("panicked: %v", panicked)
	}
	if panicked, err := prove(runtime.Goexit); panicked != nil || !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("panicked: %v, %v", panicked, err)
	}
	proof, err := p.Prove(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	b.verify(t, proof, w)
	if err := p.Close(); err != nil || f.Held() != 0 {
		t.Errorf("%v, %d bases and spaces are left", err, f.Held())
	}
}
