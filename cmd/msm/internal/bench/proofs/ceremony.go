package proofs

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/backend/groth16"
	stock "github.com/consensys/gnark/backend/groth16/bn254/mpcsetup"
	cs "github.com/consensys/gnark/constraint/bn254"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	core "github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/circuits"
	"github.com/pippin-zk/pippin/prover/groth16/mpcsetup"
)

// Ceremony measures both phases of a ceremony on BN254, for every size on every backend. gnark
// proves and verifies with the keys of the last run.
type Ceremony struct {
	bench.Common
	Sizes []int // of domains, powers of two
	Stock bool  // time gnark as well, once
}

// Validate refuses an empty or senseless configuration with backend.ErrInvalidInput.
func (c *Ceremony) Validate() error {
	return cmp.Or(c.ValidateCommon(), bench.Powers("constraints", c.Sizes, 8))
}

// Sheet shows gnark's times beside.
func (c *Ceremony) Sheet() report.Sheet {
	return report.Sheet{
		Note: "The time of every part of a ceremony. Checked by a proof of gnark's with the keys of the last.",
		Before: []report.Column{
			report.ColumnInput("phase", 6, report.InputSystem), report.ColumnWhat("part", report.Stays), report.ColumnCurve(5),
			report.ColumnN("domain", 4), report.ColumnBackend(7),
		},
		After: []report.Column{report.ColumnMillis("gnark ms", 3, report.FigureStock)},
	}
}

func (c *Ceremony) Measure(ctx context.Context, r *bench.Runner) error {
	if err := r.Start(ctx, nil); err != nil {
		return err
	}
	able := r.Able(backend.BN254.String(), bench.HasCurve(backend.BN254))
	for _, n := range c.Sizes {
		if len(able) == 0 {
			continue
		}
		w, err := newCeremonyWork(ctx, c, n)
		if err != nil {
			return err
		}
		for _, e := range able {
			if err := w.compare(ctx, r, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// The parts of a ceremony, each a run.
const (
	phase1 = "groth16-phase1"
	phase2 = "groth16-phase2"
)

var ceremonyParts = []struct{ system, name string }{
	{phase1, "contribute"}, {phase1, "read"}, {phase1, "verify"}, {phase1, "seal"},
	{phase2, "initialize"}, {phase2, "contribute"}, {phase2, "verify"}, {phase2, "seal"},
}

// ceremonyWork is a circuit that fills a domain, and how long gnark took.
type ceremonyWork struct {
	*circuits.Statement
	n     int
	r1cs  *cs.R1CS
	stock []time.Duration // of ceremonyParts
}

func newCeremonyWork(ctx context.Context, cfg *Ceremony, n int) (*ceremonyWork, error) {
	cfg.Progress.Tell(fmt.Sprintf("a circuit of %d constraints", n-2), 0, 1)
	s, err := circuits.New(circuits.Squares, backend.BN254, 0, n-2) // sums may have constraints of their own
	if err != nil {
		return nil, err
	}
	ccs, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder, s.Circuit)
	if err != nil {
		return nil, err
	}
	w := &ceremonyWork{Statement: s, n: n, r1cs: ccs.(*cs.R1CS)}
	if !cfg.Stock {
		return w, nil
	}
	stage := fmt.Sprintf("a ceremony of %d constraints by gnark", n)
	for i, part := range w.byGnark() {
		cfg.Progress.Tell(stage, i, len(ceremonyParts))
		runtime.GC()
		took, err := bench.Clock(func() error { return bench.UntilEnded(ctx, part) })()
		if err != nil {
			return nil, fmt.Errorf("gnark: %w", err)
		}
		w.stock = append(w.stock, took)
	}
	return w, nil
}

// byGnark returns the parts of a ceremony by gnark.
func (w *ceremonyWork) byGnark() []func() error {
	before, p, read := stock.NewPhase1(uint64(w.n)), stock.NewPhase1(uint64(w.n)), new(stock.Phase1)
	var commons stock.SrsCommons
	var evaluations stock.Phase2Evaluations
	first, q := new(stock.Phase2), new(stock.Phase2)
	return []func() error{
		func() error { p.Contribute(); return nil },
		func() error {
			var file bytes.Buffer
			if _, err := p.WriteTo(&file); err != nil {
				return err
			}
			_, err := read.ReadFrom(&file)
			return err
		},
		func() error { return before.Verify(read) },
		func() error { commons = read.Seal(nil); return nil },
		func() error {
			evaluations = first.Initialize(w.r1cs, &commons)
			var file bytes.Buffer // a copy, which a contributor has
			if _, err := first.WriteTo(&file); err != nil {
				return err
			}
			_, err := q.ReadFrom(&file)
			return err
		},
		func() error { q.Contribute(); return nil },
		func() error { return first.Verify(q) },
		func() error { q.Seal(&commons, &evaluations, nil); return nil },
	}
}

// on returns the parts of a ceremony on an engine. keys is set by the last.
func (w *ceremonyWork) on(ctx context.Context, e *core.Engine, keys func(groth16.ProvingKey, groth16.VerifyingKey)) []func() error {
	c := mpcsetup.BN254
	before, p := c.NewPhase1(w.n), c.NewPhase1(w.n)
	var read *mpcsetup.BN254Phase1
	var commons *stock.SrsCommons
	var evaluations *stock.Phase2Evaluations
	var first, q *stock.Phase2
	return []func() error{
		func() error { return c.ContributePhase1(ctx, e, p) },
		func() (err error) {
			var file bytes.Buffer
			if _, err := p.WriteTo(&file); err != nil {
				return err
			}
			read, err = c.ReadPhase1(ctx, e, &file)
			return err
		},
		func() error { return c.VerifyPhase1Step(ctx, e, before, read) },
		func() (err error) { commons, err = c.SealPhase1(ctx, e, read, nil); return err },
		func() (err error) {
			if first, evaluations, err = c.InitializePhase2(ctx, e, w.r1cs, commons); err != nil {
				return err
			}
			var file bytes.Buffer
			if _, err := first.WriteTo(&file); err != nil {
				return err
			}
			q, err = c.ReadPhase2(ctx, e, &file)
			return err
		},
		func() error { return c.ContributePhase2(ctx, e, q) },
		func() error { return c.VerifyPhase2Step(ctx, e, first, q) },
		func() error {
			pk, vk, err := c.SealPhase2(ctx, e, q, commons, evaluations, nil)
			keys(pk, vk)
			return err
		},
	}
}

// compare times ceremonies on one backend: its parts are series that take turns.
func (w *ceremonyWork) compare(ctx context.Context, r *bench.Runner, e *bench.Single) error {
	var pk groth16.ProvingKey
	var vk groth16.VerifyingKey
	var parts []func() error
	t := r.Trial(fmt.Sprintf("a ceremony of %d constraints on %s", w.n, e.Name))
	for i, part := range ceremonyParts {
		run := report.Run{Op: "setup", What: part.name, Curve: backend.BN254.String(), N: w.n, Oracle: "gnark's verifier"}
		run.Input(report.InputSystem, part.system)
		if len(w.stock) > 0 {
			run.Took(report.FigureStock, w.stock[i])
		}
		t.Series = append(t.Series, r.Series(e, run, bench.Clock(func() error { return parts[i]() })))
	}
	t.Before = func(bool) error {
		parts = w.on(ctx, e.Engine, func(p groth16.ProvingKey, v groth16.VerifyingKey) { pk, vk = p, v })
		return nil
	}
	t.Check = func() error {
		wrong, err := w.refused(pk, vk)
		for _, s := range t.Series {
			s.Run.Wrong, s.Run.Checked = wrong, wrong == 0
		}
		return err
	}
	return r.Compare(ctx, t)
}

// refused counts a proof with the keys that gnark refuses.
func (w *ceremonyWork) refused(pk groth16.ProvingKey, vk groth16.VerifyingKey) (int, error) {
	full, err := frontend.NewWitness(w.Assignment, ecc.BN254.ScalarField())
	if err != nil {
		return 0, err
	}
	public, err := full.Public()
	if err != nil {
		return 0, err
	}
	proof, err := groth16.Prove(w.r1cs, pk, full)
	if err != nil {
		return 0, fmt.Errorf("gnark with the key: %w", err)
	}
	if groth16.Verify(proof, vk, public) != nil {
		return 1, nil
	}
	return 0, nil
}
