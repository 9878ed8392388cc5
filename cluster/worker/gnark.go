package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/proofsystem"
)

// openGnark opens a prover of one of gnark's proof systems.
func openGnark(ctx context.Context, e *engine.Engine, w cluster.Work, f Files) (Prover, error) {
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
	// The key's points are not checked: the digest proves that they are what the key's owner
	// stored, and the owner verifies the proof.
	if err := Read(ctx, f.ProvingKey, keys.ReadProving); err != nil {
		return nil, err
	}
	Progress(ctx)
	if p.shape, err = wire.ShapeOf(w, ccs); err != nil {
		return nil, err
	}
	if p.Prover, err = keys.NewProver(e, ccs, proofsystem.Options{}); err != nil {
		return nil, err
	}
	return p, nil
}

type gnarkProver struct {
	proofsystem.Prover
	work   wire.Work
	scheme proofsystem.Scheme
	shape  wire.Shape
	verify wire.Verifier
}

// WitnessBytes returns the size in bytes of the circuit's witnesses.
func (p *gnarkProver) WitnessBytes() int { return p.shape.Bytes() }

func (p *gnarkProver) Prove(ctx context.Context, text []byte) ([]byte, error) {
	if err := p.shape.Check(text); err != nil { // gnark takes as much memory as the header asks for
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

// discreet returns a prover's error without values of the witness. gnark's solver puts such values
// into its errors, but the reason of a job's failure is stored and shown.
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
