//go:build pippinprovers

package auto

import (
	// "msm weave" sets the tag for programs that can call gnark's provers.
	_ "github.com/consensys/gnark-crypto/ecc"
	_ "github.com/consensys/gnark/backend/groth16"
	_ "github.com/consensys/gnark/backend/groth16/bls12-377"
	_ "github.com/consensys/gnark/backend/groth16/bls12-381"
	_ "github.com/consensys/gnark/backend/groth16/bn254"
	_ "github.com/consensys/gnark/backend/groth16/bw6-761"
	_ "github.com/consensys/gnark/backend/plonk"
	_ "github.com/consensys/gnark/backend/plonk/bls12-377"
	_ "github.com/consensys/gnark/backend/plonk/bls12-381"
	_ "github.com/consensys/gnark/backend/plonk/bn254"
	_ "github.com/consensys/gnark/backend/plonk/bw6-761"

	_ "github.com/pippin-zk/pippin/weave/internal/provers"
)
