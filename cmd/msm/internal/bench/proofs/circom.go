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
	"runtime"
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
	// InFlight, when above zero, has as many proofs made again with that many in flight, one backend
	// after the other.
	InFlight int
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
	if err := validateInFlight(c.InFlight); err != nil {
		return err
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
			"rapidsnark's and snarkjs's are of their whole processes, which read the key. " +
			"\"ms a proof\" is a stream's time divided by its proofs.",
		Before: []report.Column{
			report.ColumnWhat("circuit", report.Stays), report.ColumnCurve(7),
			report.ColumnFigure("constraints", 4, report.FigureConstraints, "%.0f"), report.ColumnBackend(8),
		},
		After: append([]report.Column{
			report.ColumnMillis("load ms", 2, "load"), report.ColumnMillis("rapidsnark ms", 3, figureRapidsnark),
			report.ColumnMillis("snarkjs ms", 1, figureSnarkjs),
		}, streamColumns()...),
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
	var streams []func() error
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
		p := &circomProver{Key: k, wtns: wtns}
		if p.vk, err = k.VerifyingKey().Gnark(); err != nil {
			return err
		}
		s := r.Series(e, run, bench.Clock(func() (err error) {
			p.proof, err = p.prove(ctx)
			return err
		}))
		s.Check = func() (int, error) { return p.refused(p.proof) }
		s.Row = func(run *report.Run) {
			for figure, o := range others {
				run.Sampled(figure, o.Samples, true)
			}
			streamed(run, c.InFlight, p.perProof)
		}
		all, streams = append(all, s), append(streams, func() (err error) {
			r.Progress.Tell(fmt.Sprintf("%d proofs of %s in flight on %s", c.InFlight, f.name, e.Name), 0, 1)
			wrong, err := p.stream(ctx, streamLength(c.Count, c.InFlight), c.InFlight)
			s.Run.Wrong += wrong
			return err
		})
	}
	all = slices.AppendSeq(all, maps.Values(others))
	t := r.Trial("proofs of "+f.name, all...)
	t.After = func() (err error) {
		for i := 0; c.InFlight > 0 && i < len(streams) && err == nil; i++ {
			err = streams[i]()
		}
		return err
	}
	return r.Compare(ctx, t)
}

// circomProver proves a witness with a key.
type circomProver struct {
	*circom.Key
	vk       groth16.VerifyingKey
	wtns     []byte
	proof    *circom.Proof // the last one
	perProof time.Duration // of a stream
}

// prove makes a proof from the witness's file.
func (p *circomProver) prove(ctx context.Context) (*circom.Proof, error) {
	w, err := circom.ParseWitness(p.wtns)
	if err != nil {
		return nil, err
	}
	return p.Prove(ctx, w)
}

// stream makes n proofs, some at a time, and has gnark verify them outside of its time.
func (p *circomProver) stream(ctx context.Context, n, inFlight int) (wrong int, err error) {
	proofs := make([]*circom.Proof, n)
	runtime.GC()
	start := time.Now()
	err = bench.InFlight(ctx, inFlight, n, func(i int) (err error) {
		proofs[i], err = p.prove(ctx)
		return err
	})
	if err != nil {
		return 0, err
	}
	p.perProof = time.Since(start) / time.Duration(n)
	return p.refused(proofs...)
}

// refused returns how many proofs gnark's verifier refuses.
func (p *circomProver) refused(proofs ...*circom.Proof) (n int, err error) {
	for _, proof := range proofs {
		g, public, err := proof.Gnark()
		if err != nil {
			return 0, err
		}
		if groth16.Verify(g, p.vk, public) != nil {
			n++
		}
	}
	return n, nil
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
