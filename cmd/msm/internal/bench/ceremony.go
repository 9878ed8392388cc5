package bench

import (
	"bytes"
	"context"
	"errors"
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
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	core "github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/circuits"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/prover/groth16/mpcsetup"
)

// CeremonyConfig says what Ceremony measures: both phases of a ceremony on BN254, for every
// size on every backend.
type CeremonyConfig struct {
	Open     core.Opener
	Backends []string
	Sizes    []int // of domains, powers of two
	Count    int   // timed runs, after one that is not
	Stock    bool  // time gnark as well, once

	Progress Progress
	Note     func(string)
}

// Validate refuses an empty or senseless configuration with backend.ErrInvalidInput.
func (c *CeremonyConfig) Validate() error {
	if c.Open == nil || len(c.Backends) == 0 || len(c.Sizes) == 0 || c.Count < 1 {
		return fmt.Errorf("%w: nothing to measure: backends, sizes and a count must be given", backend.ErrInvalidInput)
	}
	for _, n := range c.Sizes {
		if n < 8 || n&(n-1) != 0 {
			return fmt.Errorf("%w: a domain of %d, a power of two from 8 on is wanted", backend.ErrInvalidInput, n)
		}
	}
	return nil
}

// Ceremony measures what cfg says, and answers as Setup does. gnark proves and verifies
// with the keys of the last run.
func Ceremony(ctx context.Context, cfg CeremonyConfig) (runs []report.SetupRun, infos []record.BackendInfo, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	all, err := openEngines(ctx, cfg.Open, cfg.Backends, cfg.Note, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, all.close()) }()
	infos = all.describe()
	for _, n := range cfg.Sizes {
		w, err := newCeremonyWork(ctx, &cfg, n)
		if err != nil {
			return runs, infos, err
		}
		for _, e := range all.with(backend.BN254, cfg.Note) {
			done, err := w.measure(ctx, &cfg, e)
			runs = append(runs, done...)
			if err != nil {
				return runs, infos, fmt.Errorf("backend %s: %w", e.name, err)
			}
		}
	}
	if len(runs) == 0 {
		return nil, infos, fmt.Errorf("%w: no backend has programs over points of BN254", backend.ErrUnsupported)
	}
	return runs, infos, nil
}

// The parts of a ceremony, each a run of its own.
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

// stopwatch notes how long the parts of a ceremony take, one after the other.
type stopwatch struct{ took []time.Duration }

func (s *stopwatch) time(f func() error) error {
	runtime.GC()
	start := time.Now()
	err := f()
	s.took = append(s.took, time.Since(start))
	return err
}

func newCeremonyWork(ctx context.Context, cfg *CeremonyConfig, n int) (*ceremonyWork, error) {
	cfg.Progress.tell(fmt.Sprintf("a circuit of %d constraints", n-2), 0, 1)
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
	var watch stopwatch
	stage := fmt.Sprintf("a ceremony of %d constraints by gnark", n)
	for i, part := range w.byGnark() {
		cfg.Progress.tell(stage, i, len(ceremonyParts))
		if err := watch.time(func() error { return untilEnded(ctx, part) }); err != nil {
			return nil, fmt.Errorf("gnark: %w", err)
		}
	}
	w.stock = watch.took
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

// measure times ceremonies on one backend.
func (w *ceremonyWork) measure(ctx context.Context, cfg *CeremonyConfig, e *single) ([]report.SetupRun, error) {
	samples := make([][]time.Duration, len(ceremonyParts))
	stage := fmt.Sprintf("a ceremony of %d constraints on %s", w.n, e.name)
	var pk groth16.ProvingKey
	var vk groth16.VerifyingKey
	for round := range cfg.Count + 1 {
		var watch stopwatch
		for i, part := range w.on(ctx, e.Engine, func(p groth16.ProvingKey, v groth16.VerifyingKey) { pk, vk = p, v }) {
			cfg.Progress.tell(stage, round*len(ceremonyParts)+i, (cfg.Count+1)*len(ceremonyParts))
			if err := watch.time(part); err != nil {
				return nil, fmt.Errorf("%s, %s: %w", ceremonyParts[i].system, ceremonyParts[i].name, err)
			}
		}
		if round == 0 {
			continue
		}
		for i, took := range watch.took {
			samples[i] = append(samples[i], took)
		}
	}
	full, err := frontend.NewWitness(w.Assignment, ecc.BN254.ScalarField())
	if err != nil {
		return nil, err
	}
	public, err := full.Public()
	if err != nil {
		return nil, err
	}
	proof, err := groth16.Prove(w.r1cs, pk, full)
	if err != nil {
		return nil, fmt.Errorf("gnark with the key: %w", err)
	}
	why, refused := groth16.Verify(proof, vk, public), 0
	if why != nil {
		refused = 1
	}
	var runs []report.SetupRun
	for i, part := range ceremonyParts {
		var stock time.Duration
		if len(w.stock) > 0 {
			stock = w.stock[i]
		}
		s := report.Series{Op: "setup", System: part.system, Circuit: part.name, Curve: backend.BN254.String(), Constraints: w.n}
		runs = append(runs, report.SetupRun{Series: e.series(s, samples[i], stock, refused)})
	}
	if why != nil {
		return runs, fmt.Errorf("%w: gnark refused a proof with the key of the ceremony: %w", ErrWrong, why)
	}
	return runs, nil
}
