package proofs

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/frontend"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/circuits"
	"github.com/pippin-zk/pippin/internal/proofsystem"
)

// Statements says which circuits are proved, on which curves, by which proof system, and where
// their keys come from.
type Statements struct {
	bench.Common
	// System is Groth16 when it is empty.
	System proofsystem.System
	// Circuits are names out of circuits.Names().
	Circuits []string
	// Curves are those that the circuits are compiled for. Without any, each circuit has
	// one: BN254, or the only one that it can be compiled for.
	Curves []backend.Curve
	// Hashes is the length of the circuit mimc, Squares the constraints of the circuit
	// squares.
	Hashes, Squares int

	// OwnSetup makes keys that are not kept yet on the first backend, in place of by
	// gnark.
	OwnSetup bool
	// NoKeep leaves keys that are set up in memory, else CacheDir has them: setting one up can
	// take minutes.
	NoKeep bool
}

// validate refuses an empty or senseless configuration with backend.ErrInvalidInput.
func (c *Statements) validate() error {
	if err := cmp.Or(c.Common.ValidateCommon(), bench.Some("circuits", c.Circuits)); err != nil {
		return err
	}
	if _, err := proofsystem.Parse(string(c.system())); err != nil {
		return err
	}
	for _, name := range c.Circuits {
		if _, err := circuits.Parse(name); err != nil {
			return err
		}
		if name == circuits.MiMC && c.Hashes < 1 {
			return bench.Refused("a chain of %d hashes", c.Hashes)
		}
		if name == circuits.Squares && (c.Squares < 2 || c.Squares > circuits.MostSquares) {
			return bench.Refused("%d squares, from 2 to %d are possible", c.Squares, circuits.MostSquares)
		}
	}
	return nil
}

// validateKept does what validate does, for who keeps keys.
func (c *Statements) validateKept() error {
	if c.CacheDir == "" && !c.NoKeep {
		return bench.Refused("bench needs a folder for keys")
	}
	return c.validate()
}

func (c *Statements) system() proofsystem.System { return cmp.Or(c.System, proofsystem.Groth16) }

// curvesOf returns the curves that a circuit is compiled for.
func (c *Statements) curvesOf(circuit string) []backend.Curve {
	if len(c.Curves) > 0 {
		return c.Curves
	}
	return circuits.CurvesOf(circuit)
}

// each calls f with every circuit on every curve, and the engines that have the curve.
func (c *Statements) each(r *bench.Runner, f func(*task, bench.Engines) error) error {
	for _, name := range c.Circuits {
		for _, curve := range c.curvesOf(name) {
			s, err := circuits.New(name, curve, c.Hashes, c.Squares)
			if errors.Is(err, backend.ErrUnsupported) {
				c.Notef("left out: %v", err)
				continue
			}
			var t *task
			if err == nil {
				t, err = newTask(c, s, curve)
			}
			if err == nil {
				if able := r.Able(curve.String(), bench.HasCurve(curve)); len(able) > 0 {
					err = f(t, able)
				}
			}
			if err != nil {
				return fmt.Errorf("circuit %s on %v: %w", name, curve, err)
			}
		}
	}
	return nil
}

// task is a circuit on one curve, with a witness.
type task struct {
	*circuits.Statement
	curve        backend.Curve
	system       proofsystem.System
	scheme       proofsystem.Scheme
	ccs          constraint.ConstraintSystem // when it is compiled or read
	keys         proofsystem.Keys            // that verify
	full, public witness.Witness
}

func newTask(c *Statements, s *circuits.Statement, curve backend.Curve) (t *task, err error) {
	t = &task{Statement: s, curve: curve, system: c.system()}
	if t.scheme, err = t.system.On(curve); err != nil {
		return nil, err
	}
	if t.full, err = frontend.NewWitness(s.Assignment, curve.ScalarField()); err != nil {
		return nil, err
	}
	t.public, err = t.full.Public()
	return t, err
}

// readKey gives the task its key: the one that is kept, or one that is made by the first of
// the engines or by gnark.
func (c *Statements) readKey(ctx context.Context, t *task, able bench.Engines) (*key, error) {
	var maker *engine.Engine
	if c.OwnSetup {
		maker = able[0].Engine
	}
	k, err := keyFor(ctx, c, t.Statement, t.curve, maker)
	if err == nil {
		t.ccs, t.keys = k.ccs, k.Keys
	}
	return k, err
}

// run returns what a record has of every measurement of the task.
func (t *task) run(op string) report.Run {
	run := report.Run{Op: op, What: t.Name, Curve: t.curve.String(), Oracle: "gnark's verifier"}
	if op != string(t.system) {
		run.Input(report.InputSystem, string(t.system))
	}
	run.Figure(report.FigureConstraints, "", float64(t.ccs.GetNbConstraints()))
	return run
}

// refused counts the proofs that gnark refuses.
func (t *task) refused(proofs ...proofsystem.Proof) (n int) {
	for _, p := range proofs {
		if t.keys.Verify(p, t.public) != nil {
			n++
		}
	}
	return n
}

// statementColumns returns the columns of what is proved.
func statementColumns() []report.Column {
	return []report.Column{
		report.Text("system", 6, func(r *report.Run) string { return cmp.Or(r.Inputs[report.InputSystem], r.Op) }),
		report.ColumnWhat("circuit", report.Stays), report.ColumnCurve(7),
		report.ColumnFigure("constraints", 4, report.FigureConstraints, "%.0f"),
		report.ColumnBackend(8),
	}
}
