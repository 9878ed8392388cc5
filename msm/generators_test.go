package msm

import (
	bls12377 "github.com/consensys/gnark-crypto/ecc/bls12-377"
	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	bw6761 "github.com/consensys/gnark-crypto/ecc/bw6-761"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
)

// generators has the generator of each group at the index 2*curve + group.
var generators = map[int]func() []byte{
	2*int(backend.BN254) + 1:    func() []byte { _, _, g, _ := bn254.Generators(); return layout.Bytes([]bn254.G1Affine{g}) },
	2*int(backend.BN254) + 2:    func() []byte { _, _, _, g := bn254.Generators(); return layout.Bytes([]bn254.G2Affine{g}) },
	2*int(backend.BLS12377) + 1: func() []byte { _, _, g, _ := bls12377.Generators(); return layout.Bytes([]bls12377.G1Affine{g}) },
	2*int(backend.BLS12377) + 2: func() []byte { _, _, _, g := bls12377.Generators(); return layout.Bytes([]bls12377.G2Affine{g}) },
	2*int(backend.BLS12381) + 1: func() []byte { _, _, g, _ := bls12381.Generators(); return layout.Bytes([]bls12381.G1Affine{g}) },
	2*int(backend.BLS12381) + 2: func() []byte { _, _, _, g := bls12381.Generators(); return layout.Bytes([]bls12381.G2Affine{g}) },
	2*int(backend.BW6761) + 1:   func() []byte { _, _, g, _ := bw6761.Generators(); return layout.Bytes([]bw6761.G1Affine{g}) },
	2*int(backend.BW6761) + 2:   func() []byte { _, _, _, g := bw6761.Generators(); return layout.Bytes([]bw6761.G2Affine{g}) },
}

// setSmall writes v as an element of the curve's scalar field.
func setSmall(c backend.Curve, dst []byte, v uint64) {
	switch c {
	case backend.BN254:
		copy(dst, layout.Bytes([]fr254.Element{fr254.NewElement(v)}))
	case backend.BLS12377:
		copy(dst, layout.Bytes([]fr377.Element{fr377.NewElement(v)}))
	case backend.BLS12381:
		copy(dst, layout.Bytes([]fr381.Element{fr381.NewElement(v)}))
	case backend.BW6761:
		copy(dst, layout.Bytes([]fr761.Element{fr761.NewElement(v)}))
	}
}
