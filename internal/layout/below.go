package layout

import (
	"encoding/binary"
	"math/big"

	"github.com/pippin-zk/pippin/backend"
)

// Modulus is a prime in limbs, least significant first.
type Modulus []uint64

// baseFields and scalarFields are indexed by the curves' numbers.
var baseFields, scalarFields = func() (base, scalar []Modulus) {
	base, scalar = make([]Modulus, 1), make([]Modulus, 1)
	for _, c := range backend.Curves() {
		base = append(base, limbs(c.BaseField(), c.FieldBytes()))
		scalar = append(scalar, limbs(c.ScalarField(), c.ScalarBytes()))
	}
	return base, scalar
}()

// BaseField returns the modulus q of a curve's coordinates.
func BaseField(c backend.Curve) Modulus { return baseFields[c] }

// ScalarField returns the modulus r of a curve's scalars.
func ScalarField(c backend.Curve) Modulus { return scalarFields[c] }

// limbs returns v as size/8 limbs.
func limbs(v *big.Int, size int) Modulus {
	b := v.FillBytes(make([]byte, size))
	l := make(Modulus, size/8)
	for i := range l {
		l[i] = binary.BigEndian.Uint64(b[size-8*(i+1):])
	}
	return l
}

// FirstNotBelow returns the index of the first element that is not below m, or -1. The
// elements are limbs in little-endian bytes, one after the other.
func FirstNotBelow(elements []byte, m Modulus) int {
	size := 8 * len(m)
	for i := 0; i < len(elements); i += size {
		if !m.above(elements[i : i+size]) {
			return i / size
		}
	}
	return -1
}

func (m Modulus) above(element []byte) bool {
	for k := len(m) - 1; k >= 0; k-- {
		if v := binary.LittleEndian.Uint64(element[8*k:]); v != m[k] {
			return v < m[k]
		}
	}
	return false
}
