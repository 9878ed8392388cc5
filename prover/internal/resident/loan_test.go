package resident

import (
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
)

// TestLoan: a loan is of zeros, of no more than a quarter of what may be lent, and not beyond that for all. What is
// freed is wiped, and with the proof's memory the rest is.
func TestLoan(t *testing.T) {
	defer func(was int64) { MostLent = was }(MostLent)
	MostLent = 4 * 32 * 12
	l := &faulty.Lender{Of: &faulty.Backends{Elsewhere: true}}
	e, err := engine.New(t.Context(), engine.Config{Open: l.Open, Fallbacks: []string{engine.NoFallback}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var all []*Memory
	lend := func(wires int) (*Loan[fr.Element], []fr.Element) {
		m := new(Memory)
		all = append(all, m)
		loan := NewLoan[fr.Element](t.Context(), m, e, backend.BN254)
		w := loan.Lend(wires)
		if slices.ContainsFunc(w, func(v fr.Element) bool { return !v.IsZero() }) {
			t.Error("what is lent is not zero")
		}
		return loan, w
	}
	if _, w := lend(13); w != nil || LentNow.Load() != 0 {
		t.Errorf("more than a quarter is lent, %d bytes", LentNow.Load())
	}
	loan, w := lend(12)
	if len(w) != 12 {
		t.Fatalf("%d elements are lent", len(w))
	}
	w[1].SetUint64(7)
	if loan.Free(); !w[1].IsZero() {
		t.Error("the wires are not wiped")
	}
	for range 3 {
		lend(12)
	}
	if _, w := lend(1); w != nil || LentNow.Load() != MostLent {
		t.Errorf("%d bytes are lent, %d may be", LentNow.Load(), MostLent)
	}
	for _, m := range all {
		m.Free()
	}
	if n := LentNow.Load(); n != 0 {
		t.Errorf("%d bytes count as lent", n)
	}
	l.Look(t)
}
