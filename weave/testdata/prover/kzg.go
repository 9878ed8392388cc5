package main

import (
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/kzg"
)

func kzgCase() error {
	const n = 600
	srs, err := kzg.NewSRS(n, big.NewInt(424242))
	if err != nil {
		return err
	}
	for _, size := range []int{n, n, 400, n - 1, 512} {
		p := make([]fr.Element, size)
		for i := range p {
			p[i].MustSetRandom()
		}
		digest, err := kzg.Commit(p, srs.Pk)
		if err != nil {
			return err
		}
		var at fr.Element
		at.MustSetRandom()
		proof, err := kzg.Open(p, at, srs.Pk)
		if err != nil {
			return err
		}
		if err := kzg.Verify(&digest, &proof, at, srs.Vk); err != nil {
			return err
		}
	}
	return nil
}
