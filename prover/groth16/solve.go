package groth16

import (
	"context"
	"fmt"
	"hash"
	"math/big"
	"slices"
	"sync"

	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend/cs"
	"golang.org/x/sync/semaphore"

	"github.com/pippin-zk/pippin/backend"
)

// turn serialises the solvers of all circuits with GKR: a constraint system
// may serve several Provers.
var turn = semaphore.NewWeighted(1)

// run solves for one witness, and leaves the system alone so that others may
// solve it at the same time. gnark's solver keeps no state in a system, except
// in blueprints that are constraint.BlueprintStateful: two solvers at once would
// see each other's values there. Lookup tables, which nearly every such circuit
// has, are blueprints that can be copied, so that each solver gets its own. For
// any other stateful blueprint (GKR) solvers take turns; only that wait ends
// with the context.
func (s system[S]) run(ctx context.Context, w witness.Witness, opts []solver.Option) (*solution[S], error) {
	own, turns := s.blueprints, false
	for i, b := range s.blueprints {
		switch b := b.(type) {
		case *constraint.BlueprintLookupHint[constraint.U64]:
			if &own[0] == &s.blueprints[0] {
				own = slices.Clone(own)
			}
			// The entries are what solving needs; the rest of the type's state
			// is the solver's own, or was needed for compiling.
			own[i] = &constraint.BlueprintLookupHint[constraint.U64]{EntriesCalldata: b.EntriesCalldata}
		case constraint.BlueprintStateful[constraint.U64]:
			turns = true
		}
	}
	if turns {
		if err := turn.Acquire(ctx, 1); err != nil {
			return nil, err
		}
		defer turn.Release(1)
	}
	return s.with(own).solve(w, opts...)
}

// committed is what a proof says about the values a circuit commits to.
type committed[P1, S any] struct {
	points []P1
	values [][]S // as the keys' bases need them
}

// challenge hashes what b encodes to a scalar, encoded in at most size bytes.
// It is safe for concurrent use.
type challenge func(b []byte, size int) []byte

// challengeBy is a challenge by a hash function, which others may use too when
// they hold the lock.
func challengeBy(h hash.Hash, lock sync.Locker) challenge {
	return func(b []byte, size int) []byte {
		lock.Lock()
		defer lock.Unlock()
		h.Write(b) // never fails, says hash.Hash
		sum := h.Sum(nil)
		h.Reset()
		return sum[:min(size, h.Size())]
	}
}

// commitHint is the hint that gnark's frontend leaves for the prover to fill
// in: its inputs are the commitment's number, the public values and earlier
// commitments that are hashed with it, and the values to commit to; its output
// is the hash, a challenge that the circuit goes on with.
func (p *prover[P1, J1, P2, J2, S]) commitHint(ctx context.Context, hashed challenge, out *committed[P1, S]) solver.Option {
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
