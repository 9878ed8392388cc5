package groth16

import (
	"context"
	"fmt"
	"math/big"

	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/solve"
)

// committed is what a proof says about the values a circuit commits to.
type committed[P1, S any] struct {
	points []P1
	values [][]S // as the keys' bases need them
}

// commitment is what a circuit's commitments call: its inputs are the commitment's
// number, the public values and earlier commitments that are hashed with it, and the
// values to commit to; its output is the hash, a challenge that the circuit goes on
// with.
func (p *prover[P1, P2, S]) commitment(ctx context.Context, hashed solve.Challenge, out *committed[P1, S]) assignment.Commit[S] {
	return func(in []S) (hash S, err error) {
		i := -1
		if len(in) > 0 {
			i = p.fr.Index(&in[0])
		}
		if i < 0 || i >= len(out.points) {
			return hash, fmt.Errorf("%w: a commitment that the constraint system does not list", backend.ErrInvalidInput)
		}
		info := &p.shape.commitments[i]
		public := len(info.PublicAndCommitmentCommitted)
		if len(in)-1 != public+len(info.PrivateCommitted) {
			return hash, fmt.Errorf("%w: commitment %d of %d values, the constraint system lists %d", backend.ErrInvalidInput,
				i, len(in)-1, public+len(info.PrivateCommitted))
		}
		known := make([]*big.Int, public)
		for k := range known {
			known[k] = p.fr.Big(&in[1+k])
		}
		values := in[1+public:]
		clear(out.values[i]) // when gnark's solver asks again
		out.values[i] = values
		if err := p.sumOf(ctx, &p.commit[i], values, p.scalars, &out.points[i]); err != nil {
			return hash, err
		}
		return p.fr.FromBytes(hashed(constraint.SerializeCommitment(p.g1.Marshal(&out.points[i]), known, p.fr.Bytes), p.fr.Bytes)), nil
	}
}
