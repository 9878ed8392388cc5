package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	bls12377 "github.com/consensys/gnark/constraint/bls12-377"
	bls12381 "github.com/consensys/gnark/constraint/bls12-381"
	bn254 "github.com/consensys/gnark/constraint/bn254"
	bw6761 "github.com/consensys/gnark/constraint/bw6-761"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/plonk"
)

// Gnark opens provers of this module on an engine, which stays the caller's. Hints of
// gnark's own library are known; a program whose circuits have others registers them
// (solver.RegisterHint) and is a worker itself.
//
// For jobs whose proofs take longer than Config.Stall the engine has Observe's
// observer, so that its phases are progress.
func Gnark(engine *engine.Engine) Opener {
	return func(ctx context.Context, w cluster.Work, f Files) (Prover, error) {
		curve, err := wire.CurveOf(w)
		if err != nil {
			return nil, err
		}
		p := &gnarkProver{work: w}
		var text bytes.Buffer
		if err := Read(ctx, f.VerifyingKey, func(r io.Reader) error { _, err := text.ReadFrom(r); return err }); err != nil {
			return nil, err
		}
		if p.verify, err = wire.VerifierOf(w, &text); err != nil {
			return nil, err
		}
		p.field = func() (witness.Witness, error) { return witness.New(curve.ScalarField()) }
		var ccs constraint.ConstraintSystem
		var pk interface {
			UnsafeReadFrom(io.Reader) (int64, error)
		}
		if w.System == cluster.Groth16 {
			ccs, pk = groth16.NewCS(curve), groth16.NewProvingKey(curve)
		} else {
			ccs, pk = plonk.NewCS(curve), plonk.NewProvingKey(curve)
		}
		if err := Read(ctx, f.Circuit, from(ccs.ReadFrom)); err != nil {
			return nil, err
		}
		// The key's points are not looked at: the digest says that they are its
		// owner's, who verifies the proof.
		if err := Read(ctx, f.ProvingKey, from(pk.UnsafeReadFrom)); err != nil {
			return nil, err
		}
		Progress(ctx)
		if w.System == cluster.Groth16 {
			q, err := groth16.NewProver(engine, ccs, pk.(groth16.ProvingKey))
			if err != nil {
				return nil, err
			}
			p.close = q.Close
			p.prove = func(ctx context.Context, full witness.Witness) (wire.Proof, error) {
				return q.Prove(ctx, full, wire.ProverOptions(w)...)
			}
			return p, nil
		}
		q, err := plonk.NewProver(engine, ccs, pk.(plonk.ProvingKey))
		if err != nil {
			return nil, err
		}
		p.close = q.Close
		p.prove = func(ctx context.Context, full witness.Witness) (wire.Proof, error) {
			return q.Prove(ctx, full, wire.ProverOptions(w)...)
		}
		return p, nil
	}
}

// from forgets how much was read.
func from(read func(io.Reader) (int64, error)) func(io.Reader) error {
	return func(r io.Reader) error { _, err := read(r); return err }
}

type gnarkProver struct {
	work   wire.Work
	field  func() (witness.Witness, error)
	verify wire.Verifier
	prove  func(context.Context, witness.Witness) (wire.Proof, error)
	close  func() error
}

func (p *gnarkProver) Close() error { return p.close() }

func (p *gnarkProver) Prove(ctx context.Context, text []byte) ([]byte, error) {
	full, err := p.field()
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
	proof, err := p.prove(ctx, full)
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

// Observe makes the phases of an engine progress of jobs, for engine.Config.Observer.
func Observe() engine.Observer { return observer{} }

type observer struct{}

func (observer) Begin(ctx context.Context, _ engine.Phase) (context.Context, func(error)) {
	Progress(ctx)
	return ctx, func(error) { Progress(ctx) }
}

// discreet is an error of a prover without the values of the witness that gnark's
// solver puts into its own: what a job failed of is stored and shown.
func discreet(err error) error {
	for _, constraint := range []func(error) (int, bool){
		number(func(e *bn254.UnsatisfiedConstraintError) int { return e.CID }),
		number(func(e *bls12377.UnsatisfiedConstraintError) int { return e.CID }),
		number(func(e *bls12381.UnsatisfiedConstraintError) int { return e.CID }),
		number(func(e *bw6761.UnsatisfiedConstraintError) int { return e.CID }),
	} {
		if n, ok := constraint(err); ok {
			return fmt.Errorf("%w: constraint %d is not satisfied", ErrJob, n)
		}
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

// number is the number of the constraint that an error of type E is about.
func number[E error](of func(E) int) func(error) (int, bool) {
	return func(err error) (int, bool) {
		var e E
		if !errors.As(err, &e) {
			return 0, false
		}
		return of(e), true
	}
}
