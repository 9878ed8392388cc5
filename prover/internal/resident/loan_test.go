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
	lend := func(wires, sides int) (*Loan[fr.Element], []fr.Element, []fr.Element) {
		m := new(Memory)
		all = append(all, m)
		loan := NewLoan[fr.Element](t.Context(), m, e, backend.BN254)
		w, s := loan.Lend(wires, sides)
		for _, v := range slices.Concat(w, s) {
			if !v.IsZero() {
				t.Error("what is lent is not zero")
			}
		}
		return loan, w, s
	}
	if _, w, s := lend(4, 9); w != nil || s != nil || LentNow.Load() != 0 {
		t.Errorf("more than a quarter is lent, %d bytes", LentNow.Load())
	}
	if _, w, s := lend(12, 0); len(w) != 12 || s != nil {
		t.Errorf("%d and %d elements, want wires alone", len(w), len(s))
	}
	loan, w, s := lend(3, 9)
	if len(w) != 3 || len(s) != 9 {
		t.Fatalf("%d and %d elements are lent", len(w), len(s))
	}
	w[1].SetUint64(7)
	s[8].SetUint64(7)
	loan.FreeWires()
	if !w[1].IsZero() || s[8].IsZero() {
		t.Error("the wires are not wiped, or the sides are")
	}
	loan.FreeSides()
	if !s[8].IsZero() {
		t.Error("the sides are not wiped")
	}
	for range 2 {
		lend(3, 9)
	}
	if _, w, s := lend(0, 1); w != nil || s != nil || LentNow.Load() != MostLent {
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
