package groth16

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"sync"

	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend/cs"

	"github.com/pippin-zk/pippin/backend"
)

// safeSolver solves one constraint system for several witnesses at once.
// gnark's solver keeps no state in a system, except in blueprints that are
// constraint.BlueprintStateful: two solvers at once would see each other's
// values there. Lookup tables, which nearly every such circuit has, are
// blueprints that can be copied, so that each solver gets its own. For any
// other stateful blueprint (GKR) solvers of this Prover take turns.
type safeSolver[S any] struct {
	system[S]
	tables []int // places of lookup tables among the blueprints
	turn   *sync.Mutex
}

// turns serialises the solvers of all circuits with GKR: a constraint system
// may serve several Provers.
var turns sync.Mutex

func newSafeSolver[S any](sys system[S]) *safeSolver[S] {
	s := &safeSolver[S]{system: sys}
	for i, b := range sys.blueprints {
		switch b.(type) {
		case *constraint.BlueprintLookupHint[constraint.U64]:
			s.tables = append(s.tables, i)
		case constraint.BlueprintStateful[constraint.U64]:
			s.turn = &turns
		}
	}
	return s
}

// run solves for one witness.
func (s *safeSolver[S]) run(w witness.Witness, opts []solver.Option) (*solution[S], error) {
	if s.turn != nil {
		s.turn.Lock()
		defer s.turn.Unlock()
	}
	if len(s.tables) == 0 {
		return s.solve(w, opts...)
	}
	own := slices.Clone(s.blueprints)
	for _, i := range s.tables {
		// The entries are what solving needs; the rest of the type's state
		// is the solver's own, or was needed for compiling.
		t := s.blueprints[i].(*constraint.BlueprintLookupHint[constraint.U64])
		own[i] = &constraint.BlueprintLookupHint[constraint.U64]{EntriesCalldata: t.EntriesCalldata}
	}
	return s.with(own).solve(w, opts...)
}

// committed is what a proof says about the values a circuit commits to.
type committed[P1, S any] struct {
	points []P1
	values [][]S // as the keys' bases need them
}

// hasher is a hash function that the user gave, or one of our own.
type hasher struct {
	mu *sync.Mutex
	gnark.ProverConfig
}

// commitHint is the hint that gnark's frontend leaves for the prover to fill
// in: its inputs are the commitment's number, the public values and earlier
// commitments that are hashed with it, and the values to commit to; its output
// is the hash, a challenge that the circuit goes on with.
func (p *prover[P1, J1, P2, J2, S]) commitHint(ctx context.Context, cfg *hasher, out *committed[P1, S]) solver.Option {
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
		hashed, secret := in[1:1+public], in[1+public:]
		values := make([]S, len(secret))
		p.fr.FromBigInto(values, secret)
		out.values[i] = values
		if err := p.sumOf(ctx, &p.commit[i], values, p.scalars, &out.points[i]); err != nil {
			return err
		}
		challenge := cfg.challenge(constraint.SerializeCommitment(p.g1.Marshal(&out.points[i]), hashed, p.fr.Bytes), p.fr.Bytes)
		s := p.fr.FromBytes(challenge)
		res[0].Set(p.fr.Big(s))
		return nil
	})
}

// challenge is the hash of b, at most size bytes of it.
func (h *hasher) challenge(b []byte, size int) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.HashToFieldFn.Write(b) // never fails, says hash.Hash
	sum := h.HashToFieldFn.Sum(nil)
	h.HashToFieldFn.Reset()
	return sum[:min(size, h.HashToFieldFn.Size())]
}
