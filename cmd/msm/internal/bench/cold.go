package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/circuits"
	"github.com/pippin-zk/pippin/internal/proofsystem"
	"github.com/pippin-zk/pippin/internal/record"
)

// begun is when the program was initialised.
var begun = time.Now()

// ColdConfig says what Cold measures: first proofs of every circuit on every curve, with
// keys that are read from files. Count is of first proofs, each with a key that is read
// again; none is left out. Merge and InFlight are not used.
type ColdConfig struct {
	ProveConfig
	// Stock times gnark's reader and prover as well, once.
	Stock bool
	// Start measures once, from the program's start on, with the constraint system and the
	// key that were kept: one circuit on one curve and one backend. Count, Stock, OwnSetup
	// and NoKeep are not used.
	Start bool
}

// Validate refuses an empty or senseless configuration with backend.ErrInvalidInput.
func (c *ColdConfig) Validate() error {
	if err := c.ProveConfig.Validate(); err != nil || !c.Start {
		return err
	}
	if len(c.Circuits) != 1 || len(c.curves()) != 1 || len(c.Backends) != 1 {
		return fmt.Errorf("%w: a program starts once: with one circuit, curve and backend", backend.ErrInvalidInput)
	}
	return nil
}

// curves returns those of the first circuit.
func (c *ColdConfig) curves() []backend.Curve {
	if len(c.Curves) > 0 {
		return c.Curves
	}
	return circuits.CurvesOf(c.Circuits[0])
}

// Cold measures what cfg says: from opening the file of a compressed key, whose bytes are
// in the page cache, to the first proof. gnark verifies every proof, and one more with each
// prover, outside of the time. Results and errors are like those of Prove. A key that is not
// kept is backend.ErrInvalidInput with Start.
func Cold(ctx context.Context, cfg ColdConfig) ([]report.ColdRun, []record.BackendInfo, error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	if cfg.Start {
		return coldStart(ctx, &cfg)
	}
	prepare := func(s *circuits.Statement, curve backend.Curve, all engines) (*coldWork, error) {
		return newColdWork(ctx, &cfg, s, curve, all)
	}
	return measureAll(ctx, &cfg.ProveConfig, prepare, func(r *report.ColdRun) *report.Series { return &r.Series })
}

// coldWork is a proving key in a file, its circuit, and what gnark took.
type coldWork struct {
	task
	cfg       *ColdConfig
	keys      proofsystem.Keys // that verify
	path      string
	bytes     int64
	stock     time.Duration
	stockRead time.Duration
}

func newColdWork(ctx context.Context, cfg *ColdConfig, s *circuits.Statement, curve backend.Curve, all engines) (_ *coldWork, err error) {
	w := &coldWork{cfg: cfg}
	if w.task, err = newTask(&cfg.ProveConfig, s, curve); err != nil {
		return nil, err
	}
	var maker *engine.Engine
	if cfg.OwnSetup {
		maker = all.with(curve, nil)[0].Engine
	}
	k, err := keyFor(ctx, &cfg.ProveConfig, s, curve, maker)
	if err != nil {
		return nil, err
	}
	w.ccs, w.keys = k.ccs, k.Keys
	cfg.Progress.tell(fmt.Sprintf("%s %v: writing the key", s.Name, curve), 0, 1)
	if err := w.write(cfg.CacheDir); err != nil {
		return nil, err
	}
	if cfg.Stock {
		cfg.Progress.tell(fmt.Sprintf("%s %v: reading and proving with gnark", s.Name, curve), 0, 1)
		if err := untilEnded(ctx, w.byGnark); err != nil {
			return nil, errors.Join(fmt.Errorf("gnark: %w", err), w.close())
		}
	}
	return w, nil
}

func (w *coldWork) close() error { return os.Remove(w.path) }

// write writes the compressed key to a file, and leaves its bytes in the page cache.
func (w *coldWork) write(dir string) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "cold.*.tmp")
	if err != nil {
		return err
	}
	w.path = f.Name()
	to := bufio.NewWriterSize(f, 1<<20)
	if err = w.keys.WriteProving(to); err == nil {
		err = to.Flush()
	}
	if err == nil {
		w.bytes, err = f.Seek(0, io.SeekCurrent)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, w.close())
	}
	return nil
}

func (w *coldWork) byGnark() error {
	runtime.GC()
	start := time.Now()
	k := w.scheme.NewKeys()
	if err := readKeyFile(w.path, k.ReadProvingChecked); err != nil {
		return err
	}
	w.stockRead = time.Since(start)
	_, err := k.ProveByGnark(w.ccs, w.full)
	w.stock = time.Since(start)
	return err
}

// coldTimes is what the parts of first proofs took, and the next proofs.
type coldTimes struct{ read, load, prove, next []time.Duration }

// first proves once with a key that it reads, and once more, and counts what gnark refuses.
func (w *coldWork) first(ctx context.Context, e *single, t *coldTimes, refused *int) (err error) {
	start := time.Now()
	k := w.scheme.NewKeys()
	if err := readKeyFile(w.path, func(r io.Reader) error { return k.ReadProvingOn(ctx, e.Engine, r) }); err != nil {
		return err
	}
	read := time.Now()
	p, err := k.NewProver(e.Engine, w.ccs, proofsystem.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	load := time.Now()
	first, err := p.Prove(ctx, w.full)
	if err != nil {
		return err
	}
	proved := time.Now()
	next, err := p.Prove(ctx, w.full)
	if err != nil {
		return err
	}
	end := time.Now()
	for _, proof := range []proofsystem.Proof{first, next} {
		if w.keys.Verify(proof, w.public) != nil {
			*refused++
		}
	}
	t.read, t.load = append(t.read, read.Sub(start)), append(t.load, load.Sub(read))
	t.prove, t.next = append(t.prove, proved.Sub(load)), append(t.next, end.Sub(proved))
	return nil
}

// measure times first proofs on one backend. With an error the run has those that were
// made.
func (w *coldWork) measure(ctx context.Context, e *single) (report.ColdRun, error) {
	stage, refused := fmt.Sprintf("%s %v: first proofs on %s", w.Name, w.curve, e.name), 0
	var t coldTimes
	var err error
	for round := 0; round < w.cfg.Count && err == nil; round++ {
		w.cfg.Progress.tell(stage, round, w.cfg.Count)
		runtime.GC()
		err = w.first(ctx, e, &t, &refused)
	}
	if err == nil {
		w.cfg.Progress.tell(stage, w.cfg.Count, w.cfg.Count)
	}
	return w.run(e, &t, 0, refused), err
}

// run makes a record of first proofs, which took so long before the key was read.
func (w *coldWork) run(e *single, t *coldTimes, before time.Duration, refused int) report.ColdRun {
	var samples []time.Duration
	for i := range t.read {
		samples = append(samples, before+t.read[i]+t.load[i]+t.prove[i])
	}
	r := report.ColdRun{Series: w.series("cold", e, samples, w.stock, refused), Bytes: w.bytes, StockRead: record.Millis(w.stockRead)}
	if len(samples) > 0 {
		r.Read, r.Load, r.Prove, r.Next = record.Millis(record.Median(t.read)), record.Millis(record.Median(t.load)), record.Millis(record.Median(t.prove)), record.Millis(record.Median(t.next))
	}
	return r
}

// coldStart measures the way from the program's start to its first proof, once in a process.
func coldStart(ctx context.Context, cfg *ColdConfig) (_ []report.ColdRun, _ []record.BackendInfo, err error) {
	started := time.Since(begun)
	curve := cfg.curves()[0]
	// What is proved is no part of the time, nor is the verifying key.
	s, err := circuits.New(cfg.Circuits[0], curve, cfg.Hashes, cfg.Squares)
	if err != nil {
		return nil, nil, err
	}
	w := &coldWork{cfg: cfg}
	if w.task, err = newTask(&cfg.ProveConfig, s, curve); err != nil {
		return nil, nil, err
	}
	k := &key{ccs: w.scheme.NewConstraints(), Keys: w.scheme.NewKeys()}
	w.ccs, w.keys = k.ccs, k.Keys
	dir := cfg.keyDir(s, curve)
	var constrained time.Duration
	for _, f := range k.files() {
		path := filepath.Join(dir, f.Name)
		start := time.Now()
		if f.Name == "proving" {
			var about fs.FileInfo
			if about, err = os.Stat(path); err == nil {
				w.path, w.bytes = path, about.Size()
			}
		} else {
			err = readKeyFile(path, f.Read)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("%w: no key is kept in %s: msm bench cold without --start makes it", backend.ErrInvalidInput, dir)
		} else if err != nil {
			return nil, nil, err
		}
		if f.Name == "system" {
			constrained = time.Since(start)
		}
	}
	start := time.Now()
	all, err := openEngines(ctx, cfg.Open, cfg.Backends, cfg.Note, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, all.close()) }()
	opened := time.Since(start)
	var t coldTimes
	refused := 0
	if err := w.first(ctx, all[0], &t, &refused); err != nil {
		return nil, nil, err
	}
	r := w.run(all[0], &t, started+constrained+opened, refused)
	r.Start, r.Constrained, r.Open = record.Millis(started), record.Millis(constrained), record.Millis(opened)
	return []report.ColdRun{r}, all.describe(), wrong(&r.Series)
}
