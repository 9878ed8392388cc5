package proofs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/consensys/gnark/backend/groth16"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/circomkeys"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/prover/circom"
)

// Circom measures proofs of circom's circuits, from a witness in memory to the verified proof.
type Circom struct {
	bench.Common
	// Curves and Constraints are those of circuits that are made: as in hashes, most of their
	// wires are bits.
	Curves      []backend.Curve
	Constraints []int
	// Key and Witness are the files of a circuit in the place of one that is made.
	Key, Witness string
	// Rapidsnark and Snarkjs are paths of rapidsnark's program prover, and of snarkjs, which are timed in
	// turns. "" is none.
	Rapidsnark, Snarkjs string
}

// mostConstraints bounds the time in which a key is made.
const mostConstraints = 1 << 24

// The figures are what others took for the same.
const (
	figureRapidsnark = "rapidsnark"
	figureSnarkjs    = "snarkjs"
)

// Validate refuses an empty or senseless configuration with backend.ErrInvalidInput.
func (c *Circom) Validate() error {
	if err := c.ValidateCommon(); err != nil {
		return err
	}
	if (c.Key == "") != (c.Witness == "") {
		return bench.Refused("a key and a witness go together")
	}
	for _, on := range c.Curves {
		if on != backend.BN254 && on != backend.BLS12381 {
			return bench.Refused("circom on %v", on)
		}
	}
	return cmp.Or(bench.Some("curves", c.Curves), bench.Within("constraints", c.Constraints, 1, mostConstraints))
}

// Sheet shows the time in which the key was loaded, and rapidsnark's.
func (c *Circom) Sheet() report.Sheet {
	return report.Sheet{
		Note: "Times are from a .wtns in memory to a verified proof, with a key that is loaded. " +
			"rapidsnark's and snarkjs's are of their whole processes, which read the key.",
		Before: []report.Column{
			report.ColumnWhat("circuit", report.Stays), report.ColumnCurve(7),
			report.ColumnFigure("constraints", 4, report.FigureConstraints, "%.0f"), report.ColumnBackend(8),
		},
		After: []report.Column{
			report.ColumnMillis("load ms", 2, "load"), report.ColumnMillis("rapidsnark ms", 3, figureRapidsnark),
			report.ColumnMillis("snarkjs ms", 1, figureSnarkjs),
		},
	}
}

// Measure times proofs of every circuit on every backend. gnark verifies each outside of the time.
func (c *Circom) Measure(ctx context.Context, r *bench.Runner) (err error) {
	if err := r.Start(ctx, nil); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "circom-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if c.Key != "" {
		on, err := curveOfKey(c.Key)
		if err != nil {
			return err
		}
		f := &circomFiles{name: filepath.Base(c.Key), key: c.Key, witness: c.Witness, out: dir}
		return c.measure(ctx, r, r.Able(on.String(), bench.HasCurve(on)), f)
	}
	for _, on := range c.Curves {
		able := r.Able(on.String(), bench.HasCurve(on))
		if len(able) == 0 {
			continue
		}
		for _, n := range c.Constraints {
			r.Progress.Tell(fmt.Sprintf("a key of %d constraints on %v", n, on), 0, 1)
			f := &circomFiles{
				name: fmt.Sprintf("bits of %d", n), out: dir,
				key: filepath.Join(dir, "circuit.zkey"), witness: filepath.Join(dir, "witness.wtns"),
			}
			if err := f.make(ctx, able[0].Engine, on); err != nil {
				return err
			}
			if err := c.measure(ctx, r, able, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// circomFiles are the files of a circuit.
type circomFiles struct{ name, key, witness, out string }

// make makes the files of a circuit by its name. The secrets of its key are known to everybody.
func (f *circomFiles) make(ctx context.Context, e *engine.Engine, on backend.Curve) error {
	s, err := circomkeys.ByName(on, f.name)
	if err != nil {
		return err
	}
	key, err := os.Create(f.key)
	if err != nil {
		return err
	}
	_, err = circomkeys.Write(ctx, e, key, &s.Circuit, circomkeys.KnownSecrets(on))
	if err = errors.Join(err, key.Close()); err != nil {
		return err
	}
	return os.WriteFile(f.witness, circomkeys.Witness(on, s.Values), 0o600)
}

// measure times proofs with one key.
func (c *Circom) measure(ctx context.Context, r *bench.Runner, able bench.Engines, f *circomFiles) (err error) {
	wtns, err := os.ReadFile(f.witness)
	if err != nil {
		return err
	}
	defer clear(wtns)
	others := c.others(ctx, f)
	var keys []*circom.Key
	defer func() {
		for _, k := range keys {
			err = errors.Join(err, k.Close())
		}
	}()
	var all []*bench.Series
	for _, e := range able {
		start := time.Now()
		k, err := circom.OpenKey(f.key, circom.WithEngine(e.Engine), circom.WithContext(ctx))
		if err != nil {
			return fmt.Errorf("on %s: %w", e.Name, err)
		}
		keys = append(keys, k)
		run := report.Run{Op: "circom", What: f.name, Curve: strings.ReplaceAll(k.Curve().String(), "_", "-"), Oracle: "gnark"}
		run.Figure(report.FigureConstraints, "", float64(k.NbConstraints()))
		run.Took("load", time.Since(start))
		s, err := proofSeries(ctx, r, e, k, run, wtns)
		if err != nil {
			return err
		}
		s.Row = func(run *report.Run) {
			for figure, o := range others {
				run.Sampled(figure, o.Samples, true)
			}
		}
		all = append(all, s)
	}
	all = slices.AppendSeq(all, maps.Values(others))
	return r.Compare(ctx, r.Trial("proofs of "+f.name, all...))
}

// proofSeries times proofs of a witness with a key, and has gnark verify them.
func proofSeries(ctx context.Context, r *bench.Runner, e *bench.Single, k *circom.Key, run report.Run, wtns []byte) (*bench.Series, error) {
	vk, err := k.VerifyingKey().Gnark()
	if err != nil {
		return nil, err
	}
	var proof *circom.Proof
	s := r.Series(e, run, bench.Clock(func() error {
		w, err := circom.ParseWitness(wtns)
		if err != nil {
			return err
		}
		proof, err = k.Prove(ctx, w)
		return err
	}))
	s.Check = func() (int, error) {
		p, public, err := proof.Gnark()
		if err != nil {
			return 0, err
		}
		if groth16.Verify(p, vk, public) != nil {
			return 1, nil
		}
		return 0, nil
	}
	return s, nil
}

// curveOfKey returns the curve of a key in a file.
func curveOfKey(path string) (backend.Curve, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close() // read only
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	d, err := circom.DescribeKey(f, size)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	if curves.ID(backend.BLS12381) == d.Curve {
		return backend.BLS12381, nil
	}
	return backend.BN254, nil
}

// others returns the other provers, by their figure.
func (c *Circom) others(ctx context.Context, f *circomFiles) map[string]*bench.Series {
	all := map[string]*bench.Series{}
	for figure, command := range map[string][]string{figureRapidsnark: {c.Rapidsnark}, figureSnarkjs: {c.Snarkjs, "groth16", "prove"}} {
		if command[0] != "" {
			all[figure] = &bench.Series{Silent: true, Once: bench.Clock(func() error { return f.proveBy(ctx, figure, command) })}
		}
	}
	return all
}

// proveBy proves with another prover's command, to which the files are added.
func (f *circomFiles) proveBy(ctx context.Context, name string, command []string) error {
	var said bytes.Buffer
	line := append(slices.Clone(command), f.key, f.witness, filepath.Join(f.out, "proof.json"), filepath.Join(f.out, "public.json"))
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(said.String()))
	}
	return nil
}
