package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/utils"
	goethkzg "github.com/crate-crypto/go-eth-kzg"
)

// ceremony holds the 4096 Lagrange points of the ceremony in G1, compressed
// (48 bytes each) and in the order of the published file.
//
//go:embed g1_lagrange.bin
var ceremony []byte

// ceremonyDigest is the SHA-256 of the points. The test beside this file
// compares them with the setup inside go-eth-kzg as well.
const ceremonyDigest = "52c7615a9bd3eb20df67eb5a81ee701c96787c82a5ff638740b54fbadfde960b"

// lagrangePoints decodes the ceremony's points, each checked to be on the
// curve and in its subgroup, and puts them into the order of a blob: the
// published file lists the Lagrange polynomials by the exponent of their root
// of unity, a blob lists its values by the exponent's bits reversed.
func lagrangePoints() ([]bls12381.G1Affine, error) {
	if got := sha256.Sum256(ceremony); hex.EncodeToString(got[:]) != ceremonyDigest {
		return nil, fmt.Errorf("g1_lagrange.bin is damaged: its SHA-256 is %x", got)
	}
	points := make([]bls12381.G1Affine, goethkzg.ScalarsPerBlob)
	for i := range points {
		if _, err := points[i].SetBytes(ceremony[i*goethkzg.CompressedG1Size:][:goethkzg.CompressedG1Size]); err != nil {
			return nil, fmt.Errorf("point %d of g1_lagrange.bin: %w", i, err)
		}
	}
	utils.BitReverse(points)
	return points, nil
}
