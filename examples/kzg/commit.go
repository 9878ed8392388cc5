package main

import (
	"context"
	"fmt"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	goethkzg "github.com/crate-crypto/go-eth-kzg"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/msm"
)

// A committer commits to blobs on an engine. The points of the setup stay
// resident in the engine's backend. Not for concurrent use.
type committer struct {
	setup  *msm.Bases[bls12381.G1Affine, fr.Element]
	values *msm.Scalars[fr.Element] // where the backend reads without a copy
	engine *engine.Engine
}

// newCommitter loads the setup. points must not change before close.
func newCommitter(ctx context.Context, engine *engine.Engine, points []bls12381.G1Affine, maxBlobs int) (*committer, error) {
	setup, err := msm.BLS12381G1.Load(ctx, engine, points)
	if err != nil {
		return nil, err
	}
	values, err := msm.BLS12381G1.NewScalars(ctx, engine, maxBlobs*len(points))
	if err != nil {
		setup.Close()
		return nil, err
	}
	return &committer{setup: setup, values: values, engine: engine}, nil
}

func (c *committer) close() error {
	c.values.Free()
	return c.setup.Close()
}

// commit computes the commitments of several blobs in one batch.
func (c *committer) commit(ctx context.Context, blobs []*namedBlob) ([]goethkzg.KZGCommitment, error) {
	n := c.setup.Len()
	if max := len(c.values.Slice()) / n; len(blobs) > max {
		return nil, fmt.Errorf("%d blobs at once, there is memory for %d", len(blobs), max)
	}
	batch := msm.NewBatch(c.engine)
	sums := make([]*msm.Answer[bls12381.G1Affine], len(blobs))
	for i, b := range blobs {
		v := c.values.Slice()[i*n:][:n]
		if err := values(v, &b.blob); err != nil {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
		sums[i] = c.setup.Add(batch, v)
	}
	if err := batch.Run(ctx); err != nil {
		return nil, err
	}
	out := make([]goethkzg.KZGCommitment, len(blobs))
	for i, s := range sums {
		p := s.Point()
		out[i] = p.Bytes()
	}
	return out, nil
}
