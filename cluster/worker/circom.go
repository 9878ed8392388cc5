package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/prover/circom"
)

// openCircom opens a prover of one of circom's circuits.
func openCircom(ctx context.Context, e *engine.Engine, w cluster.Work, f Files) (Prover, error) {
	curve, err := backend.ParseCurve(w.Curve)
	if err != nil {
		return nil, err
	}
	// The key is read in pieces, and some of them at the same time. So its digest is compared before.
	if err := Read(ctx, f.ProvingKey, func(io.Reader) error { return nil }); err != nil {
		return nil, err
	}
	file, err := os.Open(f.ProvingKey)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errInfrastructure, err)
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errInfrastructure, err)
	}
	// Its points are not checked, for the reason that openGnark gives.
	key, err := circom.LoadKey(pieces{ctx, file}, about.Size(), circom.WithEngine(e), circom.WithContext(ctx), circom.WithoutPointChecks())
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", filepath.Base(f.ProvingKey), err)
	}
	if key.Curve() != curves.ID(curve) {
		return nil, errors.Join(fmt.Errorf("%w: a key on %v for a job on %v", ErrJob, key.Curve(), curve), key.Close())
	}
	return circomProver{key}, nil
}

// pieces is a file that is read for a job: it makes progress with each piece. That the disk fails is not
// the job's fault.
type pieces struct {
	ctx  context.Context
	from io.ReaderAt
}

func (p pieces) ReadAt(b []byte, at int64) (int, error) {
	Progress(p.ctx)
	n, err := p.from.ReadAt(b, at)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", errInfrastructure, err)
	}
	return n, err
}

// circomProver proves with a key of snarkjs's.
type circomProver struct{ key *circom.Key }

// WitnessBytes returns the size in bytes of the circuit's witnesses.
func (p circomProver) WitnessBytes() int { return circom.WitnessBytes(p.key.NbWires()) }

// Prove returns a proof, which the key has verified, as snarkjs writes it. The errors of package circom
// name wires and have no values of them.
func (p circomProver) Prove(ctx context.Context, text []byte) ([]byte, error) {
	w, err := circom.ParseWitness(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrJob, err)
	}
	proof, err := p.key.Prove(ctx, w)
	switch {
	case err == nil:
		return proof.JSON()
	case errors.Is(err, circom.ErrNotVerified), errors.Is(err, backend.ErrInvalidInput):
		return nil, fmt.Errorf("%w: %w", ErrJob, err)
	}
	return nil, discreet(err)
}

// Close frees the key's points.
func (p circomProver) Close() error { return p.key.Close() }
