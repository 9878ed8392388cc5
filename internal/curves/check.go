package curves

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/big"
	"reflect"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
)

// Check proves once a process that this build's gnark-crypto lays its types
// out as docs/layout.md says: sizes, order of coordinates, order of limbs,
// Montgomery radix, infinity. A failure means that pippin and gnark-crypto
// versions do not fit, and is ErrUnsupported.
var Check = sync.OnceValue(func() error {
	for _, c := range backend.Curves() {
		if err := basics[c].check(c); err != nil {
			return fmt.Errorf("%w: memory layout of gnark-crypto: %w", backend.ErrUnsupported, err)
		}
	}
	return nil
})

// check compares gnark-crypto's types of a curve with what backend says of it.
func (of *basic) check(c backend.Curve) error {
	if of.id.BaseField().Cmp(c.BaseField()) != 0 || of.id.ScalarField().Cmp(c.ScalarField()) != 0 {
		return fmt.Errorf("%v: gnark-crypto has other moduli", c)
	}
	return cmp.Or(of.g1.check(c, backend.G1), of.g2.check(c, backend.G2), checkScalar(c, of.two()))
}

// two returns the memory of the scalar 2.
func two[S any, PS Scalar[S]]() []byte {
	s := make([]S, 1)
	PS(&s[0]).SetUint64(2)
	return layout.Bytes(s)
}

func (m msms[P, J, S, PP, PJ]) check(c backend.Curve, g backend.Group) error {
	p := []P{m.generator()}
	return checkPoint(c, g, layout.Bytes(p), reflect.TypeFor[P](), PP(&p[0]).Marshal())
}

// checkScalar wants two to be the scalar 2.
func checkScalar(c backend.Curve, two []byte) error {
	if len(two) != c.ScalarBytes() {
		return fmt.Errorf("%v: scalars of %d bytes", c, len(two))
	}
	if !inMontgomery(two, big.NewInt(2), c.ScalarField()) {
		return fmt.Errorf("%v: scalars are not little-endian Montgomery limbs", c)
	}
	return nil
}

// checkPoint compares a point's type, and its memory b, with the layout that backend's sizes
// describe. encoded is the point uncompressed: it begins with X, of which a big-endian integer is
// for each part, the last part first.
func checkPoint(c backend.Curve, g backend.Group, b []byte, t reflect.Type, encoded []byte) error {
	if len(b) != c.PointBytes(g) {
		return fmt.Errorf("%v: points of %v of %d bytes", c, g, len(b))
	}
	size := c.FieldBytes()
	x := encoded[len(b)/2-size : len(b)/2] // its first part
	if !inMontgomery(b[:size], new(big.Int).SetBytes(x), c.BaseField()) {
		return fmt.Errorf("%v: X of a point of %v is not first, in little-endian Montgomery limbs", c, g)
	}
	if !halves(t, "X", "Y") {
		return fmt.Errorf("%v: %v is not X then Y", c, t)
	}
	if e := t.Field(0).Type; e.Kind() == reflect.Struct && !halves(e, "A0", "A1") {
		return fmt.Errorf("%v: %v is not A0 then A1", c, e)
	}
	return nil
}

// halves reports whether a struct has two fields of the same size, with these names.
func halves(t reflect.Type, first, second string) bool {
	return t.NumField() == 2 && t.Field(0).Name == first && t.Field(1).Name == second && t.Field(1).Offset*2 == t.Size()
}

// inMontgomery reports whether b holds v * 2^(8 len(b)) mod m, little-endian.
func inMontgomery(b []byte, v, m *big.Int) bool {
	got := new(big.Int)
	for i := len(b) - 8; i >= 0; i -= 8 {
		got.Lsh(got, 64).Or(got, new(big.Int).SetUint64(binary.NativeEndian.Uint64(b[i:])))
	}
	want := new(big.Int).Lsh(v, uint(8*len(b)))
	// A big-endian machine would pass the limb test above with other bytes.
	return got.Cmp(want.Mod(want, m)) == 0 && binary.NativeEndian.Uint16([]byte{1, 0}) == 1
}
