// Package pedersen is gnark-crypto's Pedersen vector commitments on an engine:
// the proving key's points are loaded once and stay where the backend computes.
//
//	key, err := pedersen.LoadBN254(ctx, e, pk)
//	commitment, err := key.Commit(ctx, values)
//	proof, err := key.ProveKnowledge(ctx, values)
//
// Arguments and results are gnark-crypto's of the same name, with a context;
// gnark-crypto's package verifies. Values are secret: they are read during a
// call only.
package pedersen

import (
	"context"
	"errors"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/resident"
)

// Key is a Pedersen proving key resident in an engine: P is gnark-crypto's
// point in G1, S its scalar. Safe for concurrent use.
type Key[P, S any] struct {
	basis, sigma *resident.Table[P, S]
	end          func() error // of an engine of its own
}

// load loads the points of a key.
func load[P, S any](ctx context.Context, e *engine.Engine, g *group.Ops[P, S], basis, sigma []P) (_ *Key[P, S], err error) {
	if len(basis) != len(sigma) {
		return nil, fmt.Errorf("%w: a Pedersen key of %d and %d points", backend.ErrInvalidInput, len(basis), len(sigma))
	}
	k := &Key[P, S]{}
	if e, k.end, err = resident.Or(ctx, e); err != nil {
		return nil, err
	}
	if k.basis, err = resident.Load(ctx, e, g, basis); err == nil {
		k.sigma, err = resident.Load(ctx, e, g, sigma)
	}
	if err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return k, nil
}

// Close frees the points after the calls in flight. Closing twice is no error.
func (k *Key[P, S]) Close() error {
	return errors.Join(k.basis.Close(), k.sigma.Close(), k.end())
}

// Len returns how many values a commitment is to.
func (k *Key[P, S]) Len() int { return k.basis.Len() }

// Commit returns the commitment to Len values.
func (k *Key[P, S]) Commit(ctx context.Context, values []S) (P, error) {
	return k.sum(ctx, k.basis, values)
}

// ProveKnowledge proves that the values of a commitment are known.
func (k *Key[P, S]) ProveKnowledge(ctx context.Context, values []S) (P, error) {
	return k.sum(ctx, k.sigma, values)
}

func (k *Key[P, S]) sum(ctx context.Context, t *resident.Table[P, S], values []S) (P, error) {
	if len(values) != t.Len() {
		var zero P
		return zero, fmt.Errorf("%w: %d values for %d points", backend.ErrInvalidInput, len(values), t.Len())
	}
	return t.Sum(ctx, values)
}
