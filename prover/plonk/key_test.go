package plonk

import (
	"errors"
	"slices"
	"testing"

	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/backend"
)

// TestCommittedRows: the rows of a commitment are those that its circuit says and one or two that hide them, each
// once, and each row has the place of its value.
func TestCommittedRows(t *testing.T) {
	s := &shape{public: 2, constraints: 10, info: constraint.PlonkCommitments{
		{Committed: []int{1, 3}, CommitmentIndex: 5}, {Committed: []int{7}, CommitmentIndex: 9},
	}}
	for i, want := range [][]int{{3, 5, 7, 11}, {9, 11}} {
		rows, places := s.committedRows(i), s.committedPlaces(i, 16)
		if !slices.Equal(rows, want) || len(places) != 16 {
			t.Errorf("commitment %d is of the rows %v, want %v; there are %d places", i, rows, want, len(places))
		}
		for row, place := range places {
			k := slices.Index(rows, row)
			if k < 0 {
				k = len(rows)
			}
			if int(place) != k {
				t.Errorf("commitment %d: row %d has the value %d, want %d", i, row, place, k)
			}
		}
	}
	parts := &parts[int, int]{n: 16, public: 2, lagrange: make([]int, 16), canonical: make([]int, 19), columns: make([]int, 9)}
	for _, c := range []struct {
		of constraint.PlonkCommitment
		ok bool
	}{
		{constraint.PlonkCommitment{Committed: []int{1, 3}, CommitmentIndex: 5}, true},
		{constraint.PlonkCommitment{Committed: []int{3, 3}, CommitmentIndex: 5}, false},
		{constraint.PlonkCommitment{Committed: []int{1, 5}, CommitmentIndex: 5}, false},
		{constraint.PlonkCommitment{Committed: []int{1, 9}, CommitmentIndex: 5}, false},
		{constraint.PlonkCommitment{Committed: []int{1, 10}, CommitmentIndex: 5}, false},
		{constraint.PlonkCommitment{Committed: []int{-1, 3}, CommitmentIndex: 5}, false},
		{constraint.PlonkCommitment{Committed: []int{1, 3}, CommitmentIndex: 10}, false},
	} {
		s.info, parts.commitments = constraint.PlonkCommitments{c.of}, []uint64{uint64(c.of.CommitmentIndex)}
		if err := parts.check(s); c.ok != (err == nil) || err != nil && !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%+v: %v", c.of, err)
		}
	}
}
