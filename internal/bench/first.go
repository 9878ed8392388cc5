package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/frontend"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/internal/proofsystem"
	"github.com/pippin-zk/pippin/internal/record"
)

// FirstConfig says what First measures: first proofs of every circuit on every curve, with
// keys that are read from files. Count is of first proofs, each with a key that is read
// again; none is left out. Merge and InFlight are not used.
type FirstConfig struct {
	ProveConfig
	// Stock times gnark's reader and prover as well, once.
	Stock bool
}

// Validate refuses an empty or senseless configuration with backend.ErrInvalidInput.
func (c *FirstConfig) Validate() error { return c.ProveConfig.Validate() }

// First measures what cfg says: from opening the file of a compressed key, whose bytes are
// in the page cache, to the first proof. gnark verifies every proof, outside of the time.
// Results and errors are like those of Prove.
func First(ctx context.Context, cfg FirstConfig) (runs []record.FirstRun, _ []record.BackendInfo, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	all, err := openEngines(ctx, cfg.Open, cfg.Backends, cfg.Note, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, all.close()) }()
	err = cfg.each(all, func(s *statement, curve backend.Curve) (err error) {
		w, err := newFirstWork(ctx, &cfg, s, curve, all)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.Remove(w.path)) }()
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
		err = fmt.Errorf("%w: no circuit can be proved on any of the curves and backends", backend.ErrUnsupported)
	}
	for _, r := range runs {
		if !r.Verified {
			err = errors.Join(err, fmt.Errorf("%w: circuit %s on %s: gnark refused %d proofs of backend %s", ErrWrong, r.Circuit, r.Curve, r.Refused, r.Backend))
		}
	}
	return runs, all.describe(), err
}

// firstWork is a key in a file, its circuit with a witness, and what gnark took.
type firstWork struct {
	*statement
	*key
	curve        backend.Curve
	scheme       proofsystem.Scheme
	full, public witness.Witness
	path         string
	bytes        int64
	stock        time.Duration
	stockRead    time.Duration
}

func newFirstWork(ctx context.Context, cfg *FirstConfig, s *statement, curve backend.Curve, all engines) (_ *firstWork, err error) {
	w := &firstWork{statement: s, curve: curve}
	if w.scheme, err = cfg.system().On(curve); err != nil {
		return nil, err
	}
	var maker *engine.Engine
	if cfg.OwnSetup {
		maker = all.with(curve, nil)[0].Engine
	}
	if w.key, err = keyFor(ctx, &cfg.ProveConfig, s, curve, maker); err != nil {
		return nil, err
	}
	if w.full, err = frontend.NewWitness(s.assignment, layout.CurveID(curve).ScalarField()); err != nil {
		return nil, err
	}
	if w.public, err = w.full.Public(); err != nil {
		return nil, err
	}
	cfg.Progress.tell(fmt.Sprintf("%s %v: writing the key", s.name, curve), 0, 1)
	if err := w.write(cfg.CacheDir); err != nil {
		return nil, err
	}
	if cfg.Stock {
		cfg.Progress.tell(fmt.Sprintf("%s %v: reading and proving with gnark", s.name, curve), 0, 1)
		if err := w.byGnark(); err != nil {
			return nil, errors.Join(fmt.Errorf("gnark: %w", err), os.Remove(w.path))
		}
	}
	return w, nil
}

// write writes the compressed key to a file, and leaves its bytes in the page cache.
func (w *firstWork) write(dir string) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "cold.*.tmp")
	if err != nil {
		return err
	}
	w.path = f.Name()
	to := bufio.NewWriterSize(f, 1<<20)
	if err = w.WriteProving(to); err == nil {
		err = to.Flush()
	}
	if err == nil {
		w.bytes, err = f.Seek(0, io.SeekCurrent)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(w.path))
	}
	return nil
}

// open opens the key's file.
func (w *firstWork) open(read func(proofsystem.Keys, io.Reader) error) (_ proofsystem.Keys, err error) {
	f, err := os.Open(w.path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	k := w.scheme.NewKeys()
	return k, read(k, bufio.NewReaderSize(f, 1<<20))
}

func (w *firstWork) byGnark() error {
	runtime.GC()
	start := time.Now()
	k, err := w.open(proofsystem.Keys.ReadProvingChecked)
	if err != nil {
		return err
	}
	w.stockRead = time.Since(start)
	_, err = k.ProveByGnark(w.ccs, w.full)
	w.stock = time.Since(start)
	return err
}

// measure times first proofs on one backend. With an error the run has those that were
// made.
func (w *firstWork) measure(ctx context.Context, cfg *FirstConfig, e *single) (record.FirstRun, error) {
	var samples, reads, loads, proves []time.Duration
	stage, refused := fmt.Sprintf("%s %v: first proofs on %s", w.name, w.curve, e.name), 0
	once := func() error {
		runtime.GC()
		start := time.Now()
		k, err := w.open(func(k proofsystem.Keys, r io.Reader) error { return k.ReadProvingOn(ctx, e.Engine, r) })
		if err != nil {
			return err
		}
		read := time.Now()
		p, err := k.NewProver(e.Engine, w.ccs, proofsystem.Options{})
		if err != nil {
			return err
		}
		load := time.Now()
		proof, err := p.Prove(ctx, w.full)
		end := time.Now()
		if err = errors.Join(err, p.Close()); err != nil {
			return err
		}
		if w.Verify(proof, w.public) != nil {
			refused++
		}
		samples, reads = append(samples, end.Sub(start)), append(reads, read.Sub(start))
		loads, proves = append(loads, load.Sub(read)), append(proves, end.Sub(load))
		return nil
	}
	var err error
	for round := 0; round < cfg.Count && err == nil; round++ {
		cfg.Progress.tell(stage, round, cfg.Count)
		err = once()
	}
	if err == nil {
		cfg.Progress.tell(stage, cfg.Count, cfg.Count)
	}
	run := record.FirstRun{
		Op: "cold", System: string(cfg.system()), Circuit: w.name, Curve: w.curve.String(), Constraints: w.ccs.GetNbConstraints(),
		Backend: e.name, Version: e.info.Version, Device: e.device(), Bytes: w.bytes,
		Count: len(samples), Stock: record.Millis(w.stock), StockRead: record.Millis(w.stockRead), Verified: refused == 0, Refused: refused,
	}
	if len(samples) > 0 {
		run.Min, run.Median, run.Samples = record.Millis(record.Min(samples)), record.Millis(record.Median(samples)), record.AllMillis(samples)
		run.Read, run.Load, run.Prove = record.Millis(record.Median(reads)), record.Millis(record.Median(loads)), record.Millis(record.Median(proves))
	}
	return run, err
}
