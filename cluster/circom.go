package cluster

import (
	"context"
	"fmt"
	"io"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/prover/circom"
)

// Circom is the system of circom's circuits, which AddCircom adds. Their proofs are Groth16's, in
// snarkjs's forms.
const Circom = wire.Circom

// CircomProver gets proofs of one of circom's circuits from the cluster.
type CircomProver struct {
	client *Client
	work   Work
	key    *circom.Description
	when   JobOptions
}

// AddCircom makes a proving key of snarkjs's known to the cluster: a .zkey file of some size. It sends
// the file unless the cluster has it; to find that out, it hashes all of it. Its lengths and its
// verifying key are checked here. Errors wrap ErrFull or a sentinel of package backend, or are the
// context's.
func (c *Client) AddCircom(ctx context.Context, zkey io.ReaderAt, size int64) (*CircomProver, error) {
	key, err := circom.DescribeKey(zkey, size)
	if err != nil {
		return nil, err
	}
	curve, err := backend.ParseCurve(key.Curve.String())
	if err != nil {
		return nil, err
	}
	w := Work{System: Circom, Curve: curve.String()}
	if w.ProvingKey, err = c.upload(ctx, func(to io.Writer) error {
		_, err := io.Copy(to, io.NewSectionReader(zkey, 0, size))
		return err
	}); err != nil {
		return nil, err
	}
	return &CircomProver{client: c, work: w, key: key}, nil
}

// With returns a copy of the prover whose jobs have these options.
func (p *CircomProver) With(o JobOptions) *CircomProver {
	q := *p
	q.when = o
	return &q
}

// Work returns the work of the prover's jobs.
func (p *CircomProver) Work() Work { return p.work }

// Key returns what the key says of its circuit. Nobody may change it.
func (p *CircomProver) Key() *circom.Description { return p.key }

// Prove returns a proof for a witness, with its public signals. A worker makes and verifies the proof,
// and Prove verifies it again. Calls may be concurrent. Contexts and errors are those of Prover.Prove.
// The error about a witness that does not satisfy the circuit wraps ErrDead and backend.ErrInvalidInput.
func (p *CircomProver) Prove(ctx context.Context, w circom.Witness) (*circom.Proof, error) {
	if err := p.key.Fits(w); err != nil {
		return nil, err
	}
	plain, err := w.MarshalBinary()
	if err != nil {
		return nil, err
	}
	defer clear(plain)
	id, text, err := p.client.run(ctx, p.work, plain, p.when)
	if err != nil {
		return nil, err
	}
	proof, err := circom.ParseProof(text, []byte("[]"))
	if err == nil {
		proof.Public = w.Public(p.key.Public)
		err = p.key.VerifyingKey.Verify(proof)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the proof from the cluster: %w", backend.ErrInternal, err)
	}
	_ = p.client.Taken(id) // if this fails, the result stays until there is no room
	return proof, nil
}
