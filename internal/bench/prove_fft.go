package bench

import (
	"fmt"

	bls12377fft "github.com/consensys/gnark-crypto/ecc/bls12-377/fr/fft"
	bls12381fft "github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	bn254fft "github.com/consensys/gnark-crypto/ecc/bn254/fr/fft"
	bw6761fft "github.com/consensys/gnark-crypto/ecc/bw6-761/fr/fft"
	stock "github.com/consensys/gnark/backend/groth16"
	bls12377 "github.com/consensys/gnark/backend/groth16/bls12-377"
	bls12381 "github.com/consensys/gnark/backend/groth16/bls12-381"
	bn254 "github.com/consensys/gnark/backend/groth16/bn254"
	bw6761 "github.com/consensys/gnark/backend/groth16/bw6-761"

	"github.com/pippin-zk/pippin/backend"
)

// element is a number that can be set.
type element[E any] interface {
	*E
	SetUint64(uint64) *E
}

// transformsOf is a function that does the transforms of one proof with the
// key, of the same length and number as a prover's, on vectors of its own.
func transformsOf(key stock.ProvingKey) (func(), error) {
	switch k := key.(type) {
	case *bn254.ProvingKey:
		return transforms(&k.Domain, k.Domain.Cardinality, bn254fft.DIT, bn254fft.DIF, bn254fft.OnCoset()), nil
	case *bls12377.ProvingKey:
		return transforms(&k.Domain, k.Domain.Cardinality, bls12377fft.DIT, bls12377fft.DIF, bls12377fft.OnCoset()), nil
	case *bls12381.ProvingKey:
		return transforms(&k.Domain, k.Domain.Cardinality, bls12381fft.DIT, bls12381fft.DIF, bls12381fft.OnCoset()), nil
	case *bw6761.ProvingKey:
		return transforms(&k.Domain, k.Domain.Cardinality, bw6761fft.DIT, bw6761fft.DIF, bw6761fft.OnCoset()), nil
	}
	return nil, fmt.Errorf("%w: transforms for a key of type %T", backend.ErrUnsupported, key)
}

// transforms is six of them, as in prover/groth16: A and B to coefficients and
// on to the coset, C to coefficients, and the quotient back.
func transforms[E, D, O any, PE element[E]](d interface {
	FFT([]E, D, ...O)
	FFTInverse([]E, D, ...O)
}, size uint64, dit, dif D, coset O) func() {
	var v [3][]E
	for i := range v {
		v[i] = make([]E, size)
		for j := range v[i] {
			PE(&v[i][j]).SetUint64(uint64(i*len(v[i])+j) * 0x9e3779b97f4a7c15) // in Montgomery form all bits differ
		}
	}
	return func() {
		for _, x := range v[:2] {
			d.FFTInverse(x, dif)
			d.FFT(x, dit, coset)
		}
		d.FFTInverse(v[2], dif)
		d.FFTInverse(v[0], dif, coset)
	}
}
