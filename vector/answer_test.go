package vector

import (
	"slices"
	"testing"
)

// TestAnswers: an answer of elements is the backend's bytes where these are aligned, and else a copy of bytes that
// are wiped. An answer of one element leaves none of its bytes.
func TestAnswers(t *testing.T) {
	type element [2]uint64
	zero := make([]byte, 48)
	for shift := range 2 {
		b := make([]byte, 49)[shift : 48+shift]
		for i := range b {
			b[i] = byte(i + 1)
		}
		v := all[element](b, 3)
		if len(v) != 3 || v[2][1] != 0x302f2e2d2c2b2a29 {
			t.Errorf("shifted by %d: %x", shift, v)
		}
		if shares := !slices.Equal(b, zero); shares != (shift == 0) {
			t.Errorf("shifted by %d: the bytes are %x", shift, b)
		}
		v[0][0] = 7
		if shares := b[0] == 7; shares != (shift == 0) {
			t.Errorf("shifted by %d: memory is shared: %v", shift, shares)
		}
		b = b[:16]
		copy(b, "sixteen letters.")
		a := &Answer[element]{}
		if one(a)(b); a.v == (element{}) || !slices.Equal(b, zero[:16]) {
			t.Errorf("shifted by %d: one element %x, the bytes are %x", shift, a.v, b)
		}
	}
}
