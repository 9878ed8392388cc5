package plonk

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"sync"

	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend/cs"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/msm"
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

	commitments []P
	committed   [][]S // n values each
	hashes      []S

	cfg *gnark.ProverConfig
}

func (st *statement[P, S]) wipe() {
	for _, v := range append(st.wires[:], st.committed...) {
		clear(v[:cap(v)])
	}
	st.blinding.wipe()
}

// state solves for a witness, and draws. The caller wipes the statement, also when
// there is an error.
func (p *prover[P, J, S]) state(ctx context.Context, sys solve.System[[3][]S], w witness.Witness, values []S, cfg *gnark.ProverConfig) (*statement[P, S], error) {
	n := len(p.info)
	st := &statement[P, S]{
		cfg:         cfg,
		commitments: make([]P, n), committed: make([][]S, n), hashes: make([]S, n),
	}
	solving, end := p.engine.Observe(ctx, msm.Phase{Kind: msm.PhaseSolve})
	var err error
	st.wires, err = sys.Run(solving, w, append(slices.Clone(cfg.SolverOpts), p.commitHint(solving, st)))
	if end(err); err != nil {
		return st, err
	}
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

// commitHint is the hint that gnark's frontend leaves for the prover to fill in: its
// inputs are the commitment's number and the values to commit to; its output is the
// hash, a challenge that the circuit goes on with.
//
// The values stand in their rows; two rows that no constraint reads them from get
// random values, which hide the others.
func (p *prover[P, J, S]) commitHint(ctx context.Context, st *statement[P, S]) solver.Option {
	hashed := solve.ChallengeBy(st.cfg.HashToFieldFn, &solve.Hashing)
	if st.cfg.HashToFieldFn == nil {
		hashed = solve.ChallengeBy(p.fr.HashToField([]byte(dst)), new(sync.Mutex))
	}
	return solver.OverrideHint(solver.GetHintID(cs.Bsb22CommitmentComputePlaceholder), func(_ *big.Int, in, res []*big.Int) error {
		if len(in) == 0 || !in[0].IsInt64() || in[0].Int64() < 0 || in[0].Int64() >= int64(len(p.info)) || len(res) != 1 {
			return fmt.Errorf("%w: a commitment that the constraint system does not list", backend.ErrInvalidInput)
		}
		i := int(in[0].Int64())
		info := &p.info[i]
		if len(in)-1 != len(info.Committed) {
			return fmt.Errorf("%w: commitment %d of %d values, the constraint system lists %d", backend.ErrInvalidInput, i, len(in)-1, len(info.Committed))
		}
		secret := make([]S, len(in)-1)
		defer clear(secret)
		p.fr.FromBigInto(secret, in[1:])
		values := make([]S, p.n)
		st.committed[i] = values
		for k, row := range info.Committed {
			values[p.public+row] = secret[k]
		}
		for _, row := range []int{info.CommitmentIndex, p.constraints - 1} {
			if err := p.fr.Random(values[p.public+row : p.public+row+1]); err != nil {
				return err
			}
		}
		sum, err := p.lagrange.Sum(ctx, values[:p.used()])
		if err != nil {
			return err
		}
		st.commitments[i] = sum
		st.hashes[i] = p.fr.FromBytes(hashed(p.g1.Marshal(&sum), p.fr.Bytes))
		res[0].Set(p.fr.Big(&st.hashes[i]))
		return nil
	})
}
