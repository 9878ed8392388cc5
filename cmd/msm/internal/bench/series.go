package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/frontend"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/circuits"
	"github.com/pippin-zk/pippin/internal/proofsystem"
	"github.com/pippin-zk/pippin/internal/record"
)

// work is a circuit on one curve that is ready to be measured. R is what the record has of
// that.
type work[R any] interface {
	// measure measures on one backend. With an error the run has what was measured so far.
	measure(ctx context.Context, e *single) (R, error)
	close() error
}

// measureAll opens the backends, prepares every circuit on every curve, and measures it on
// each backend. of returns the series of a run. Results and errors are like those of Prove.
func measureAll[R any, W work[R]](ctx context.Context, cfg *ProveConfig, prepare func(*circuits.Statement, backend.Curve, engines) (W, error), of func(*R) *report.Series) (runs []R, _ []record.BackendInfo, err error) {
	all, err := openEngines(ctx, cfg.Open, cfg.Backends, cfg.Note, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, all.close()) }()
	err = cfg.each(all, func(s *circuits.Statement, curve backend.Curve) (err error) {
		w, err := prepare(s, curve, all)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.close()) }()
		for _, e := range all.with(curve, cfg.Note) {
			run, err := w.measure(ctx, e)
			if of(&run).Count > 0 {
				runs = append(runs, run)
			}
			if err != nil {
				return fmt.Errorf("backend %s: %w", e.name, err)
			}
		}
		return nil
	})
	if err == nil && len(runs) == 0 {
		err = fmt.Errorf("%w: no circuit can be measured on any of the curves and backends", backend.ErrUnsupported)
	}
	for i := range runs {
		err = errors.Join(err, wrong(of(&runs[i])))
	}
	return runs, all.describe(), err
}

// wrong returns ErrWrong when gnark accepted not every proof of a series.
func wrong(s *report.Series) error {
	if s.Verified {
		return nil
	}
	return fmt.Errorf("%w: circuit %s on %s: gnark refused %d proofs of op %s on backend %s", ErrWrong, s.Circuit, s.Curve, s.Refused, s.Op, s.Backend)
}

// task is a circuit on one curve, compiled and with a witness.
type task struct {
	*circuits.Statement
	curve        backend.Curve
	system       proofsystem.System
	scheme       proofsystem.Scheme
	ccs          constraint.ConstraintSystem // when it is compiled or read
	full, public witness.Witness
}

func newTask(cfg *ProveConfig, s *circuits.Statement, curve backend.Curve) (t task, err error) {
	t = task{Statement: s, curve: curve, system: cfg.system()}
	if t.scheme, err = t.system.On(curve); err != nil {
		return t, err
	}
	if t.full, err = frontend.NewWitness(s.Assignment, curve.ScalarField()); err != nil {
		return t, err
	}
	t.public, err = t.full.Public()
	return t, err
}

// series returns what a record has of measurements of which gnark refused some proofs.
func (t *task) series(op string, e *single, samples []time.Duration, stock time.Duration, refused int) report.Series {
	s := report.Series{Op: op, System: string(t.system), Circuit: t.Name, Curve: t.curve.String(), Constraints: t.ccs.GetNbConstraints()}
	return e.series(s, samples, stock, refused)
}

// series completes what a record has of measurements on a backend, of which gnark refused
// some proofs.
func (e *single) series(s report.Series, samples []time.Duration, stock time.Duration, refused int) report.Series {
	s.Backend, s.Version, s.Device = e.name, e.info.Version, e.device()
	s.Count, s.Stock, s.Verified, s.Refused = len(samples), record.Millis(stock), refused == 0, refused
	if len(samples) > 0 {
		s.Min, s.Median, s.Samples = record.Millis(record.Min(samples)), record.Millis(record.Median(samples)), record.AllMillis(samples)
	}
	return s
}
