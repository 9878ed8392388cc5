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
)

type (
	// BN254G1Bases is bases in G1 of BN254, as BN254G1.Load returns them.
	BN254G1Bases = Bases[bn254.G1Affine, fr254.Element]
	// BN254G2Bases is bases in G2 of BN254, as BN254G2.Load returns them.
	BN254G2Bases = Bases[bn254.G2Affine, fr254.Element]
	// BLS12377G1Bases is bases in G1 of BLS12-377, as BLS12377G1.Load returns them.
	BLS12377G1Bases = Bases[bls12377.G1Affine, fr377.Element]
	// BLS12377G2Bases is bases in G2 of BLS12-377, as BLS12377G2.Load returns them.
	BLS12377G2Bases = Bases[bls12377.G2Affine, fr377.Element]
	// BLS12381G1Bases is bases in G1 of BLS12-381, as BLS12381G1.Load returns them.
	BLS12381G1Bases = Bases[bls12381.G1Affine, fr381.Element]
	// BLS12381G2Bases is bases in G2 of BLS12-381, as BLS12381G2.Load returns them.
	BLS12381G2Bases = Bases[bls12381.G2Affine, fr381.Element]
	// BW6761G1Bases is bases in G1 of BW6-761, as BW6761G1.Load returns them.
	BW6761G1Bases = Bases[bw6761.G1Affine, fr761.Element]
	// BW6761G2Bases is bases in G2 of BW6-761, as BW6761G2.Load returns them.
	BW6761G2Bases = Bases[bw6761.G2Affine, fr761.Element]
)
