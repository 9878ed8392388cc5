package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/consensys/gnark-crypto/kzg"
	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/circuits"
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
func Setup(ctx context.Context, cfg SetupConfig) ([]report.SetupRun, []record.BackendInfo, error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	prepare := func(s *circuits.Statement, curve backend.Curve, _ engines) (*setupWork, error) {
		return newSetupWork(&cfg, s, curve)
	}
	return measureAll(ctx, &cfg.ProveConfig, prepare, func(r *report.SetupRun) *report.Series { return &r.Series })
}

// setupWork is a compiled circuit, with a KZG setup if it needs one, and what gnark took.
type setupWork struct {
	task
	cfg   *SetupConfig
	srs   proofsystem.SRS
	stock time.Duration
}

func newSetupWork(cfg *SetupConfig, s *circuits.Statement, curve backend.Curve) (*setupWork, error) {
	w := &setupWork{cfg: cfg}
	var err error
	if w.task, err = newTask(&cfg.ProveConfig, s, curve); err != nil {
		return nil, err
	}
	cfg.Progress.tell(fmt.Sprintf("%s %v: compiling", s.Name, curve), 0, 1)
	if w.ccs, err = w.scheme.Compile(s.Circuit); err != nil {
		return nil, err
	}
	if cfg.system() == proofsystem.PLONK {
		cfg.Progress.tell(fmt.Sprintf("%s %v: making a KZG setup", s.Name, curve), 0, 1)
		canonical, lagrange, err := knownSRS(w.ccs)
		if err != nil {
			return nil, err
		}
		w.srs = func(constraint.ConstraintSystem) (kzg.SRS, kzg.SRS, error) { return canonical, lagrange, nil }
	}
	if cfg.Stock {
		cfg.Progress.tell(fmt.Sprintf("%s %v: setting up with gnark", s.Name, curve), 0, 1)
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
func (w *setupWork) measure(ctx context.Context, e *single) (report.SetupRun, error) {
	var samples []time.Duration
	cfg, stage, refused := w.cfg, fmt.Sprintf("%s %v: setting up on %s", w.Name, w.curve, e.name), 0
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
	return report.SetupRun{Series: w.series("setup", e, samples, w.stock, refused)}, err
}

func (w *setupWork) close() error { return nil }
