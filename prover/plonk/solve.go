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
	"github.com/pippin-zk/pippin/prover/internal/resident"
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

	commitments []P
	committed   [][]S // of each commitment: the values of its rows, then a zero
	hashes      []S

	cfg *gnark.ProverConfig
	mem resident.Memory // has what is secret in it
}

// newStatement returns a statement without a solution. Free its memory, which wipes it.
func (k *key[P, S]) newStatement(cfg *gnark.ProverConfig) *statement[P, S] {
	n := len(k.info)
	st := &statement[P, S]{cfg: cfg, commitments: make([]P, n), committed: make([][]S, n), hashes: make([]S, n)}
	st.mem.Add(st.blinding.wipe)
	return st
}

// state solves for a witness and draws the random numbers.
func (p *prover[P, S]) state(ctx context.Context, st *statement[P, S], sys solve.System[S], w witness.Witness, values []S) error {
	sys.Engine = p.engine
	if resident.Elsewhere(p.engine, p.vectors.Curve()) {
		loan := resident.NewLoan[S](ctx, &st.mem, p.engine, p.vectors.Curve())
		sys.Lend = func(_, sides int) (w, s []S) { return loan.Lend(0, sides) } // the backend needs no wires
	}
	solving, end := p.engine.Observe(ctx, engine.Phase{Kind: engine.PhaseSolve})
	sol, err := sys.Run(solving, w, st.cfg.SolverOpts, p.commitment(solving, st))
	if end(err); err != nil {
		return err
	}
	st.mem.Add(func() {
		if sol.Lent {
			merge.Wipe(sol.Wires)
		} else {
			merge.Wipe(append(sol.Sides[:], sol.Wires)...)
		}
		sys.Solver.Free(sol)
	})
	st.wires = sol.Sides
	st.public = values[:p.public] // the solver has seen that there are enough
	for _, v := range st.wires {
		if err := proving.CheckCounts(proving.Count{What: "rows", Got: p.n, Want: len(v)}); err != nil {
			return err
		}
	}
	for i, v := range st.committed {
		if v == nil {
			return fmt.Errorf("%w: the circuit never made its commitment %d", backend.ErrInvalidInput, i)
		}
	}
	return st.draw(p.domain, st.cfg.StatisticalZK)
}

// commitment returns what a circuit's commitments call. The inputs are the commitment's
// number and the values to commit to. The output is the hash, a challenge with which the
// circuit goes on.
//
// Behind the values that it commits to come random ones that hide them, and a zero for all other rows.
func (p *prover[P, S]) commitment(ctx context.Context, st *statement[P, S]) assignment.Commit[S] {
	hashed := proving.Challenge(st.cfg, p.fr, dst)
	count := func(i int) int { return len(p.info[i].Committed) }
	return func(in []S) (hash S, err error) {
		defer clear(in)
		i, committed, err := proving.Commitment(p.fr, in, len(p.info), count)
		if err != nil {
			return hash, err
		}
		rows := p.committing[i].Len()
		// When gnark's solver asks again, what ours asked with stays until the end.
		values := resident.Scalars(ctx, &st.mem, p.engine, p.g1, rows+1)
		st.committed[i] = values
		if err := merge.Until(ctx, len(committed), 1<<14, func(lo, hi int) { copy(values[lo:hi], committed[lo:hi]) }); err != nil {
			return hash, err
		}
		for _, k := range [...]int{len(committed), rows - 1} { // as gnark draws them, twice if it is one row
			if err := p.fr.Random(values[k : k+1]); err != nil {
				return hash, err
			}
		}
		sum, err := p.committing[i].Sum(ctx, values[:rows])
		if err != nil {
			return hash, err
		}
		st.commitments[i] = sum
		st.hashes[i] = p.fr.FromBytes(hashed(p.g1.Marshal(&sum), p.fr.Bytes))
		return st.hashes[i], nil
	}
}
