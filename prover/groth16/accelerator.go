package groth16

import (
	"context"
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/prover/internal/resident"
	"github.com/pippin-zk/pippin/vector"
)

// Accelerator computes for a prover that is somebody else's what it needs of one
// proving key: gnark's main branch lets a key be given such an object (pull requests
// 1789 and 1817), which its own Prove asks then. No release of gnark has that yet;
// the words are its, and an adapter to it renames and converts nothing else.
// Prove of this package needs no accelerator, and asks for more at once.
//
// Safe for concurrent use. Scalars are secrets of the caller's.
type Accelerator[P1, P2, S any] interface {
	// MultiExpG1 and MultiExpG2 are the sums of scalars[i] * points[i]. Slices of
	// the key's points, and parts of them, are resident.
	MultiExpG1(points []P1, scalars []S) (P1, error)
	MultiExpG2(points []P2, scalars []S) (P2, error)
	// ComputeH is the coefficients of (A B - C) / (X^n - 1), n of them of which the
	// last is zero, in the order of the key's Z. a, b and c are the values at each
	// constraint, at most n; they are used as memory.
	ComputeH(a, b, c []S) ([]S, error)
	// Close frees the key's points.
	Close() error
}

// NewAccelerator loads a key's points into an engine; a nil engine is one in this
// process. P1, P2 and S are gnark-crypto's types of the key's curve, or else the
// error is backend.ErrInvalidInput. The key must not change until Close.
func NewAccelerator[P1, P2, S any](engine *engine.Engine, pk ProvingKey) (Accelerator[P1, P2, S], error) {
	b, err := bindingOf(pk)
	if err != nil {
		return nil, err
	}
	a, err := b.accelerate(context.Background(), engine, pk)
	if err != nil {
		return nil, err
	}
	typed, ok := a.(Accelerator[P1, P2, S])
	if !ok {
		return nil, errors.Join(fmt.Errorf("%w: the key's curve is %s, whose points and scalars have other types", backend.ErrInvalidInput, pk.CurveID()), a.Close())
	}
	return typed, nil
}

// accelerator is an Accelerator on an engine. Of the prover it has what the quotient
// needs.
type accelerator[P1, J1, P2, J2 any, S comparable] struct {
	*prover[P1, J1, P2, J2, S]
	sums1 msm.DropIn[P1, S]
	sums2 msm.DropIn[P2, S]
	end   func() error
}

func (c *curve[P1, J1, P2, J2, S]) accelerate(ctx context.Context, e *engine.Engine, pk ProvingKey) (_ interface{ Close() error }, err error) {
	p, err := c.partsOf(pk)
	if err != nil {
		return nil, err
	}
	e, end, err := resident.Or(ctx, e)
	if err != nil {
		return nil, err
	}
	k := &key[P1, J1, P2, J2, S]{curve: c, domain: p.domain, engine: e}
	a := &accelerator[P1, J1, P2, J2, S]{newProver(k, overlapAuto, placeAuto), c.g1.Group.On(e), c.g2.Group.On(e), end}
	for to, points := range map[*bases[P1, J1, S]][]P1{&k.a: p.a, &k.b: p.b, &k.k: p.k, &k.z: p.z} {
		to.points = points
		to.load(ctx, e, c.g1, &err)
	}
	k.b2.points = p.b2
	k.b2.load(ctx, e, c.g2, &err)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *accelerator[P1, J1, P2, J2, S]) Close() error { return errors.Join(a.prover.Close(), a.end()) }

func (a *accelerator[P1, J1, P2, J2, S]) MultiExpG1(points []P1, scalars []S) (sum P1, err error) {
	_, err = a.sums1.MultiExp(&sum, points, scalars, ecc.MultiExpConfig{})
	return sum, err
}

func (a *accelerator[P1, J1, P2, J2, S]) MultiExpG2(points []P2, scalars []S) (sum P2, err error) {
	_, err = a.sums2.MultiExp(&sum, points, scalars, ecc.MultiExpConfig{})
	return sum, err
}

func (a *accelerator[P1, J1, P2, J2, S]) ComputeH(va, vb, vc []S) (h []S, err error) {
	n := a.domain.Size
	if most := max(len(va), len(vb), len(vc)); most > n {
		return nil, fmt.Errorf("%w: values at %d constraints, the key's domain has %d", backend.ErrInvalidInput, most, n)
	}
	sol := &solution[S]{a: va, b: vb, c: vc}
	if !a.place.on(a.engine, a.vectors.Curve()) {
		return a.quotient(padded(va, n), sol)[:n], nil
	}
	_, err = a.vectors.Repeat(context.Background(), a.engine, 3*n, func(ctx context.Context, s *vector.Session[S]) error {
		program := s.Program()
		read := program.Read(a.quotientOn(s, program, sol))
		if err := program.Run(ctx); err != nil {
			return err
		}
		h = read.Get()
		return nil
	})
	return h, err
}
