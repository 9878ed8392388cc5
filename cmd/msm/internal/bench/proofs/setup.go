package proofs

import (
	"context"
	"fmt"
	"runtime"

	"github.com/consensys/gnark-crypto/kzg"
	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/proofsystem"
)

// Setup measures how long the keys of every circuit on every curve take to make on every
// backend. With every key, that of the run to warm up included, gnark proves and verifies
// outside of the time. No key is kept.
type Setup struct {
	Statements
	// Stock times gnark's set-up as well, once.
	Stock bool
}

// Validate refuses an empty or senseless configuration with backend.ErrInvalidInput.
func (c *Setup) Validate() error { return c.validate() }

// Sheet shows gnark's time beside.
func (c *Setup) Sheet() report.Sheet {
	return report.Sheet{
		Note:   "Times are of whole set-ups, from the constraint system to both keys in this process. Checked by proofs with the keys.",
		Before: statementColumns(),
		After:  []report.Column{report.ColumnMillis("gnark ms", 3, report.FigureStock)},
	}
}

func (c *Setup) Measure(ctx context.Context, r *bench.Runner) error {
	if err := r.Start(ctx, nil); err != nil {
		return err
	}
	return c.each(r, func(t *task, able bench.Engines) error { return c.setUp(ctx, r, t, able) })
}

// setUp measures one circuit, with a KZG setup if it needs one.
func (c *Setup) setUp(ctx context.Context, r *bench.Runner, t *task, able bench.Engines) (err error) {
	what := fmt.Sprintf("%s %v", t.Name, t.curve)
	r.Progress.Tell(what+": compiling", 0, 1)
	if t.ccs, err = t.scheme.Compile(t.Circuit); err != nil {
		return err
	}
	var srs proofsystem.SRS
	if t.system == proofsystem.PLONK {
		r.Progress.Tell(what+": making a KZG setup", 0, 1)
		canonical, lagrange, err := knownSRS(t.ccs)
		if err != nil {
			return err
		}
		srs = func(constraint.ConstraintSystem) (kzg.SRS, kzg.SRS, error) { return canonical, lagrange, nil }
	}
	run := t.run("setup")
	if c.Stock {
		r.Progress.Tell(what+": setting up with gnark", 0, 1)
		runtime.GC()
		took, err := bench.Clock(func() error { return t.scheme.NewKeys().SetUp(t.ccs, srs) })()
		if err != nil {
			return fmt.Errorf("gnark: %w", err)
		}
		run.Took(report.FigureStock, took)
	}
	for _, e := range able {
		s := r.Series(e, run, nil)
		s.Once = bench.Clock(func() error {
			t.keys = t.scheme.NewKeys()
			return t.keys.SetUpOn(ctx, e.Engine, t.ccs, srs)
		})
		s.Check = func() (int, error) {
			proof, err := t.keys.ProveByGnark(t.ccs, t.full)
			if err != nil {
				return 0, fmt.Errorf("gnark with the key: %w", err)
			}
			return t.refused(proof), nil
		}
		if err := r.Compare(ctx, r.Trial(fmt.Sprintf("%s: setting up on %s", what, e.Name), s)); err != nil {
			return err
		}
	}
	return nil
}
