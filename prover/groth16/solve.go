package groth16

import (
	"context"
	"math/big"

	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/merge"
	"github.com/pippin-zk/pippin/prover/internal/proving"
)

// committed are a circuit's commitments and the values that they commit to.
type committed[P1, S any] struct {
	points []P1
	values [][]S // in the order of the keys' bases
}

// wipe wipes the values. They are no longer used.
func (c *committed[P1, S]) wipe() {
	merge.Wipe(c.values...)
	clear(c.values)
}

// commitment returns the function that a circuit's commitments call. Its inputs are the
// commitment's number, the public values and earlier commitments that are hashed with it, and the
// values to commit to. Its output is the hash, a challenge with which the circuit goes on.
func (p *prover[P1, P2, S]) commitment(ctx context.Context, cfg *gnark.ProverConfig, out *committed[P1, S]) assignment.Commit[S] {
	hashed := proving.Challenge(cfg, p.fr, constraint.CommitmentDst)
	count := func(i int) int {
		c := &p.shape.commitments[i]
		return len(c.PublicAndCommitmentCommitted) + len(c.PrivateCommitted)
	}
	return func(in []S) (hash S, err error) {
		i, values, err := proving.Commitment(p.fr, in, len(out.points), count)
		if err != nil {
			return hash, err
		}
		known := make([]*big.Int, len(p.shape.commitments[i].PublicAndCommitmentCommitted))
		for k := range known {
			known[k] = p.fr.Big(&values[k])
		}
		values = values[len(known):]
		clear(out.values[i]) // gnark's solver may ask a second time
		out.values[i] = values
		if err := p.sumOf(ctx, &p.commit[i], values, p.scalars, &out.points[i]); err != nil {
			return hash, err
		}
		return p.fr.FromBytes(hashed(constraint.SerializeCommitment(p.g1.Marshal(&out.points[i]), known, p.fr.Bytes), p.fr.Bytes)), nil
	}
}
