package kzg

import (
	"context"

	"github.com/consensys/gnark-crypto/ecc/bls12-377"
	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	kzg377 "github.com/consensys/gnark-crypto/ecc/bls12-377/kzg"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	kzg381 "github.com/consensys/gnark-crypto/ecc/bls12-381/kzg"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	kzg254 "github.com/consensys/gnark-crypto/ecc/bn254/kzg"
	"github.com/consensys/gnark-crypto/ecc/bw6-761"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"
	kzg761 "github.com/consensys/gnark-crypto/ecc/bw6-761/kzg"

	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/prover/internal/group"
)

// The keys of the four curves.
type (
	// BN254 is a key on BN254.
	BN254 = Key[bn254.G1Affine, bn254.G1Jac, fr254.Element, kzg254.OpeningProof, kzg254.BatchOpeningProof]
	// BLS12377 is a key on BLS12-377.
	BLS12377 = Key[bls12377.G1Affine, bls12377.G1Jac, fr377.Element, kzg377.OpeningProof, kzg377.BatchOpeningProof]
	// BLS12381 is a key on BLS12-381.
	BLS12381 = Key[bls12381.G1Affine, bls12381.G1Jac, fr381.Element, kzg381.OpeningProof, kzg381.BatchOpeningProof]
	// BW6761 is a key on BW6-761.
	BW6761 = Key[bw6761.G1Affine, bw6761.G1Jac, fr761.Element, kzg761.OpeningProof, kzg761.BatchOpeningProof]
)

// LoadBN254 loads a key on BN254 into the engine; a nil engine has
// gnark-crypto compute in this process. The points must not change until Close.
func LoadBN254(ctx context.Context, e *msm.Engine, pk kzg254.ProvingKey) (*BN254, error) {
	return load(ctx, e, &types254, pk.G1)
}

var types254 = types[bn254.G1Affine, bn254.G1Jac, fr254.Element, kzg254.OpeningProof, kzg254.BatchOpeningProof]{
	g1: group.BN254G1, fr: group.BN254Fr,
	proof: func(h bn254.G1Affine, claimed fr254.Element) kzg254.OpeningProof {
		return kzg254.OpeningProof{H: h, ClaimedValue: claimed}
	},
	batchProof: func(h bn254.G1Affine, claimed []fr254.Element) kzg254.BatchOpeningProof {
		return kzg254.BatchOpeningProof{H: h, ClaimedValues: claimed}
	},
	errSize: kzg254.ErrInvalidPolynomialSize, errCount: kzg254.ErrInvalidNbDigests, errNone: kzg254.ErrZeroNbDigests,
}

// LoadBLS12377 loads a key on BLS12-377 into the engine; a nil engine has
// gnark-crypto compute in this process. The points must not change until Close.
func LoadBLS12377(ctx context.Context, e *msm.Engine, pk kzg377.ProvingKey) (*BLS12377, error) {
	return load(ctx, e, &types377, pk.G1)
}

var types377 = types[bls12377.G1Affine, bls12377.G1Jac, fr377.Element, kzg377.OpeningProof, kzg377.BatchOpeningProof]{
	g1: group.BLS12377G1, fr: group.BLS12377Fr,
	proof: func(h bls12377.G1Affine, claimed fr377.Element) kzg377.OpeningProof {
		return kzg377.OpeningProof{H: h, ClaimedValue: claimed}
	},
	batchProof: func(h bls12377.G1Affine, claimed []fr377.Element) kzg377.BatchOpeningProof {
		return kzg377.BatchOpeningProof{H: h, ClaimedValues: claimed}
	},
	errSize: kzg377.ErrInvalidPolynomialSize, errCount: kzg377.ErrInvalidNbDigests, errNone: kzg377.ErrZeroNbDigests,
}

// LoadBLS12381 loads a key on BLS12-381 into the engine; a nil engine has
// gnark-crypto compute in this process. The points must not change until Close.
func LoadBLS12381(ctx context.Context, e *msm.Engine, pk kzg381.ProvingKey) (*BLS12381, error) {
	return load(ctx, e, &types381, pk.G1)
}

var types381 = types[bls12381.G1Affine, bls12381.G1Jac, fr381.Element, kzg381.OpeningProof, kzg381.BatchOpeningProof]{
	g1: group.BLS12381G1, fr: group.BLS12381Fr,
	proof: func(h bls12381.G1Affine, claimed fr381.Element) kzg381.OpeningProof {
		return kzg381.OpeningProof{H: h, ClaimedValue: claimed}
	},
	batchProof: func(h bls12381.G1Affine, claimed []fr381.Element) kzg381.BatchOpeningProof {
		return kzg381.BatchOpeningProof{H: h, ClaimedValues: claimed}
	},
	errSize: kzg381.ErrInvalidPolynomialSize, errCount: kzg381.ErrInvalidNbDigests, errNone: kzg381.ErrZeroNbDigests,
}

// LoadBW6761 loads a key on BW6-761 into the engine; a nil engine has
// gnark-crypto compute in this process. The points must not change until Close.
func LoadBW6761(ctx context.Context, e *msm.Engine, pk kzg761.ProvingKey) (*BW6761, error) {
	return load(ctx, e, &types761, pk.G1)
}

var types761 = types[bw6761.G1Affine, bw6761.G1Jac, fr761.Element, kzg761.OpeningProof, kzg761.BatchOpeningProof]{
	g1: group.BW6761G1, fr: group.BW6761Fr,
	proof: func(h bw6761.G1Affine, claimed fr761.Element) kzg761.OpeningProof {
		return kzg761.OpeningProof{H: h, ClaimedValue: claimed}
	},
	batchProof: func(h bw6761.G1Affine, claimed []fr761.Element) kzg761.BatchOpeningProof {
		return kzg761.BatchOpeningProof{H: h, ClaimedValues: claimed}
	},
	errSize: kzg761.ErrInvalidPolynomialSize, errCount: kzg761.ErrInvalidNbDigests, errNone: kzg761.ErrZeroNbDigests,
}
