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

// Setup does what gnark's Setup does, on the engine of Use: see SetupOn.
func Setup(ccs constraint.ConstraintSystem, srs, srsLagrange kzg.SRS) (ProvingKey, VerifyingKey, error) {
	return SetupOn(context.Background(), kept.Engine(), ccs, srs, srsLagrange)
}

// SetupOn makes the keys of a sparse R1CS as gnark's Setup does. The engine commits to
// the columns of the circuit; a nil engine is one in this process. The keys equal gnark's
// byte for byte, and share the points of srs and srsLagrange. A nil srsLagrange, with
// which gnark crashes, is computed from srs on the engine.
//
// SRSSize says how many points the two must have. Another number, a setup of another
// curve and a constraint system that is not sparse are backend.ErrInvalidInput; a curve
// without a prover here is backend.ErrUnsupported.
//
// Nothing in a set-up is secret. An observer of the engine hears of a phase
// engine.PhaseSetup with the number of points of the key, and within it of the steps that
// compute. When the context ends, SetupOn returns its error.
func SetupOn(ctx context.Context, e *engine.Engine, ccs constraint.ConstraintSystem,
	srs, srsLagrange kzg.SRS) (ProvingKey, VerifyingKey, error) {
	b, s, err := bindingOf(ccs)
	if err != nil {
		return nil, nil, err
	}
	e, end, err := resident.Or(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	pk, vk, err := b.setup(ctx, e, s, ccs, srs, srsLagrange)
	if err = errors.Join(err, end()); err != nil {
		return nil, nil, err
	}
	return pk, vk, nil
}

// setup makes the keys of a constraint system of a shape.
func (c *curve[P, S]) setup(ctx context.Context, e *engine.Engine, s *shape, ccs constraint.ConstraintSystem,
	srs, lagrange kzg.SRS) (_ ProvingKey, _ VerifyingKey, err error) {
	if _, err := c.systemOf(ccs); err != nil {
		return nil, nil, err
	}
	k := &parts[P, S]{n: s.rows(), public: s.public}
	if k.n < 2 {
		return nil, nil, fmt.Errorf("%w: a circuit of %d rows, PLONK needs two", backend.ErrInvalidInput, s.used())
	}
	points, ok := c.srsPoints(srs)
	if !ok {
		return nil, nil, fmt.Errorf("%w: a KZG setup of type %T is not of the circuit's curve", backend.ErrInvalidInput, srs)
	}
	if len(points) < k.n+3 {
		return nil, nil, fmt.Errorf("%w: a KZG setup of %d points, the circuit needs %d", backend.ErrInvalidInput, len(points), k.n+3)
	}
	k.canonical = points[:k.n+3]
	if lagrange != nil {
		if k.lagrange, ok = c.srsPoints(lagrange); !ok {
			return nil, nil, fmt.Errorf("%w: a Lagrange setup of type %T is not of the circuit's curve", backend.ErrInvalidInput, lagrange)
		}
		if len(k.lagrange) != k.n {
			return nil, nil, fmt.Errorf("%w: a Lagrange setup of %d points, the circuit needs %d", backend.ErrInvalidInput, len(k.lagrange), k.n)
		}
	}

	ctx, end := e.Observe(ctx, engine.Phase{Kind: engine.PhaseSetup, Points: len(k.canonical) + k.n})
	defer func() { end(err) }()
	if lagrange == nil {
		if k.lagrange, err = c.g1.Group.ToLagrange(ctx, e, k.canonical[:k.n]); err != nil {
			return nil, nil, err
		}
	}
	if err := c.commit(ctx, e, k, c.trace(ccs, k.n)); err != nil {
		return nil, nil, err
	}
	if k.root, err = c.generator(uint64(k.n)); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
	}
	k.commitments = make([]uint64, len(s.info))
	for i, info := range s.info {
		k.commitments[i] = uint64(info.CommitmentIndex)
	}
	return c.keys(k, srs)
}

// commit sets the columns of a key: the commitments to a trace.
func (c *curve[P, S]) commit(ctx context.Context, e *engine.Engine, k *parts[P, S], t *trace[S]) error {
	table, err := resident.Load(ctx, e, c.g1, k.lagrange)
	if err != nil {
		return err
	}
	columns := append([][]S{
		t.columns[sigma1], t.columns[sigma2], t.columns[sigma3],
		t.columns[left], t.columns[right], t.columns[product], t.columns[output], t.fixed,
	}, t.commitment...)
	k.columns = make([]P, len(columns))
	batch := resident.NewBatch(e)
	for i, v := range columns {
		resident.Add(ctx, batch, table, v, resident.Auto, &k.columns[i])
	}
	return errors.Join(batch.Run(ctx), table.Close())
}
