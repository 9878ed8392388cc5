package layout

import (
	"errors"
	"reflect"
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

func TestOverlap(t *testing.T) {
	v := make([]uint32, 6)
	for _, c := range []struct {
		a, b []uint32
		want bool
	}{
		{v[:3], v[2:], true}, {v[2:], v[:3], true}, {v, v[2:3], true}, {v[2:3], v, true}, {v, v, true},
		{v[:3], v[3:], false}, {v[3:], v[:3], false}, {v[:0], v, false}, {v, v[3:3], false}, {nil, v, false},
	} {
		if got := Overlap(c.a, c.b); got != c.want {
			t.Errorf("%d of %d elements and %d of %d: %v", len(c.a), cap(c.a), len(c.b), cap(c.b), got)
		}
	}
}

// TestWipeElements wipes elements in unexported fields up to their capacity, and nothing else.
func TestWipeElements(t *testing.T) {
	type element [4]uint64
	one := element{1, 2, 3, 4}
	v := struct {
		list  []element
		lists [][]element
		words []uint64
		bytes [][4]byte
		one   element
	}{[]element{one, one}[:1], [][]element{{one}, nil, {one, one}}, []uint64{5}, [][4]byte{{6}}, one}
	for i := range 5 {
		WipeElements(reflect.ValueOf(&v).Elem().Field(i))
	}
	for _, l := range append(v.lists, v.list[:2]) {
		for _, e := range l {
			if e != (element{}) {
				t.Errorf("%d is left", e)
			}
		}
	}
	if v.words[0] != 5 || v.bytes[0][0] != 6 || v.one != one {
		t.Errorf("%v: something else was wiped", v)
	}
}
