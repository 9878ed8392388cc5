package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/proofsystem"
)

// Gnark opens provers of this module on an engine, which stays the caller's. Hints of
// gnark's own library are known; a program whose circuits have others registers them
// (solver.RegisterHint) and is a worker itself.
//
// For jobs whose proofs take longer than Config.Stall the engine has Observe's
// observer, so that its phases are progress.
func Gnark(engine *engine.Engine) Opener {
	return func(ctx context.Context, w cluster.Work, f Files) (Prover, error) {
		scheme, err := wire.SchemeOf(w)
		if err != nil {
			return nil, err
		}
		p := &gnarkProver{work: w, scheme: scheme}
		var text bytes.Buffer
		if err := Read(ctx, f.VerifyingKey, func(r io.Reader) error { _, err := text.ReadFrom(r); return err }); err != nil {
			return nil, err
		}
		if p.verify, err = wire.VerifierOf(w, &text); err != nil {
			return nil, err
		}
		ccs, keys := scheme.NewConstraints(), scheme.NewKeys()
		if err := Read(ctx, f.Circuit, func(r io.Reader) error { _, err := ccs.ReadFrom(r); return err }); err != nil {
			return nil, err
		}
		// The key's points are not looked at: the digest says that they are its
		// owner's, who verifies the proof.
		if err := Read(ctx, f.ProvingKey, keys.ReadProving); err != nil {
			return nil, err
		}
		Progress(ctx)
		if p.shape, err = wire.ShapeOf(w, ccs); err != nil {
			return nil, err
		}
		if p.Prover, err = keys.NewProver(engine, ccs, proofsystem.Options{}); err != nil {
			return nil, err
		}
		return p, nil
	}
}

type gnarkProver struct {
	proofsystem.Prover
	work   wire.Work
	scheme proofsystem.Scheme
	shape  wire.Shape
	verify wire.Verifier
}

// WitnessBytes returns how many bytes the circuit's witnesses have.
func (p *gnarkProver) WitnessBytes() int { return p.shape.Bytes() }

func (p *gnarkProver) Prove(ctx context.Context, text []byte) ([]byte, error) {
	if err := p.shape.Check(text); err != nil { // gnark takes memory for what the header says
		return nil, fmt.Errorf("%w: %w", ErrJob, err)
	}
	full, err := p.scheme.NewWitness()
	if err != nil {
		return nil, err
	}
	if err := full.UnmarshalBinary(text); err != nil {
		return nil, fmt.Errorf("%w: the witness: %w", ErrJob, err)
	}
	public, err := full.Public()
	if err != nil {
		return nil, fmt.Errorf("%w: the witness: %w", ErrJob, err)
	}
	proof, err := p.Prover.Prove(ctx, full, wire.ProverOptions(p.work, p.scheme)...)
	if err != nil {
		return nil, discreet(err)
	}
	var out bytes.Buffer
	if _, err := proof.WriteTo(&out); err != nil {
		return nil, err
	}
	if _, err := p.verify(out.Bytes(), public); err != nil {
		return nil, fmt.Errorf("the proof does not verify: %w", err)
	}
	return out.Bytes(), nil
}

// Observe makes the phases of an engine progress of jobs, for engine.Config.Observer, and
// charges jobs with the time of calls that backends compute.
func Observe() engine.Observer { return observer{} }

type observer struct{}

func (observer) Begin(ctx context.Context, p engine.Phase) (context.Context, func(error)) {
	Progress(ctx)
	began := time.Now()
	return ctx, func(error) {
		Progress(ctx)
		if p.Kind == engine.PhaseMSM || p.Kind == engine.PhaseProgram {
			charge(ctx, time.Since(began))
		}
	}
}

// discreet returns an error of a prover without the values of the witness that gnark's
// solver puts into its own: what a job failed of is stored and shown.
func discreet(err error) error {
	if n, ok := proofsystem.Unsatisfied(err); ok {
		return fmt.Errorf("%w: constraint %d is not satisfied", ErrJob, n)
	}
	for _, known := range []error{
		backend.ErrGone, backend.ErrUnavailable, backend.ErrInternal, backend.ErrOutOfMemory, backend.ErrUnsupported,
		context.Canceled, context.DeadlineExceeded, backend.ErrClosed, backend.ErrInvalidInput,
	} {
		if errors.Is(err, known) {
			return fmt.Errorf("the prover: %w", known)
		}
	}
	return fmt.Errorf("the prover failed (%T)", err)
}
