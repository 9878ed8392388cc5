package main

import (
	"context"
	"errors"
	"io"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	groth16 "github.com/consensys/gnark/backend/groth16/bn254"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/msm"
)

type (
	g1Bases  = msm.BN254G1Bases
	g2Bases  = msm.BN254G2Bases
	g1Answer = msm.Answer[bn254.G1Affine]
)

// residentKey is the points of a proving key, loaded into an engine once for
// all proofs.
type residentKey struct {
	a, b1, k, z *g1Bases
	b2          *g2Bases
	commitments []residentPedersen
	all         []io.Closer
}

// residentPedersen is the key of one Pedersen commitment: to commit, and to
// prove knowledge of what was committed to.
type residentPedersen struct{ commit, knowledge *g1Bases }

// loadKey loads pk, which must not change before close.
func loadKey(ctx context.Context, engine *engine.Engine, pk *groth16.ProvingKey) (*residentKey, error) {
	r := &residentKey{}
	var failed error
	g1 := func(points []bn254.G1Affine) *g1Bases {
		if failed != nil {
			return nil
		}
		b, err := msm.BN254G1.Load(ctx, engine, points)
		if failed = err; err == nil {
			r.all = append(r.all, b)
		}
		return b
	}
	r.a, r.b1, r.k, r.z = g1(pk.G1.A), g1(pk.G1.B), g1(pk.G1.K), g1(pk.G1.Z)
	for i := range pk.CommitmentKeys {
		p := &pk.CommitmentKeys[i]
		r.commitments = append(r.commitments, residentPedersen{g1(p.Basis), g1(p.BasisExpSigma)})
	}
	if failed == nil {
		if r.b2, failed = msm.BN254G2.Load(ctx, engine, pk.G2.B); failed == nil {
			r.all = append(r.all, r.b2)
		}
	}
	if failed != nil {
		return nil, errors.Join(failed, r.close())
	}
	return r, nil
}

func (r *residentKey) close() error {
	var all error
	for _, b := range r.all {
		all = errors.Join(all, b.Close())
	}
	return all
}
