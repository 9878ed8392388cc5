package proofs

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

	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/circuits"
	"github.com/pippin-zk/pippin/internal/proofsystem"
)

// begun is when the program was initialised.
var begun = time.Now()

// Cold measures first proofs of every circuit on every curve, with keys that are read from
// files: from opening the file of a compressed key, whose bytes are in the page cache, to the
// first proof. gnark verifies every proof, and one more with each prover, outside of the time.
// Count is of first proofs, each with a key that is read again; none is left out.
type Cold struct {
	Statements
	// Stock times gnark's reader and prover as well, once.
	Stock bool
	// Start measures once, from the program's start on, with the constraint system and the
	// key that were kept: one circuit on one curve and one backend. Count, Stock, OwnSetup
	// and NoKeep are not used. A key that is not kept is backend.ErrInvalidInput.
	Start bool
}

// Validate refuses an empty or senseless configuration with backend.ErrInvalidInput.
func (c *Cold) Validate() error {
	if err := c.validateKept(); err != nil || !c.Start {
		return err
	}
	if len(c.Circuits) != 1 || len(c.curvesOf(c.Circuits[0])) != 1 || len(c.Backends) != 1 {
		return bench.Refused("a program starts once: with one circuit, curve and backend")
	}
	return nil
}

// Sheet shows the parts of the time.
func (c *Cold) Sheet() report.Sheet {
	note := `Times are from opening the file of a compressed proving key, which is in the page cache, to the first proof with it.
The constraint system and the witness are in memory.`
	if c.Start {
		note = `Times are from the program's initialisation to its first proof: reading the constraint system from its file, opening the
backend, reading and checking the proving key, loading it, and the proof.`
	}
	sheet := report.Sheet{Note: note + " The next proof is not in them. Checked by gnark's verifier.", Before: statementColumns()}
	for _, part := range []struct{ head, figure string }{
		{"start", "start"}, {"system", "read_system"}, {"open", "open"}, {"read", "read"}, {"load", "load"}, {"prove", "prove"},
		{"next", "next"}, {"gnark", report.FigureStock},
	} {
		sheet.After = append(sheet.After, report.ColumnMillis(part.head+" ms", 3, part.figure))
	}
	return sheet
}

func (c *Cold) Measure(ctx context.Context, r *bench.Runner) error {
	if c.Start {
		return c.fromStart(ctx, r)
	}
	if err := r.Start(ctx, nil); err != nil {
		return err
	}
	return c.each(r, func(t *task, able bench.Engines) (err error) {
		w := &coldWork{task: t}
		if _, err := c.readKey(ctx, t, able); err != nil {
			return err
		}
		r.Progress.Tell(fmt.Sprintf("%s %v: writing the key", t.Name, t.curve), 0, 1)
		if err := w.write(c.CacheDir); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.Remove(w.path)) }()
		if c.Stock {
			r.Progress.Tell(fmt.Sprintf("%s %v: reading and proving with gnark", t.Name, t.curve), 0, 1)
			if err := bench.UntilEnded(ctx, w.byGnark); err != nil {
				return fmt.Errorf("gnark: %w", err)
			}
		}
		for _, e := range able {
			t := w.trial(ctx, r, e, 0)
			t.Timed = c.Count
			if err := r.Compare(ctx, t); err != nil {
				return err
			}
		}
		return nil
	})
}

// coldWork is a proving key in a file, its circuit, and what gnark took.
type coldWork struct {
	*task
	path      string
	bytes     int64
	stock     time.Duration
	stockRead time.Duration
}

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
		return errors.Join(err, os.Remove(w.path))
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

// trial returns first proofs on one backend, which took so long before the key was read.
// None is to warm up.
func (w *coldWork) trial(ctx context.Context, r *bench.Runner, e *bench.Single, before time.Duration) *bench.Trial {
	run := w.run("cold")
	run.Figure("key", report.Bytes, float64(w.bytes))
	run.Took(report.FigureStock, w.stock)
	run.Took("stock_read", w.stockRead)
	var t coldTimes
	var proofs []proofsystem.Proof
	s := r.Series(e, run, func() (took time.Duration, err error) {
		took, proofs, err = w.first(ctx, e, &t)
		return before + took, err
	})
	s.Check = func() (int, error) { return w.refused(proofs...), nil }
	s.Row = func(run *report.Run) {
		run.Sampled("read", t.read, false)
		run.Sampled("load", t.load, false)
		run.Sampled("prove", t.prove, false)
		run.Sampled("next", t.next, false)
	}
	return &bench.Trial{Stage: fmt.Sprintf("%s %v: first proofs on %s", w.Name, w.curve, e.Name), Series: []*bench.Series{s}}
}

// first proves once with a key that it reads, which is timed, and once more.
func (w *coldWork) first(ctx context.Context, e *bench.Single, t *coldTimes) (took time.Duration, proofs []proofsystem.Proof, err error) {
	start := time.Now()
	k := w.scheme.NewKeys()
	if err := readKeyFile(w.path, func(r io.Reader) error { return k.ReadProvingOn(ctx, e.Engine, r) }); err != nil {
		return 0, nil, err
	}
	read := time.Now()
	p, err := k.NewProver(e.Engine, w.ccs, proofsystem.Options{})
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	load := time.Now()
	first, err := p.Prove(ctx, w.full)
	if err != nil {
		return 0, nil, err
	}
	proved := time.Now()
	next, err := p.Prove(ctx, w.full)
	if err != nil {
		return 0, nil, err
	}
	t.read, t.load = append(t.read, read.Sub(start)), append(t.load, load.Sub(read))
	t.prove, t.next = append(t.prove, proved.Sub(load)), append(t.next, time.Since(proved))
	return proved.Sub(start), []proofsystem.Proof{first, next}, nil
}

// fromStart measures the way from the program's start to its first proof, once in a process.
func (c *Cold) fromStart(ctx context.Context, r *bench.Runner) error {
	started := time.Since(begun)
	curve := c.curvesOf(c.Circuits[0])[0]
	// What is proved is no part of the time, nor is the verifying key.
	s, err := circuits.New(c.Circuits[0], curve, c.Hashes, c.Squares)
	if err != nil {
		return err
	}
	t, err := newTask(&c.Statements, s, curve)
	if err != nil {
		return err
	}
	w := &coldWork{task: t}
	constrained, err := w.readKept(c.keyDir(s, curve))
	if errors.Is(err, fs.ErrNotExist) {
		return bench.Refused("no key is kept in %s: msm bench cold without --start makes it", c.keyDir(s, curve))
	} else if err != nil {
		return err
	}
	opened, err := bench.Clock(func() error { return r.Start(ctx, nil) })()
	if err != nil {
		return err
	}
	first := w.trial(ctx, r, r.Engines[0], started+constrained+opened)
	first.Timed, first.Tight = 1, true
	run := &first.Series[0].Run
	run.Took("start", started)
	run.Took("read_system", constrained)
	run.Took("open", opened)
	return r.Compare(ctx, first)
}

// readKept reads what is kept but for the proving key, whose file it names, and returns how
// long the constraint system took.
func (w *coldWork) readKept(dir string) (constrained time.Duration, err error) {
	k := &key{ccs: w.scheme.NewConstraints(), Keys: w.scheme.NewKeys()}
	w.ccs, w.keys = k.ccs, k.Keys
	for _, f := range k.files() {
		path := filepath.Join(dir, f.Name)
		if f.Name == "proving" {
			about, err := os.Stat(path)
			if err != nil {
				return 0, err
			}
			w.path, w.bytes = path, about.Size()
			continue
		}
		took, err := bench.Clock(func() error { return readKeyFile(path, f.Read) })()
		if err != nil {
			return 0, err
		}
		if f.Name == "system" {
			constrained = took
		}
	}
	return constrained, nil
}
