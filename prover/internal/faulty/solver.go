package faulty

import (
	"context"

	"github.com/consensys/gnark/constraint/solver"

	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/merge"
	"github.com/pippin-zk/pippin/prover/internal/solve"
)

// Settled returns a system that own solves, which waits for f when all wires have values, and ends with err, if that is
// not nil, as if the solver had failed then.
func Settled[S any](sys solve.System[S], own *assignment.Solver[S], f func(), err error) solve.System[S] {
	run := own.Solve
	own.Solve = func(ctx context.Context, sys assignment.System[S], inputs []S, cfg solver.Config,
		commit assignment.Commit[S]) (*assignment.Solution[S], error) {
		settled, retract := sys.Settled, func() {}
		sys.Settled = func(wires []S) func() {
			retract = settled(wires)
			f()
			return retract
		}
		sol, failed := run(ctx, sys, inputs, cfg, commit)
		if failed != nil || err == nil {
			return sol, failed
		}
		retract()
		merge.Wipe(append(sol.Sides[:], sol.Wires)...)
		own.Free(sol)
		return nil, err
	}
	sys.Solver = own
	return sys
}
