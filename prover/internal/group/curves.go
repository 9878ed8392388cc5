package group

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-377"
	fp377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fp"
	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	hash377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr/hash_to_field"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	fp381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	hash381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr/hash_to_field"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fp254 "github.com/consensys/gnark-crypto/ecc/bn254/fp"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	hash254 "github.com/consensys/gnark-crypto/ecc/bn254/fr/hash_to_field"
	"github.com/consensys/gnark-crypto/ecc/bw6-761"
	fp761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fp"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"
	hash761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr/hash_to_field"

	"github.com/pippin-zk/pippin/msm"
)

// The groups and scalar fields of the four curves. Nothing changes them.
var (
	BN254G1 = newOps[fp254.Element, bn254.G1Affine, bn254.G1Jac](msm.BN254G1)
	BN254G2 = newOps[bn254.E2, bn254.G2Affine, bn254.G2Jac](msm.BN254G2)
	BN254Fr = newField[fr254.Element, fr254.Vector](fr254.Modulus(), fr254.Hash, hash254.New)

	BLS12377G1 = newOps[fp377.Element, bls12377.G1Affine, bls12377.G1Jac](msm.BLS12377G1)
	BLS12377G2 = newOps[bls12377.E2, bls12377.G2Affine, bls12377.G2Jac](msm.BLS12377G2)
	BLS12377Fr = newField[fr377.Element, fr377.Vector](fr377.Modulus(), fr377.Hash, hash377.New)

	BLS12381G1 = newOps[fp381.Element, bls12381.G1Affine, bls12381.G1Jac](msm.BLS12381G1)
	BLS12381G2 = newOps[bls12381.E2, bls12381.G2Affine, bls12381.G2Jac](msm.BLS12381G2)
	BLS12381Fr = newField[fr381.Element, fr381.Vector](fr381.Modulus(), fr381.Hash, hash381.New)

	BW6761G1 = newOps[fp761.Element, bw6761.G1Affine, bw6761.G1Jac](msm.BW6761G1)
	BW6761G2 = newOps[fp761.Element, bw6761.G2Affine, bw6761.G2Jac](msm.BW6761G2)
	BW6761Fr = newField[fr761.Element, fr761.Vector](fr761.Modulus(), fr761.Hash, hash761.New)
)
