package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/consensys/gnark-crypto/kzg"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/frontend"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/internal/proofsystem"
	"github.com/pippin-zk/pippin/internal/record"
)

// SetupConfig says what Setup measures: the keys of every circuit on every curve, made on
// every backend. Count is of set-ups. Merge, InFlight and CacheDir are not used: no key is
// kept.
type SetupConfig struct {
	ProveConfig
	// Stock times gnark's set-up as well, once.
	Stock bool
}

// Validate refuses an empty or senseless configuration with backend.ErrInvalidInput.
func (c *SetupConfig) Validate() error { return c.validate() }

// Setup measures what cfg says. With every key, that of the run to warm up included, gnark
// proves and verifies outside of the time. Results and errors are like those of Prove.
func Setup(ctx context.Context, cfg SetupConfig) (runs []record.SetupRun, _ []record.BackendInfo, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	all, err := openEngines(ctx, cfg.Open, cfg.Backends, cfg.Note, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, all.close()) }()
	err = cfg.each(all, func(s *statement, curve backend.Curve) error {
		w, err := newSetupWork(&cfg, s, curve)
		if err != nil {
			return err
		}
		for _, e := range all.with(curve, cfg.Note) {
			run, err := w.measure(ctx, &cfg, e)
			if run.Count > 0 {
				runs = append(runs, run)
			}
			if err != nil {
				return fmt.Errorf("backend %s: %w", e.name, err)
			}
		}
		return nil
	})
	if err == nil && len(runs) == 0 {
		err = fmt.Errorf("%w: no circuit can be set up on any of the curves and backends", backend.ErrUnsupported)
	}
	for _, r := range runs {
		if !r.Verified {
			err = errors.Join(err, fmt.Errorf("%w: circuit %s on %s: gnark refused proofs with %d keys of backend %s", ErrWrong, r.Circuit, r.Curve, r.Refused, r.Backend))
		}
	}
	return runs, all.describe(), err
}

// setupWork is a compiled circuit with a witness, a KZG setup if it needs one, and what
// gnark took.
type setupWork struct {
	*statement
	scheme       proofsystem.Scheme
	curve        backend.Curve
	ccs          constraint.ConstraintSystem
	srs          proofsystem.SRS
	full, public witness.Witness
	stock        time.Duration
}

func newSetupWork(cfg *SetupConfig, s *statement, curve backend.Curve) (*setupWork, error) {
	w := &setupWork{statement: s, curve: curve}
	var err error
	if w.scheme, err = cfg.system().On(curve); err != nil {
		return nil, err
	}
	cfg.Progress.tell(fmt.Sprintf("%s %v: compiling", s.name, curve), 0, 1)
	if w.ccs, err = w.scheme.Compile(s.circuit); err != nil {
		return nil, err
	}
	if w.full, err = frontend.NewWitness(s.assignment, layout.CurveID(curve).ScalarField()); err != nil {
		return nil, err
	}
	if w.public, err = w.full.Public(); err != nil {
		return nil, err
	}
	if cfg.system() == proofsystem.PLONK {
		cfg.Progress.tell(fmt.Sprintf("%s %v: making a KZG setup", s.name, curve), 0, 1)
		canonical, lagrange, err := knownSRS(w.ccs)
		if err != nil {
			return nil, err
		}
		w.srs = func(constraint.ConstraintSystem) (kzg.SRS, kzg.SRS, error) { return canonical, lagrange, nil }
	}
	if cfg.Stock {
		cfg.Progress.tell(fmt.Sprintf("%s %v: setting up with gnark", s.name, curve), 0, 1)
		runtime.GC()
		start := time.Now()
		if err := w.scheme.NewKeys().SetUp(w.ccs, w.srs); err != nil {
			return nil, fmt.Errorf("gnark: %w", err)
		}
		w.stock = time.Since(start)
	}
	return w, nil
}

// measure times set-ups on one backend. With an error the run has those that were done.
func (w *setupWork) measure(ctx context.Context, cfg *SetupConfig, e *single) (record.SetupRun, error) {
	var samples []time.Duration
	stage, refused := fmt.Sprintf("%s %v: setting up on %s", w.name, w.curve, e.name), 0
	rounds := func() error {
		for round := range cfg.Count + 1 {
			cfg.Progress.tell(stage, round, cfg.Count+1)
			keys := w.scheme.NewKeys()
			runtime.GC()
			start := time.Now()
			if err := keys.SetUpOn(ctx, e.Engine, w.ccs, w.srs); err != nil {
				return err
			}
			took := time.Since(start)
			proof, err := keys.ProveByGnark(w.ccs, w.full)
			if err != nil {
				return fmt.Errorf("gnark with the key: %w", err)
			}
			if keys.Verify(proof, w.public) != nil {
				refused++
			}
			if round > 0 {
				samples = append(samples, took)
			}
		}
		cfg.Progress.tell(stage, cfg.Count+1, cfg.Count+1)
		return nil
	}
	err := rounds()
	run := record.SetupRun{
		Op: "setup", System: string(cfg.system()), Circuit: w.name, Curve: w.curve.String(), Constraints: w.ccs.GetNbConstraints(),
		Backend: e.name, Version: e.info.Version, Device: e.device(),
		Count: len(samples), Stock: record.Millis(w.stock), Verified: refused == 0, Refused: refused,
	}
	if len(samples) > 0 {
		run.Min, run.Median, run.Samples = record.Millis(record.Min(samples)), record.Millis(record.Median(samples)), record.AllMillis(samples)
	}
	return run, err
}
