package layout

import (
	"errors"
	"testing"

	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/backend"
)

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
