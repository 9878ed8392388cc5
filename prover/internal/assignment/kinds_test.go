package assignment

import (
	"errors"
	"testing"

	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark/constraint"
)

// TestKinds: each blueprint is known where frontends use it, and only there.
func TestKinds(t *testing.T) {
	const rank1, sparse, both = 1, 2, 3
	for _, row := range []struct {
		of    constraint.Blueprint
		kind  kind
		where int
	}{
		{&constraint.BlueprintGenericHint{}, kindHint, both},
		{&constraint.BlueprintLookupHint[constraint.U64]{}, kindLookup, both},
		{&constraint.BlueprintGenericR1C{}, kindR1C, rank1},
		{&constraint.BlueprintSparseR1CAdd[constraint.U64]{}, kindSparseAdd, sparse},
		{&constraint.BlueprintSparseR1CMul[constraint.U64]{}, kindSparseMul, sparse},
		{&constraint.BlueprintSparseR1CBool[constraint.U64]{}, kindSparseBool, sparse},
		{&constraint.BlueprintGenericSparseR1C[constraint.U64]{}, kindSparse, sparse},
		{&constraint.BlueprintGenericSparseR1C[constraint.U32]{}, 0, 0},
		{nil, 0, 0},
	} {
		for bit, isSparse := range map[int]bool{rank1: false, sparse: true} {
			if k, ok := kindOf(row.of, isSparse); ok != (row.where&bit != 0) || ok && k != row.kind {
				t.Errorf("%T, sparse %v: %v, %v", row.of, isSparse, k, ok)
			}
		}
	}
}

// TestWiresWithoutValues: nothing is computed of a wire that has no value, unless it counts
// nothing.
func TestWiresWithoutValues(t *testing.T) {
	var one, three, sum fr254.Element
	one.SetOne()
	three.SetUint64(3)
	r := &run[fr254.Element, *fr254.Element]{values: []fr254.Element{three, {}}, coefficients: make([]fr254.Element, 6)}
	forget(&r.values[1])
	r.coefficients[5].SetUint64(7)
	w := &worker[fr254.Element, *fr254.Element]{run: r}
	for _, row := range []struct {
		coefficient, wire uint32
		early             bool
		want              uint64
	}{
		{constraint.CoeffIdOne, 0, false, 3}, {constraint.CoeffIdTwo, 0, false, 6}, {5, 0, false, 21}, {constraint.CoeffIdZero, 0, false, 0},
		{constraint.CoeffIdOne, 1, true, 0}, {constraint.CoeffIdTwo, 1, true, 0}, {5, 1, true, 0}, {constraint.CoeffIdZero, 1, false, 0},
		{5, constant, false, 7},
	} {
		sum.SetZero()
		err := w.term(&sum, row.coefficient, row.wire)
		if errors.Is(err, errEarly) != row.early || !sum.Equal(new(fr254.Element).SetUint64(row.want)) {
			t.Errorf("term %+v: %v, %v", row, &sum, err)
		}
		n, err := w.sum(&sum, []uint32{1, row.coefficient, row.wire, 99, 99})
		if n != 3 || errors.Is(err, errEarly) != row.early || !row.early && !sum.Equal(new(fr254.Element).SetUint64(row.want)) {
			t.Errorf("a sum of the term %+v: %v, %v, %d words", row, &sum, err, n)
		}
	}
	if err := w.set(1, &one); err != nil || r.values[1] != one {
		t.Errorf("the first value: %v", err)
	}
	if err := w.set(1, &three); !errors.Is(err, ErrDefect) || r.values[1] != one {
		t.Errorf("a second value: %v", err)
	}
}
