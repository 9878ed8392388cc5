package plonk

import (
	"context"
	"fmt"
	"sync"

	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/witness"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/merge"
	"github.com/pippin-zk/pippin/prover/internal/solve"
)

// dst separates the hash of commitments.
const dst = "BSB22-Plonk"

// statement is all that a proof is made from but the key: what was solved, and what
// was drawn. It is secret but for public and the commitments.
type statement[P any, S comparable] struct {
	public []S
	wires  [3][]S // L, R and O, n values each
	blinding[S]

	solution *assignment.Solution[S] // which has the wires' memory
	free     func()                  // for the solver to use it again

	commitments []P
	committed   [][]S // n values each
	hashes      []S

	cfg *gnark.ProverConfig
}

func (st *statement[P, S]) wipe() {
	for _, v := range st.committed {
		clear(v)
	}
	st.blinding.wipe()
	if st.solution == nil {
		return
	}
	for _, v := range append(st.wires[:], st.solution.Wires) {
		merge.Wipe(v)
	}
	st.free()
	st.solution = nil
}

// state solves for a witness, and draws. The caller wipes the statement, also when
// there is an error.
func (p *prover[P, S]) state(ctx context.Context, sys solve.System[S], w witness.Witness, values []S, cfg *gnark.ProverConfig) (*statement[P, S], error) {
	n := len(p.info)
	st := &statement[P, S]{
		cfg:         cfg,
		commitments: make([]P, n), committed: make([][]S, n), hashes: make([]S, n),
	}
	solving, end := p.engine.Observe(ctx, engine.Phase{Kind: engine.PhaseSolve})
	sol, err := sys.Run(solving, w, cfg.SolverOpts, p.commitment(solving, st))
	if end(err); err != nil {
		return st, err
	}
	st.wires, st.solution = sol.Sides, sol
	st.free = func() { sys.Solver.Free(sol) }
	st.public = values[:p.public] // the solver has seen that there are enough
	for _, v := range st.wires {
		if len(v) != p.n {
			return st, errShape("rows", p.n, len(v))
		}
	}
	for i, v := range st.committed {
		if v == nil {
			return st, fmt.Errorf("%w: the circuit never made its commitment %d", backend.ErrInvalidInput, i)
		}
	}
	return st, st.draw(p.domain, cfg.StatisticalZK)
}

// commitment is what a circuit's commitments call: its inputs are the commitment's
// number and the values to commit to; its output is the hash, a challenge that the
// circuit goes on with.
//
// The values stand in their rows; two rows that no constraint reads them from get
// random values, which hide the others.
func (p *prover[P, S]) commitment(ctx context.Context, st *statement[P, S]) assignment.Commit[S] {
	hashed := solve.ChallengeBy(st.cfg.HashToFieldFn, &solve.Hashing)
	if st.cfg.HashToFieldFn == nil {
		hashed = solve.ChallengeBy(p.fr.HashToField([]byte(dst)), new(sync.Mutex))
	}
	return func(in []S) (hash S, err error) {
		defer clear(in)
		i := -1
		if len(in) > 0 {
			i = p.fr.Index(&in[0])
		}
		if i < 0 || i >= len(p.info) {
			return hash, fmt.Errorf("%w: a commitment that the constraint system does not list", backend.ErrInvalidInput)
		}
		info := &p.info[i]
		if len(in)-1 != len(info.Committed) {
			return hash, fmt.Errorf("%w: commitment %d of %d values, the constraint system lists %d", backend.ErrInvalidInput, i, len(in)-1, len(info.Committed))
		}
		clear(st.committed[i]) // when gnark's solver asks again
		values := make([]S, p.n)
		st.committed[i] = values
		for k, row := range info.Committed {
			values[p.public+row] = in[1+k]
		}
		for _, row := range []int{info.CommitmentIndex, p.constraints - 1} {
			if err := p.fr.Random(values[p.public+row : p.public+row+1]); err != nil {
				return hash, err
			}
		}
		sum, err := p.lagrange.Sum(ctx, values[:p.used()])
		if err != nil {
			return hash, err
		}
		st.commitments[i] = sum
		st.hashes[i] = p.fr.FromBytes(hashed(p.g1.Marshal(&sum), p.fr.Bytes))
		return st.hashes[i], nil
	}
}
