package layout

import (
	"errors"
	"math/big"
	"testing"

	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/backend"
)

func TestCheck(t *testing.T) {
	if err := Check(); err != nil {
		t.Fatal(err)
	}
}

func TestCheckSeesWrongLayouts(t *testing.T) {
	type swapped struct{ Y, X [4]uint64 }
	two, q, r := fr254.NewElement(2), backend.BN254.BaseField(), fr254.Modulus()
	var good struct{ X, Y [4]uint64 }
	var goodG2 struct{ X, Y [8]uint64 }
	zero := make([]byte, 32)
	if err := checkCurve(backend.BN254, good, goodG2, two, r, [32]byte(zero), q); err != nil {
		t.Fatalf("a right layout is refused: %v", err)
	}
	if checkCurve(backend.BN254, swapped{}, goodG2, two, r, [32]byte(zero), q) == nil {
		t.Error("Y before X is accepted")
	}
	if checkCurve(backend.BLS12381, good, goodG2, two, r, [32]byte(zero), q) == nil {
		t.Error("wrong sizes are accepted")
	}
	if checkCurve(backend.BN254, good, goodG2, [4]uint64{2}, r, [32]byte(zero), q) == nil {
		t.Error("scalars outside Montgomery form are accepted")
	}
	if checkCurve(backend.BN254, good, goodG2, two, r, [32]byte(zero), r) == nil {
		t.Error("another modulus is accepted")
	}
	if inMontgomery(Bytes([]uint64{0, 1}), big.NewInt(1), big.NewInt(1<<40+15)) {
		t.Error("a wrong residue is accepted")
	}
}

func TestViewSharesMemory(t *testing.T) {
	s := []fr254.Element{fr254.NewElement(1), fr254.NewElement(7)}
	b := Bytes(s)
	v, err := View[fr254.Element](b)
	if err != nil {
		t.Fatal(err)
	}
	v[1].SetUint64(9)
	if want := fr254.NewElement(9); s[1] != want {
		t.Fatal("a view is a copy")
	}
	if lo, hi := Range(s); hi-lo != 64 {
		t.Fatalf("range of %d bytes", hi-lo)
	}
}

func TestViewRefuses(t *testing.T) {
	b := Bytes(make([]fr254.Element, 3))
	for name, c := range map[string][]byte{"length": b[:63], "alignment": b[4:36]} {
		if _, err := View[fr254.Element](c); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if v, err := View[fr254.Element](nil); v != nil || err != nil {
		t.Errorf("empty: %v, %v", v, err)
	}
	if Bytes([]fr254.Element(nil)) != nil {
		t.Error("bytes of nothing")
	}
}
