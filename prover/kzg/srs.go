package kzg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/keyfile"
	"github.com/pippin-zk/pippin/prover/internal/merge"
	"github.com/pippin-zk/pippin/prover/internal/resident"
)

// powers returns size points, the products of g by 1, alpha, alpha^2, ..
func powers[P, S any](ctx context.Context, e *engine.Engine, g1 *group.Ops[P, S], fr *group.Field[S], g P, alpha *big.Int, size uint64) ([]P, error) {
	if size > backend.MaxCount-1 {
		return nil, fmt.Errorf("%w: a key of %d points, at most %d are possible", backend.ErrInvalidInput, size, backend.MaxCount-1)
	}
	e, end, err := resident.Or(ctx, e)
	if err != nil {
		return nil, err
	}
	scalars := make([]S, size)
	defer merge.Wipe(scalars)
	one, by := fr.One(), make([]S, 1)
	defer clear(by)
	fr.SetBig(&by[0], alpha)
	if err := fr.Powers(ctx, scalars, &one, &by[0]); err != nil {
		return nil, errors.Join(err, end())
	}
	points, err := g1.Group.Multiples(ctx, e, g, scalars)
	return points, errors.Join(err, end())
}

// lagrange returns a key in Lagrange form.
func lagrange[P, S any](ctx context.Context, e *engine.Engine, g1 *group.Ops[P, S], coeffs []P) ([]P, error) {
	e, end, err := resident.Or(ctx, e)
	if err != nil {
		return nil, err
	}
	points, err := g1.Group.ToLagrange(ctx, e, coeffs)
	return points, errors.Join(err, end())
}

// readSRS reads the points of a key in any form, and has verifying read the rest of it,
// which is before the points in a dump. A dump begins with the generator of G2.
func readSRS[P, S any](ctx context.Context, e *engine.Engine, g1 *group.Ops[P, S], g2 []byte, from io.Reader, verifying func(io.Reader) error) ([]P, error) {
	e, end, err := resident.Or(ctx, e)
	if err != nil {
		return nil, err
	}
	// Every key is longer than one point: its lines are.
	first := make([]byte, len(g2))
	n, err := io.ReadFull(from, first)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.Join(fmt.Errorf("the key's first bytes: %w", err), end())
	}
	from = io.MultiReader(bytes.NewReader(first[:n]), from)
	r := keyfile.New(ctx, e, from, keyfile.PieceBytes)
	dump := bytes.Equal(first, g2)
	if dump {
		if err := verifying(from); err != nil {
			r.Refuse("Vk: %w", err)
		}
		r.Marker()
	}
	points := keyfile.Points(r, g1.Group, "Pk.G1")
	if len(points) < 2 {
		r.Refuse("Pk.G1: %d points", len(points))
	}
	if !dump && r.Err() == nil {
		if err := verifying(from); err != nil {
			r.Refuse("Vk: %w", err)
		}
	}
	return points, errors.Join(r.End(), end())
}

var errLines = errors.New("its lines are not those of its points")
