package layout

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"reflect"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-377"
	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark-crypto/ecc/bw6-761"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"

	"github.com/pippin-zk/pippin/backend"
)

// Check proves once a process that this build's gnark-crypto lays its types
// out as docs/layout.md says: sizes, order of coordinates, order of limbs,
// Montgomery radix, infinity. A failure means that pippin and gnark-crypto
// versions do not fit, and is ErrUnsupported.
var Check = sync.OnceValue(func() error {
	_, _, g1bn, g2bn := bn254.Generators()
	_, _, g1b7, g2b7 := bls12377.Generators()
	_, _, g1b1, g2b1 := bls12381.Generators()
	_, _, g1bw, g2bw := bw6761.Generators()
	for _, err := range []error{
		checkCurve(backend.BN254, g1bn, g2bn, fr254.NewElement(2), fr254.Modulus(), g1bn.X.Bytes(), bn254.ID.BaseField()),
		checkCurve(backend.BLS12377, g1b7, g2b7, fr377.NewElement(2), fr377.Modulus(), g1b7.X.Bytes(), bls12377.ID.BaseField()),
		checkCurve(backend.BLS12381, g1b1, g2b1, fr381.NewElement(2), fr381.Modulus(), g1b1.X.Bytes(), bls12381.ID.BaseField()),
		checkCurve(backend.BW6761, g1bw, g2bw, fr761.NewElement(2), fr761.Modulus(), g1bw.X.Bytes(), bw6761.ID.BaseField()),
	} {
		if err != nil {
			return fmt.Errorf("%w: memory layout of gnark-crypto: %w", backend.ErrUnsupported, err)
		}
	}
	return nil
})

// checkCurve compares the generators g1, g2 and the scalar two with the
// layout that backend's sizes describe. xBytes is g1.X as a big-endian
// integer (an array), q the base field's modulus.
func checkCurve[P1, P2, S any](c backend.Curve, g1 P1, g2 P2, two S, r *big.Int, xBytes any, q *big.Int) error {
	p1, p2, s := Bytes([]P1{g1}), Bytes([]P2{g2}), Bytes([]S{two})
	if len(p1) != c.PointBytes(backend.G1) || len(p2) != c.PointBytes(backend.G2) || len(s) != c.ScalarBytes() {
		return fmt.Errorf("%v: sizes %d, %d, %d", c, len(p1), len(p2), len(s))
	}
	if q.Cmp(c.BaseField()) != 0 || r.Cmp(c.ScalarField()) != 0 {
		return fmt.Errorf("%v: gnark-crypto has other moduli", c)
	}
	if !inMontgomery(s, big.NewInt(2), r) {
		return fmt.Errorf("%v: scalars are not little-endian Montgomery limbs", c)
	}
	x := new(big.Int).SetBytes(anyBytes(xBytes))
	if !inMontgomery(p1[:c.FieldBytes()], x, q) {
		return fmt.Errorf("%v: X of a G1 point is not first, in little-endian Montgomery limbs", c)
	}
	for _, t := range []reflect.Type{reflect.TypeOf(g1), reflect.TypeOf(g2)} {
		if t.NumField() != 2 || t.Field(0).Name != "X" || t.Field(1).Name != "Y" || t.Field(1).Offset*2 != t.Size() {
			return fmt.Errorf("%v: %v is not X then Y", c, t)
		}
		if e := t.Field(0).Type; e.Kind() == reflect.Struct && (e.NumField() != 2 || e.Field(0).Name != "A0" || e.Field(1).Name != "A1" || e.Field(1).Offset*2 != e.Size()) {
			return fmt.Errorf("%v: %v is not A0 then A1", c, e)
		}
	}
	return nil
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

func anyBytes(array any) []byte {
	v := reflect.ValueOf(array)
	b := make([]byte, v.Len())
	reflect.Copy(reflect.ValueOf(b), v)
	return b
}
