package worker

import (
	"context"
	"time"

	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/engine"
)

// Provers returns an Opener for the provers of this module on an engine: gnark's proof systems, and
// circom's circuits. The caller still owns the engine. The hints of gnark's library are known. A program
// whose circuits have other hints registers them (solver.RegisterHint) and runs the worker itself.
//
// If proofs take longer than Config.Stall, give the engine the observer that Observe returns, so
// that its phases count as progress.
func Provers(e *engine.Engine) Opener {
	return func(ctx context.Context, w cluster.Work, f Files) (Prover, error) {
		if w.System == cluster.Circom {
			return openCircom(ctx, e, w, f)
		}
		return openGnark(ctx, e, w, f)
	}
}

// Observe returns an observer for engine.Config.Observer. It counts the phases of the engine as
// progress of their jobs, and charges jobs with the time that backends compute for them.
func Observe() engine.Observer { return observer{} }

type observer struct{}

func (observer) Begin(ctx context.Context, p engine.Phase) (context.Context, func(error)) {
	Progress(ctx)
	began := time.Now()
	return ctx, func(error) {
		Progress(ctx)
		if p.Kind == engine.PhaseMSM || p.Kind == engine.PhaseProgram {
			charge(ctx, time.Since(began))
		}
	}
}
