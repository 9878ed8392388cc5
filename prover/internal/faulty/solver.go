package faulty

import (
	"context"

	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/constraint/solver"

	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/solve"
)

// Settled has a curve's systems solved by own, which waits for f when all wires have values, and ends with err, if that
// is not nil, as if it had failed then, until restore is called.
func Settled[S any](system *func(constraint.ConstraintSystem) (solve.System[S], bool), own *assignment.Solver[S],
	f func(), err error) (restore func()) {
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
		own.Free(sol)
		return nil, err
	}
	was := *system
	*system = func(ccs constraint.ConstraintSystem) (solve.System[S], bool) {
		sys, ok := was(ccs)
		sys.Solver = own
		return sys, ok
	}
	return func() { *system = was }
}
