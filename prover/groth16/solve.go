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

// commitment returns the function that a circuit's commitments call. Its inputs are the
// commitment's number, the public values and earlier commitments that are hashed with it, and the
// values to commit to; it wipes them. Its output is the hash, a challenge with which the circuit
// goes on. The commitment goes to its place in out.
func (p *prover[P1, P2, S]) commitment(ctx context.Context, cfg *gnark.ProverConfig, out []P1) assignment.Commit[S] {
	hashed := proving.Challenge(cfg, p.fr, constraint.CommitmentDst)
	count := func(i int) int {
		c := &p.shape.commitments[i]
		return len(c.PublicAndCommitmentCommitted) + len(c.PrivateCommitted)
	}
	return func(in []S) (hash S, err error) {
		defer merge.Wipe(in)
		i, values, err := proving.Commitment(p.fr, in, len(out), count)
		if err != nil {
			return hash, err
		}
		known := make([]*big.Int, len(p.shape.commitments[i].PublicAndCommitmentCommitted))
		for k := range known {
			known[k] = p.fr.Big(&values[k])
		}
		values = values[len(known):]
		if err := p.sumOf(ctx, &p.commit[i], values, p.scalars, &out[i]); err != nil {
			return hash, err
		}
		return p.fr.FromBytes(hashed(constraint.SerializeCommitment(p.g1.Marshal(&out[i]), known, p.fr.Bytes), p.fr.Bytes)), nil
	}
}
