package plonk

import (
	"context"
	"fmt"

	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/witness"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/merge"
	"github.com/pippin-zk/pippin/prover/internal/proving"
	"github.com/pippin-zk/pippin/prover/internal/solve"
)

// dst is the domain separator of the hash of commitments.
const dst = "BSB22-Plonk"

// statement is what a proof is made from beside the key: the solution, and random numbers.
// All of it is secret but public and the commitments.
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

// wipe clears what is secret in a statement, and gives the solution's memory back to the solver.
func (k *key[P, S]) wipe(st *statement[P, S]) {
	for i := range st.committed {
		k.wipeCommitted(st, i)
	}
	st.blinding.wipe()
	if st.solution == nil {
		return
	}
	merge.Wipe(append(st.wires[:], st.solution.Wires)...)
	st.free()
	st.solution = nil
}

// wipeCommitted clears the rows of a commitment that have values. The other rows' memory may never
// have been touched: to clear all of it took 8 ms for 2^22 rows.
func (k *key[P, S]) wipeCommitted(st *statement[P, S], i int) {
	values := st.committed[i]
	if values == nil {
		return
	}
	var zero S
	for _, row := range k.info[i].Committed {
		values[k.public+row] = zero
	}
	for _, row := range k.hiding(i) {
		values[k.public+row] = zero
	}
}

// hiding returns the rows whose values hide those that a commitment is to. No constraint reads them.
func (k *key[P, S]) hiding(i int) [2]int { return [2]int{k.info[i].CommitmentIndex, k.constraints - 1} }

// state solves for a witness and draws the random numbers. The caller wipes the
// statement, also when there is an error.
func (p *prover[P, S]) state(ctx context.Context, sys solve.System[S], w witness.Witness, values []S,
	cfg *gnark.ProverConfig) (*statement[P, S], error) {
	n := len(p.info)
	st := &statement[P, S]{
		cfg:         cfg,
		commitments: make([]P, n), committed: make([][]S, n), hashes: make([]S, n),
	}
	sys.Engine = p.engine
	solving, end := p.engine.Observe(ctx, engine.Phase{Kind: engine.PhaseSolve})
	sol, err := sys.Run(solving, w, cfg.SolverOpts, p.commitment(solving, st))
	if end(err); err != nil {
		return st, err
	}
	st.wires, st.solution = sol.Sides, sol
	st.free = func() { sys.Solver.Free(sol) }
	st.public = values[:p.public] // the solver has seen that there are enough
	for _, v := range st.wires {
		if err := proving.CheckCounts(proving.Count{What: "rows", Got: p.n, Want: len(v)}); err != nil {
			return st, err
		}
	}
	for i, v := range st.committed {
		if v == nil {
			return st, fmt.Errorf("%w: the circuit never made its commitment %d", backend.ErrInvalidInput, i)
		}
	}
	return st, st.draw(p.domain, cfg.StatisticalZK)
}

// commitment returns what a circuit's commitments call. The inputs are the commitment's
// number and the values to commit to. The output is the hash, a challenge with which the
// circuit goes on.
//
// The values stand in their rows. Two rows get random values.
func (p *prover[P, S]) commitment(ctx context.Context, st *statement[P, S]) assignment.Commit[S] {
	hashed := proving.Challenge(st.cfg, p.fr, dst)
	count := func(i int) int { return len(p.info[i].Committed) }
	return func(in []S) (hash S, err error) {
		defer clear(in)
		i, committed, err := proving.Commitment(p.fr, in, len(p.info), count)
		if err != nil {
			return hash, err
		}
		info := &p.info[i]
		p.wipeCommitted(st, i) // when gnark's solver asks again
		values := make([]S, p.n)
		st.committed[i] = values
		for k, row := range info.Committed {
			values[p.public+row] = committed[k]
		}
		for _, row := range p.hiding(i) {
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
