package bench

import (
	"errors"
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
	if err := w.right(got); err != nil {
		t.Fatal(err)
	}
	got[1].Cells[127][2047] = 1
	if err := w.right(got); !errors.Is(err, ErrWrong) {
		t.Errorf("a wrong cell: %v", err)
	}
	got[1].Cells[127][2047], got[0].Proofs[127][47] = 0, 1
	if err := w.right(got); !errors.Is(err, ErrWrong) {
		t.Errorf("a wrong proof: %v", err)
	}
}
