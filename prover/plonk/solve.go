package plonk

import (
	"context"

	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/witness"

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
	wires  []S // of the solution
	blinding[S]

	commitments []P
	committed   [][]S // of each commitment: the values of its rows, then a zero; nil until it is made
	hashes      []S

	cfg *gnark.ProverConfig
	mem resident.Memory // has what is secret in it
}

// newStatement draws the random numbers of a statement whose public values are given, and which is to be solved.
// Free its memory, which wipes it.
func (k *key[P, S]) newStatement(public []S, cfg *gnark.ProverConfig) (*statement[P, S], error) {
	n := len(k.info)
	st := &statement[P, S]{public: public, cfg: cfg,
		commitments: make([]P, n), committed: make([][]S, n), hashes: make([]S, n)}
	st.mem.Add(st.blinding.wipe)
	return st, st.draw(k.domain, cfg.StatisticalZK)
}

// state solves for a witness. If another process proves, the wires are solved, or copied, to where it reads them, and
// settled is called as assignment.System.Settled is, when st has them.
func (p *prover[P, S]) state(ctx context.Context, st *statement[P, S], sys solve.System[S], w witness.Witness,
	settled func() (retract func())) error {
	sys.Engine = p.engine
	if resident.Elsewhere(p.engine, p.vectors.Curve()) {
		sys.Lend = resident.NewLoan[S](ctx, &st.mem, p.engine, p.vectors.Curve()).Lend
		sys.Settled = func(wires []S) (retract func()) {
			if len(wires) != p.variables {
				return func() {} // below is an error
			}
			st.wires = wires
			end := settled()
			return func() {
				end()
				st.wires = nil
			}
		}
	}
	solving, end := p.engine.Observe(ctx, engine.Phase{Kind: engine.PhaseSolve})
	sol, err := sys.Run(solving, w, st.cfg.SolverOpts, p.commitment(solving, st))
	if end(err); err != nil {
		return err
	}
	st.mem.Add(func() { sys.Solver.Free(sol) })
	if st.wires == nil {
		st.wires = sol.Wires
	}
	return proving.CheckCounts(proving.Count{What: "variables", Got: p.variables, Want: len(st.wires)})
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
