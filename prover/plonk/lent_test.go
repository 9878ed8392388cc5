package plonk_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/backend/witness"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/prover/internal/resident"
	"github.com/pippin-zk/pippin/prover/internal/samples"
	"github.com/pippin-zk/pippin/prover/plonk"
)

// TestColumnsAreWhereTheBackendReads: L, R and O, and what the circuit commits to, are not copied to the backend's
// memory, and no commitment's vector is as long as they are. All of that memory is given back and wiped. Without
// memory the proofs are right too.
func TestColumnsAreWhereTheBackendReads(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	w, wrong := b.witness(t, 3), b.witness(t, -3)
	_, n := plonk.SRSSize(b.ccs)
	columns := 3 * n * 32
	for most, lent := range map[int]int{4 * columns: 3, 4*columns - 1: 0} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			defer func(was int64) { resident.MostLent = was }(resident.MostLent)
			resident.MostLent = int64(most)
			f := &faulty.Backends{Elsewhere: true}
			l := &faulty.Lender{Of: f}
			p, err := plonk.NewProver(newEngine(t, engine.Config{Open: l.Open}), b.ccs, b.pk)
			if err != nil {
				t.Fatal(err)
			}
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
			if err := p.Close(); err != nil || f.Held() != 0 {
				t.Errorf("%v, %d bases and spaces are left", err, f.Held())
			}
			l.Look(t)
			if n := resident.LentNow.Load(); n != 0 {
				t.Errorf("%d bytes count as lent", n)
			}
		})
	}
}
