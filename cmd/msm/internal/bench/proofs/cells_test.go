package proofs

import (
	"testing"

	goethkzg "github.com/crate-crypto/go-eth-kzg"

	"github.com/pippin-zk/pippin/prover/kzg"
)

// TestCellsSeesWrongAnswers: every byte of an answer counts.
func TestCellsSeesWrongAnswers(t *testing.T) {
	w := &cellWork{cells: make([][goethkzg.CellsPerExtBlob]*goethkzg.Cell, 2), proofs: make([][goethkzg.CellsPerExtBlob]goethkzg.KZGProof, 2)}
	for i := range w.cells {
		for k := range w.cells[i] {
			w.cells[i][k] = new(goethkzg.Cell)
		}
	}
	got := []*kzg.Extended{new(kzg.Extended), new(kzg.Extended)}
	if n := w.wrong(got); n != 0 {
		t.Fatal(n)
	}
	got[1].Cells[127][2047] = 1
	if n := w.wrong(got); n != 1 {
		t.Errorf("a wrong cell: %d", n)
	}
	got[1].Cells[126][0], got[0].Proofs[127][47] = 1, 1
	if n := w.wrong(got); n != 3 {
		t.Errorf("a wrong proof and another cell: %d", n)
	}
}
