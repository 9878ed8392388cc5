package backendutil

import (
	"encoding/hex"
	"math/big"
	"slices"

	"github.com/pippin-zk/pippin/backend"
)

// field is the scalar field of a curve.
type field struct {
	order      []byte // r, little-endian
	twoAdicity int    // of r - 1
}

// fields by curve; r in hexadecimal is gnark-crypto's, which the tests compare.
var fields = [...]field{
	backend.BN254:    fieldOf("30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001"),
	backend.BLS12377: fieldOf("12ab655e9a2ca55660b44d1e5c37b00159aa76fed00000010a11800000000001"),
	backend.BLS12381: fieldOf("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001"),
	backend.BW6761: fieldOf("01ae3a4617c510eac63b05c06ca1493b1a22d9f300f5138f1ef3622fba094800" +
		"170b5d44300000008508c00000000001"),
}

func fieldOf(order string) field {
	b, err := hex.DecodeString(order)
	if err != nil {
		panic(err)
	}
	r := new(big.Int).SetBytes(b)
	slices.Reverse(b)
	return field{b, int(r.Sub(r, big.NewInt(1)).TrailingZeroBits())}
}

// has tells whether e, limbs in little-endian bytes, is below r.
func (f field) has(e []byte) bool {
	for i := len(f.order) - 1; i >= 0; i-- {
		if e[i] != f.order[i] {
			return e[i] < f.order[i]
		}
	}
	return false
}
