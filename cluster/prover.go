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

// Proof is gnark's groth16.Proof or plonk.Proof.
type Proof = wire.Proof

// Key is a proving key or a verifying key of either system.
type Key interface {
	io.WriterTo
	WriteRawTo(io.Writer) (int64, error)
}

// Options say how proofs are made.
type Options struct {
	// Solidity makes the prover hash challenges like the verifiers that gnark exports to Solidity.
	// It is gnark's solidity.WithProverTargetSolidityVerifier.
	Solidity bool
}

// Prover gets proofs of one circuit with one key from the cluster.
type Prover struct {
	client *Client
	work   Work
	verify wire.Verifier
	when   JobOptions
}

// With returns a copy of the prover whose jobs have these options.
func (p *Prover) With(o JobOptions) *Prover {
	q := *p
	q.when = o
	return &q
}

// Add makes a circuit and its keys known to the cluster. The keys are a groth16.ProvingKey and
// groth16.VerifyingKey, or those of plonk. Add sends only what the cluster does not have; to find
// that out, it hashes everything. The prover keeps the verifying key. Errors wrap ErrFull or a
// sentinel of package backend, or are the context's.
func (c *Client) Add(ctx context.Context, ccs constraint.ConstraintSystem, pk, vk Key, o Options) (*Prover, error) {
	system, curve, err := proofsystem.Of(ccs)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
	}
	w := Work{System: string(system), Curve: curve.String(), Solidity: o.Solidity}
	return c.AddFrom(ctx, w, to(ccs.WriteTo), to(pk.WriteRawTo), to(vk.WriteRawTo))
}

// AddFrom is Add for a circuit and keys that gnark wrote, compressed or raw. It calls each function
// several times; a function must write the same bytes each time. AddFrom sets the digests of w.
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
		if *o.digest, err = c.upload(ctx, o.write); err != nil {
			return nil, err
		}
	}
	return &Prover{client: c, work: w, verify: verify}, nil
}

// upload has the cluster store what write writes, unless it has it, and returns the digest.
func (c *Client) upload(ctx context.Context, write func(io.Writer) error) (digest string, err error) {
	if digest, err = wire.Digest(write); err != nil {
		return "", fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
	}
	_, has, err := wire.HasKey(ctx, c.link, c.tenant, digest)
	if err == nil && !has {
		err = wire.PutKey(ctx, c.link, c.tenant, digest, write)
	}
	if err != nil {
		return "", fmt.Errorf("uploading: %w", refusal(ctx, err))
	}
	return digest, nil
}

// to adapts a method such as WriteTo: it drops the number of bytes written.
func to(write func(io.Writer) (int64, error)) func(io.Writer) error {
	return func(w io.Writer) error { _, err := write(w); return err }
}

// Work returns the work of the prover's jobs.
func (p *Prover) Work() Work { return p.work }

// Prove returns a proof for a full witness. A worker makes and verifies the proof, and Prove
// verifies it again. Calls may be concurrent. Errors wrap ErrDead, ErrFull or a sentinel of package
// backend, or are the context's.
//
// If the context ends, Prove cancels the job, unless the job has a name: then it goes on. The job
// is not begun after the context's deadline.
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
	_ = p.client.Taken(id) // if this fails, the result stays until there is no room
	return proof, nil
}
