package kzg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/prover/internal/keyfile"
	"github.com/pippin-zk/pippin/prover/internal/merge"
	"github.com/pippin-zk/pippin/prover/internal/resident"
)

// makeSRS makes a key of size points from a secret.
func (c *curve[P, S, O, B, R]) makeSRS(ctx context.Context, e *engine.Engine, size uint64, alpha *big.Int) (*R, error) {
	if size < 2 || alpha.Sign() < 0 {
		return c.newSRS(size, alpha) // an error, or what alpha = -1 stands for
	}
	srs, err := c.newSRS(2, alpha)
	if err != nil {
		return nil, err
	}
	points := c.points(srs)
	*points, err = c.powers(ctx, e, (*points)[0], alpha, size)
	if err != nil {
		return nil, err
	}
	return srs, nil
}

// powers returns size points, the products of g by 1, alpha, alpha^2, ..
func (f *field[P, S]) powers(ctx context.Context, e *engine.Engine, g P, alpha *big.Int, size uint64) ([]P, error) {
	if size > backend.MaxCount-1 {
		return nil, fmt.Errorf("%w: a key of %d points, at most %d are possible", backend.ErrInvalidInput, size, backend.MaxCount-1)
	}
	e, end, err := resident.Or(ctx, e)
	if err != nil {
		return nil, err
	}
	scalars := make([]S, size)
	defer merge.Wipe(scalars)
	one, by := f.fr.One(), make([]S, 1)
	defer clear(by)
	f.fr.SetBig(&by[0], alpha)
	if err := f.fr.Powers(ctx, scalars, &one, &by[0]); err != nil {
		return nil, errors.Join(err, end())
	}
	points, err := f.g1.Group.Multiples(ctx, e, g, scalars)
	return points, errors.Join(err, end())
}

// lagrange returns a key in Lagrange form.
func (f *field[P, S]) lagrange(ctx context.Context, e *engine.Engine, coeffs []P) ([]P, error) {
	e, end, err := resident.Or(ctx, e)
	if err != nil {
		return nil, err
	}
	points, err := f.g1.Group.ToLagrange(ctx, e, coeffs)
	return points, errors.Join(err, end())
}

// SRS is gnark-crypto's type SRS of one curve.
type SRS interface {
	io.WriterTo
	WriteRawTo(io.Writer) (int64, error)
	WriteDump(to io.Writer, mostPoints ...int) error
}

// binding is a curve without its types.
type binding interface {
	readAny(context.Context, *engine.Engine, io.Reader) (SRS, error)
}

// ReadSRS reads what WriteTo, WriteRawTo or WriteDump of gnark-crypto's SRS of a curve has
// written; the form is told from the bytes, a dump by the generator of G2 with which it begins.
// The points of its proving key are decompressed and checked on the engine, those of a dump
// too; a nil engine is one in this process. A damaged key is backend.ErrInvalidInput, and the
// error names the place. No byte behind the key is read. A curve without a prover here is
// backend.ErrUnsupported. ReadSRSBN254, and its like, return the curve's type.
func ReadSRS(ctx context.Context, e *engine.Engine, curve ecc.ID, from io.Reader) (SRS, error) {
	b, ok := bindings[curve]
	if !ok {
		return nil, fmt.Errorf("%w: KZG on the curve %s", backend.ErrUnsupported, curve)
	}
	return b.readAny(ctx, e, from)
}

func (c *curve[P, S, O, B, R]) readAny(ctx context.Context, e *engine.Engine, from io.Reader) (SRS, error) {
	srs, err := c.readSRS(ctx, e, from)
	if err != nil {
		return nil, err
	}
	return any(srs).(SRS), nil
}

// readSRS reads the points of a key in any form, and the verifying key, which is before the
// points in a dump. A dump begins with the generator of G2.
func (c *curve[P, S, O, B, R]) readSRS(ctx context.Context, e *engine.Engine, from io.Reader) (*R, error) {
	e, end, err := resident.Or(ctx, e)
	if err != nil {
		return nil, err
	}
	// Every key is longer than one point: its lines are.
	g2 := c.generator2()
	first := make([]byte, len(g2))
	n, err := io.ReadFull(from, first)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.Join(fmt.Errorf("the key's first bytes: %w", err), end())
	}
	from = io.MultiReader(bytes.NewReader(first[:n]), from)
	r, srs := keyfile.New(ctx, e, from, keyfile.PieceBytes), new(R)
	verifying := func() {
		lines, err := c.verifying(srs, from)
		if err == nil && !lines {
			err = errLines
		}
		if err != nil {
			r.Refuse("Vk: %w", err)
		}
	}
	dump := bytes.Equal(first, g2)
	if dump {
		verifying()
		r.Marker()
	}
	points := c.points(srs)
	*points = keyfile.Points(r, c.g1.Group, "Pk.G1")
	if len(*points) < 2 {
		r.Refuse("Pk.G1: %d points", len(*points))
	}
	if !dump && r.Err() == nil {
		verifying()
	}
	if err := errors.Join(r.End(), end()); err != nil {
		return nil, err
	}
	return srs, nil
}

var errLines = errors.New("its lines are not those of its points")

// generator2 returns the generator of G2, uncompressed.
func (f *field[P, S]) generator2() []byte {
	of := backend.PointOf(f.g1.Group.Curve(), backend.G2)
	b := make([]byte, backend.Uncompressed.Bytes(of))
	curves.GroupOf(of.Curve, of.Group).Generator().Encode(0, b, backend.Uncompressed)
	return b
}
