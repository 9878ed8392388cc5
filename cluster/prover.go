package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/internal/proofsystem"
)

// The proof systems.
const (
	Groth16 = string(proofsystem.Groth16)
	Plonk   = string(proofsystem.PLONK)
)

// Proof is a groth16.Proof or a plonk.Proof of gnark.
type Proof = wire.Proof

// Key is a proving key of either system.
type Key interface {
	io.WriterTo
	WriteRawTo(io.Writer) (int64, error)
}

// Options are how proofs are made.
type Options struct {
	// Solidity has challenges hashed as the verifiers do that gnark exports to
	// Solidity; gnark's solidity.WithProverTargetSolidityVerifier.
	Solidity bool
}

// Prover has proofs made of one circuit with one key.
type Prover struct {
	client *Client
	work   Work
	verify wire.Verifier
	when   JobOptions
}

// With returns a prover whose jobs have these options.
func (p *Prover) With(o JobOptions) *Prover {
	q := *p
	q.when = o
	return &q
}

// Add makes a circuit and its keys known to the cluster: a groth16.ProvingKey and
// groth16.VerifyingKey, or plonk's. What the cluster has is not sent again; to find
// that out, all of it is written into a hash. The prover keeps the verifying key.
func (c *Client) Add(ctx context.Context, ccs constraint.ConstraintSystem, pk, vk Key, o Options) (*Prover, error) {
	system, curve, err := proofsystem.Of(ccs)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
	}
	w := Work{System: string(system), Curve: curve.String(), Solidity: o.Solidity}
	return c.AddFrom(ctx, w, to(ccs.WriteTo), to(pk.WriteRawTo), to(vk.WriteRawTo))
}

// AddFrom does what Add does, for a circuit and keys that gnark wrote, compressed or raw.
// It calls each function several times, which must write the same bytes each time. It
// fills in the digests of w.
func (c *Client) AddFrom(ctx context.Context, w Work, circuit, proving, verifying func(io.Writer) error) (*Prover, error) {
	var vk bytes.Buffer
	if err := verifying(&vk); err != nil {
		return nil, fmt.Errorf("%w: the verifying key: %w", backend.ErrInvalidInput, err)
	}
	verify, err := wire.VerifierOf(w, &vk)
	if err != nil {
		return nil, err
	}
	for _, o := range []struct {
		digest *string
		write  func(io.Writer) error
	}{{&w.Circuit, circuit}, {&w.ProvingKey, proving}, {&w.VerifyingKey, verifying}} {
		if *o.digest, err = wire.Digest(o.write); err != nil {
			return nil, fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
		}
		_, has, err := wire.HasKey(ctx, c.link, c.tenant, *o.digest)
		if err == nil && !has {
			err = wire.PutKey(ctx, c.link, c.tenant, *o.digest, o.write)
		}
		if err != nil {
			return nil, fmt.Errorf("uploading: %w", refusal(ctx, err))
		}
	}
	return &Prover{client: c, work: w, verify: verify}, nil
}

// to forgets how much was written.
func to(write func(io.Writer) (int64, error)) func(io.Writer) error {
	return func(w io.Writer) error { _, err := write(w); return err }
}

// Work returns the work that the prover's jobs belong to.
func (p *Prover) Work() Work { return p.work }

// Prove returns a proof for a full witness. A worker makes and verifies it, and Prove
// verifies it again. Calls may be concurrent. Errors wrap ErrDead, ErrFull or a sentinel
// of package backend, or are the context's. When the context ends the job is cancelled, and
// it is not begun after the context's deadline; a job with a name goes on.
func (p *Prover) Prove(ctx context.Context, w witness.Witness) (Proof, error) {
	if err := wire.Fits(p.work, w); err != nil {
		return nil, err
	}
	plain, err := w.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
	}
	defer clear(plain)
	public, err := w.Public()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
	}
	id, text, err := p.client.run(ctx, p.work, plain, p.when)
	if err != nil {
		return nil, err
	}
	proof, err := p.verify(text, public)
	if err != nil {
		return nil, fmt.Errorf("%w: the proof from the cluster: %w", backend.ErrInternal, err)
	}
	_ = p.client.Taken(id) // else it stays until there is no room
	return proof, nil
}
