package groth16_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/internal/samples"
)

// squares squares a value again and again.
type squares struct {
	steps int
	X     frontend.Variable
	Not   frontend.Variable `gnark:",public"`
}

func (c *squares) Define(api frontend.API) error {
	x := c.X
	for range c.steps {
		x = api.Mul(x, x)
	}
	api.AssertIsDifferent(x, c.Not)
	return nil
}

// aroundSolving calls before and f, if they are not nil, when a constraint system begins to be solved and when it has
// been.
type aroundSolving struct{ before, f func() }

func (a *aroundSolving) Begin(ctx context.Context, p engine.Phase) (context.Context, func(error)) {
	call := func(f func()) {
		if p.Kind == engine.PhaseSolve && f != nil {
			f()
		}
	}
	call(a.before)
	return ctx, func(error) { call(a.f) }
}

// TestCancelledProofWentOn: a cancelled proof computed all transforms, 1.2 of 1.3 s at a million
// constraints. The test cancels a proof in the middle of them, and counts the processors' time
// until it returns, because the clock says little on a busy machine. The key's points are equal, so
// that MSMs take no time.
func TestCancelledProofWentOn(t *testing.T) {
	if samples.CPUTime() == 0 {
		t.Skip("the system does not tell the process's time")
	}
	const steps = 1<<18 - 10
	ccs, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder, &squares{steps: steps})
	if err != nil {
		t.Fatal(err)
	}
	pk, err := groth16.DummySetup(ccs)
	if err != nil {
		t.Fatal(err)
	}
	w, err := frontend.NewWitness(&squares{X: 1, Not: 0}, ecc.BN254.ScalarField())
	if err != nil {
		t.Fatal(err)
	}
	solved := new(aroundSolving)
	p, err := groth16.NewProver(newEngine(t, engine.Config{Backend: "cpu", Observer: solved}), ccs, pk)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var began time.Duration
	prove := func(ctx context.Context) time.Duration {
		if _, err := p.Prove(ctx, w); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		return samples.CPUTime()
	}
	solved.f = func() { began = samples.CPUTime() }
	prove(t.Context()) // makes tables
	all := prove(t.Context()) - began
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		var cancelled time.Duration // 0 if the proof was complete before
		told := make(chan struct{})
		solved.f = func() {
			began = samples.CPUTime()
			go func() {
				defer close(told)
				for ctx.Err() == nil {
					if now := samples.CPUTime(); now >= began+all/3 {
						cancelled = now
						cancel()
					}
					time.Sleep(time.Millisecond)
				}
			}()
		}
		ended := prove(ctx)
		cancel()
		if <-told; cancelled == 0 || ended < cancelled {
			continue
		}
		if after := ended - cancelled; after > all/4 {
			t.Errorf("%v of %v came after the context had ended", after, all)
		}
		return
	}
	t.Skip("the machine is too busy to cancel in time")
}
