package groth16

import (
	"context"
	"fmt"
	"math/big"

	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend/cs"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/prover/internal/solve"
)

// committed is what a proof says about the values a circuit commits to.
type committed[P1, S any] struct {
	points []P1
	values [][]S // as the keys' bases need them
}

// commitHint is the hint that gnark's frontend leaves for the prover to fill
// in: its inputs are the commitment's number, the public values and earlier
// commitments that are hashed with it, and the values to commit to; its output
// is the hash, a challenge that the circuit goes on with.
func (p *prover[P1, J1, P2, J2, S]) commitHint(ctx context.Context, hashed solve.Challenge, out *committed[P1, S]) solver.Option {
	return solver.OverrideHint(solver.GetHintID(cs.Bsb22CommitmentComputePlaceholder), func(_ *big.Int, in, res []*big.Int) error {
		if len(in) == 0 || !in[0].IsInt64() || in[0].Int64() < 0 || in[0].Int64() >= int64(len(out.points)) || len(res) != 1 {
			return fmt.Errorf("%w: a commitment that the constraint system does not list", backend.ErrInvalidInput)
		}
		i := int(in[0].Int64())
		info := &p.shape.commitments[i]
		public := len(info.PublicAndCommitmentCommitted)
		if len(in)-1 != public+len(info.PrivateCommitted) {
			return fmt.Errorf("%w: commitment %d of %d values, the constraint system lists %d", backend.ErrInvalidInput,
				i, len(in)-1, public+len(info.PrivateCommitted))
		}
		known, secret := in[1:1+public], in[1+public:]
		values := make([]S, len(secret))
		p.fr.FromBigInto(values, secret)
		out.values[i] = values
		if err := p.sumOf(ctx, &p.commit[i], values, p.scalars, &out.points[i]); err != nil {
			return err
		}
		s := p.fr.FromBytes(hashed(constraint.SerializeCommitment(p.g1.Marshal(&out.points[i]), known, p.fr.Bytes), p.fr.Bytes))
		res[0].Set(p.fr.Big(&s))
		return nil
	})
}
