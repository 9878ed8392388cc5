package main

import (
	"math/big"

	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	kzg381 "github.com/consensys/gnark-crypto/ecc/bls12-381/kzg"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	kzg254 "github.com/consensys/gnark-crypto/ecc/bn254/kzg"
)

const srsSize = 600

func init() { cases["kzg"] = kzgCase }

func kzgCase() error {
	s381, err := kzg381.NewSRS(srsSize, big.NewInt(424242))
	if err != nil {
		return err
	}
	err = commitments[fr381.Element](
		func(p []fr381.Element) (kzg381.Digest, error) { return kzg381.Commit(p, s381.Pk) },
		func(p []fr381.Element, at fr381.Element) (kzg381.OpeningProof, error) {
			return kzg381.Open(p, at, s381.Pk)
		},
		func(c *kzg381.Digest, o *kzg381.OpeningProof, at fr381.Element) error {
			return kzg381.Verify(c, o, at, s381.Vk)
		})
	if err != nil {
		return err
	}
	s254, err := kzg254.NewSRS(srsSize, big.NewInt(424242))
	if err != nil {
		return err
	}
	return commitments[fr254.Element](
		func(p []fr254.Element) (kzg254.Digest, error) { return kzg254.Commit(p, s254.Pk) },
		func(p []fr254.Element, at fr254.Element) (kzg254.OpeningProof, error) {
			return kzg254.Open(p, at, s254.Pk)
		},
		func(c *kzg254.Digest, o *kzg254.OpeningProof, at fr254.Element) error {
			return kzg254.Verify(c, o, at, s254.Vk)
		})
}

// random is gnark-crypto's type of an element E.
type random[E any] interface {
	*E
	SetRandom() (*E, error)
}

// commitments commits to random polynomials, opens them at a point, and verifies.
func commitments[E, D, O any, PE random[E]](commit func([]E) (D, error), open func([]E, E) (O, error), verify func(*D, *O, E) error) error {
	for _, size := range []int{srsSize, srsSize, 400, srsSize - 1, 512} {
		p := make([]E, size+1)
		for i := range p {
			if _, err := PE(&p[i]).SetRandom(); err != nil {
				return err
			}
		}
		p, at := p[:size], p[size]
		digest, err := commit(p)
		if err != nil {
			return err
		}
		proof, err := open(p, at)
		if err != nil {
			return err
		}
		if err := verify(&digest, &proof, at); err != nil {
			return err
		}
	}
	return nil
}
