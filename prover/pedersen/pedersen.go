// Package pedersen is gnark-crypto's Pedersen vector commitments on an engine:
// the proving key's points are loaded once and stay where the backend computes.
//
//	key, err := pedersen.LoadBN254(ctx, engine, pk)
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

	"github.com/consensys/gnark-crypto/ecc/bls12-377"
	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	pedersen377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr/pedersen"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	pedersen381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr/pedersen"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	pedersen254 "github.com/consensys/gnark-crypto/ecc/bn254/fr/pedersen"
	"github.com/consensys/gnark-crypto/ecc/bw6-761"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"
	pedersen761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr/pedersen"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/resident"
)

// Key is a Pedersen proving key resident in an engine: P is gnark-crypto's
// point in G1, S its scalar. Safe for concurrent use.
type Key[P, J, S any] struct {
	basis, sigma *resident.Table[P, J, S]
}

func load[P, J, S any](ctx context.Context, e *msm.Engine, g *group.Ops[P, J, S], basis, sigma []P) (*Key[P, J, S], error) {
	if len(basis) != len(sigma) {
		return nil, fmt.Errorf("%w: a Pedersen key of %d and %d points", backend.ErrInvalidInput, len(basis), len(sigma))
	}
	b, err := resident.Load(ctx, e, g, basis)
	if err != nil {
		return nil, err
	}
	s, err := resident.Load(ctx, e, g, sigma)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return &Key[P, J, S]{b, s}, nil
}

// Close frees the points after the calls in flight. Closing twice is no error.
func (k *Key[P, J, S]) Close() error { return errors.Join(k.basis.Close(), k.sigma.Close()) }

// Len is the number of values that a commitment is to.
func (k *Key[P, J, S]) Len() int { return k.basis.Len() }

// Commit is the commitment to Len values.
func (k *Key[P, J, S]) Commit(ctx context.Context, values []S) (P, error) {
	return k.sum(ctx, k.basis, values)
}

// ProveKnowledge proves that the values of a commitment are known.
func (k *Key[P, J, S]) ProveKnowledge(ctx context.Context, values []S) (P, error) {
	return k.sum(ctx, k.sigma, values)
}

func (k *Key[P, J, S]) sum(ctx context.Context, t *resident.Table[P, J, S], values []S) (P, error) {
	if len(values) != t.Len() {
		var zero P
		return zero, fmt.Errorf("%w: %d values for %d points", backend.ErrInvalidInput, len(values), t.Len())
	}
	return t.Sum(ctx, values)
}

// The keys of the four curves.
type (
	// BN254 is a key on BN254.
	BN254 = Key[bn254.G1Affine, bn254.G1Jac, fr254.Element]
	// BLS12377 is a key on BLS12-377.
	BLS12377 = Key[bls12377.G1Affine, bls12377.G1Jac, fr377.Element]
	// BLS12381 is a key on BLS12-381.
	BLS12381 = Key[bls12381.G1Affine, bls12381.G1Jac, fr381.Element]
	// BW6761 is a key on BW6-761.
	BW6761 = Key[bw6761.G1Affine, bw6761.G1Jac, fr761.Element]
)

// LoadBN254 loads a key on BN254 into the engine; a nil engine has
// gnark-crypto compute in this process. The points must not change until Close.
func LoadBN254(ctx context.Context, e *msm.Engine, pk pedersen254.ProvingKey) (*BN254, error) {
	return load(ctx, e, group.BN254G1, pk.Basis, pk.BasisExpSigma)
}

// LoadBLS12377 loads a key on BLS12-377 into the engine; a nil engine has
// gnark-crypto compute in this process. The points must not change until Close.
func LoadBLS12377(ctx context.Context, e *msm.Engine, pk pedersen377.ProvingKey) (*BLS12377, error) {
	return load(ctx, e, group.BLS12377G1, pk.Basis, pk.BasisExpSigma)
}

// LoadBLS12381 loads a key on BLS12-381 into the engine; a nil engine has
// gnark-crypto compute in this process. The points must not change until Close.
func LoadBLS12381(ctx context.Context, e *msm.Engine, pk pedersen381.ProvingKey) (*BLS12381, error) {
	return load(ctx, e, group.BLS12381G1, pk.Basis, pk.BasisExpSigma)
}

// LoadBW6761 loads a key on BW6-761 into the engine; a nil engine has
// gnark-crypto compute in this process. The points must not change until Close.
func LoadBW6761(ctx context.Context, e *msm.Engine, pk pedersen761.ProvingKey) (*BW6761, error) {
	return load(ctx, e, group.BW6761G1, pk.Basis, pk.BasisExpSigma)
}
