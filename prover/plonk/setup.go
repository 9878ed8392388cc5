package plonk

import (
	"context"
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/kzg"
	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/resident"
)

// Setup makes keys as gnark's Setup does, with the engine of Use: they are gnark's byte for
// byte. If srsLagrange is nil, Setup makes it of srs.
func Setup(ccs constraint.ConstraintSystem, srs, srsLagrange kzg.SRS) (ProvingKey, VerifyingKey, error) {
	return SetupOn(context.Background(), kept.Engine(), ccs, srs, srsLagrange)
}

// SetupOn does what Setup does on an engine; a nil engine is one in this process. When ctx
// ends, SetupOn returns its error.
func SetupOn(ctx context.Context, e *engine.Engine, ccs constraint.ConstraintSystem, srs, srsLagrange kzg.SRS) (ProvingKey, VerifyingKey, error) {
	b, s, err := bindingOf(ccs)
	if err != nil {
		return nil, nil, err
	}
	e, end, err := resident.Or(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	pk, vk, err := b.setup(ctx, e, ccs, s, srs, srsLagrange)
	return pk, vk, errors.Join(err, end())
}

// keys is what a set-up makes, for a curve to put into gnark's types.
type keys[P, S any] struct {
	parts[P, S]
	inverse S // of the number of rows
	srs     kzg.SRS
}

func (c *curve[P, S]) setup(ctx context.Context, e *engine.Engine, ccs constraint.ConstraintSystem, s *shape, srs, srsLagrange kzg.SRS) (_ ProvingKey, _ VerifyingKey, err error) {
	if _, err := c.systemOf(ccs); err != nil {
		return nil, nil, err
	}
	k := &keys[P, S]{srs: srs}
	k.public = s.public
	if k.n, k.root, k.shift = c.rows(s.used()); k.n < 2 {
		return nil, nil, fmt.Errorf("%w: a circuit of %d constraints and public values, PLONK's least is 2", backend.ErrInvalidInput, s.used())
	}
	k.inverse = c.fr.Inverse(c.fr.Number(k.n))
	for _, i := range s.info.CommitmentIndexes() {
		k.commitments = append(k.commitments, uint64(i))
	}
	points := func(srs kzg.SRS, what string, least, most int) ([]P, error) {
		p, ok := c.points(srs)
		switch {
		case !ok:
			return nil, fmt.Errorf("%w: a %s of type %T with a constraint system of another curve", backend.ErrInvalidInput, what, srs)
		case len(p) < least || len(p) > most:
			return nil, fmt.Errorf("%w: a %s of %d points, the circuit needs %d", backend.ErrInvalidInput, what, len(p), least)
		}
		return p, nil
	}
	if k.canonical, err = points(srs, "setup", k.n+3, backend.MaxCount); err != nil {
		return nil, nil, err
	}
	k.canonical = k.canonical[:k.n+3]
	if srsLagrange == nil {
		k.lagrange, err = c.g1.Group.ToLagrange(ctx, e, k.canonical[:k.n])
	} else {
		k.lagrange, err = points(srsLagrange, "setup in Lagrange form", k.n, k.n)
	}
	if err != nil {
		return nil, nil, err
	}
	if k.columns, err = c.commitments(ctx, e, k.lagrange, c.trace(ccs, k.n)); err != nil {
		return nil, nil, err
	}
	return c.keys(k)
}

// commitments returns the commitments to a circuit's columns, in the order of parts.
func (c *curve[P, S]) commitments(ctx context.Context, e *engine.Engine, lagrange []P, t *trace[S]) (_ []P, err error) {
	table, err := resident.Load(ctx, e, c.g1, lagrange)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, table.Close()) }()
	columns := [][]S{
		t.columns[sigma1], t.columns[sigma2], t.columns[sigma3],
		t.columns[left], t.columns[right], t.columns[product], t.columns[output], t.fixed,
	}
	columns = append(columns, t.commitment...)
	sums := make([]P, len(columns))
	batch := resident.NewBatch(e)
	for i, column := range columns {
		resident.Add(ctx, batch, table, column, resident.Auto, &sums[i])
	}
	if err := batch.Run(ctx); err != nil {
		return nil, err
	}
	return sums, nil
}
