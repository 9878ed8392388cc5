package plonk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/proving"
	"github.com/pippin-zk/pippin/prover/internal/resident"
	"github.com/pippin-zk/pippin/vector"
)

// prover is a scheme with its types as parameters.
type prover[P any, S comparable] struct {
	*key[P, S]
	ccs    constraint.ConstraintSystem
	parts  *parts[P, S]
	engine *engine.Engine

	canonical, lagrange *resident.Table[P, S]
	committing          []*resident.Table[P, S] // for each commitment, points of lagrange
	polynomials         *resident.Vectors[*vector.Session[S], *keyVectors[S]]
}

// load loads the points of a key for a constraint system.
func (c *curve[P, S]) load(ctx context.Context, e *engine.Engine, ccs constraint.ConstraintSystem,
	s *shape, pk ProvingKey) (scheme, error) {
	parts, err := c.partsOf(pk)
	if err != nil {
		return nil, err
	}
	return (&prover[P, S]{key: newKey(c, parts, s), ccs: ccs, parts: parts}).In(ctx, e)
}

// In returns the key with its points loaded into an engine. Its polynomials follow with the
// first proof.
func (p *prover[P, S]) In(ctx context.Context, e *engine.Engine) (scheme, error) {
	loaded := &prover[P, S]{
		key: p.key, ccs: p.ccs, parts: p.parts, engine: e, polynomials: resident.NewVectors[*vector.Session[S], *keyVectors[S]](),
		committing: make([]*resident.Table[P, S], len(p.info)),
	}
	loads := []func(context.Context) error{func(ctx context.Context) (err error) {
		loaded.canonical, err = resident.Load(ctx, e, p.g1, p.parts.canonical[:p.n+3], resident.Random...)
		return err
	}, func(ctx context.Context) (err error) {
		if loaded.lagrange, err = resident.Load(ctx, e, p.g1, p.parts.lagrange); err != nil {
			return err
		}
		return loaded.pad(ctx)
	}}
	for i := range p.info {
		loads = append(loads, func(ctx context.Context) (err error) {
			var points []P
			for _, row := range p.committedRows(i) {
				points = append(points, p.parts.lagrange[row])
			}
			loaded.committing[i], err = resident.Load(ctx, e, p.g1, points)
			return err
		})
	}
	key, proof := Elements(p.n, len(p.info))
	err := resident.LoadBeside(ctx, p.vectors, e, key+proof, loads...)
	if err != nil {
		return nil, errors.Join(err, loaded.Close())
	}
	return loaded, nil
}

// pad computes the sum of the Lagrange points of the rows that are not used. All of these
// rows have the same value.
func (p *prover[P, S]) pad(ctx context.Context) error {
	rest, err := p.lagrange.Bases().Slice(p.used(), p.n)
	if err != nil {
		return err
	}
	ones := make([]S, rest.Len())
	for i := range ones {
		ones[i] = p.fr.One()
	}
	k := *p.key
	k.padding, err = rest.MSM(ctx, ones)
	p.key = &k
	return err
}

// CheckKey looks whether all points are in the group of order r, and whether the Lagrange form is
// of the same powers: the polynomial with the values r^i has one commitment by either.
func (p *prover[P, S]) CheckKey(ctx context.Context) error {
	for _, points := range []struct {
		what string
		of   []P
	}{{"Kzg", p.parts.canonical}, {"KzgLagrange", p.parts.lagrange}} {
		if err := resident.CheckPoints(ctx, p.engine, p.g1, points.what, points.of); err != nil {
			return err
		}
	}
	var r S
	if err := p.fr.RandomNonzero(&r); err != nil {
		return err
	}
	var byValues, byPowers *vector.Answer[P]
	_, err := p.vectors.Repeat(ctx, p.engine, p.n, func(ctx context.Context, s *vector.Session[S]) error {
		v, program := s.New(p.n), s.Program()
		program.Powers(v, p.fr.One(), r)
		byValues = vector.Commit(program, p.lagrange.Bases(), v)
		program.Transform(v, v, vector.Transform[S]{Inverse: true})
		byPowers = vector.Commit(program, p.canonical.Bases(), v)
		return program.Run(ctx)
	})
	if err != nil {
		return err
	}
	one, other := byValues.Get(), byPowers.Get()
	if !bytes.Equal(p.g1.Marshal(&one), p.g1.Marshal(&other)) {
		return fmt.Errorf("%w: KzgLagrange is not the Lagrange form of Kzg", backend.ErrInvalidInput)
	}
	return nil
}

// Close frees what is resident after the proofs in flight.
func (p *prover[P, S]) Close() error {
	errs := []error{p.polynomials.Close(), p.canonical.Close(), p.lagrange.Close()}
	for _, t := range p.committing {
		errs = append(errs, t.Close())
	}
	return errors.Join(errs...)
}

// Prove solves the constraint system and proves. It wipes everything secret before it
// returns.
func (p *prover[P, S]) Prove(ctx context.Context, ccs constraint.ConstraintSystem, w witness.Witness,
	cfg *gnark.ProverConfig) (Proof, error) {
	sys, err := p.systemOf(ccs)
	if err != nil {
		return nil, err
	}
	values, err := proving.Inputs(sys, w)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	st, err := p.newStatement(values[:min(p.public, len(values))], cfg) // the solver sees whether there are enough
	defer st.mem.Free()
	if err != nil {
		return nil, err
	}
	_, count := planProof(p.size, vector.Vector[S]{})
	run := resident.NewRunning(ctx, p.vectors, p.engine, count)
	defer run.End()
	var made *proof[P, S]
	prove := func(ctx context.Context, s *vector.Session[S]) (err error) {
		k, release, err := p.polynomials.Beside(ctx, s, p.load)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, release()) }()
		d := &device[P, S]{session: s, key: k, canonical: p.canonical.Bases(), lagrange: p.lagrange.Bases()}
		d.vectors, _ = planProof(p.size, s.New(count))
		made, err = p.prove(ctx, d, st)
		return err
	}
	err = p.state(ctx, st, sys, w, func() (retract func()) {
		run.Start(prove)
		return run.Retract
	})
	if err != nil {
		return nil, err
	}
	solved := time.Now()
	if !run.Started() {
		run.Start(prove)
	}
	by, err := run.Wait()
	if err != nil {
		return nil, err
	}
	proving.Log("plonk", p.g1.Group.Curve(), by, p.constraints, solved)
	return p.proof(made), nil
}

// load makes the key's vectors in a session beside another.
func (p *prover[P, S]) load(ctx context.Context, beside *vector.Session[S]) (*vector.Session[S], *keyVectors[S], error) {
	_, count := planKey(p.size, vector.Vector[S]{})
	sys, err := p.systemOf(p.ccs)
	if err != nil {
		return nil, nil, err
	}
	columns := assignment.Columns(sys.System.System, p.n)
	places := columns[:]
	for i := range p.info {
		places = append(places, p.committedPlaces(i, p.n))
	}
	s, err := beside.Beside(ctx, count+resident.IndexElements(p.vectors, places...))
	if err != nil {
		return nil, nil, err
	}
	k, _ := planKey(p.size, s.New(count))
	// Programs run in the session beside, so that Repeat sees their failure.
	program := beside.Program()
	k.places = resident.WriteIndices(program, s, places...)
	if err := p.fill(ctx, beside, program, k); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, k, nil
}

// fill runs a program, and computes the key's vectors. gnark makes the trace of a constraint system without a
// look at a context: a proof that is cancelled leaves that running.
func (p *prover[P, S]) fill(ctx context.Context, s *vector.Session[S], first *vector.Program[S], k *keyVectors[S]) error {
	made := make(chan *trace[S], 1)
	go func() { made <- p.trace(p.ccs, p.n) }()
	if err := first.Run(ctx); err != nil {
		return err
	}
	select {
	case t := <-made:
		return p.domain.load(ctx, s, k, t)
	case <-ctx.Done():
		return backend.Ended(ctx)
	}
}
