package groth16

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/prover/internal/resident"
	"github.com/pippin-zk/pippin/vector"
)

// accelerator computes for gnark's own prover what it needs of one proving key, on an
// engine. It embeds this package's prover, which computes the quotient. The exported
// types, one for each curve, wrap it in gnark-crypto's types.
type accelerator[P1, P2 any, S comparable] struct {
	*prover[P1, P2, S]
	sums1 msm.DropIn[P1, S]
	sums2 msm.DropIn[P2, S]
	end   func() error
}

// newAccelerator loads all points of a key that a prover has sums over.
func newAccelerator[P1, P2 any, S comparable](c *curve[P1, P2, S], e *engine.Engine, pk ProvingKey) (*accelerator[P1, P2, S], error) {
	ctx := context.Background()
	p, err := c.partsOf(pk)
	if err != nil {
		return nil, err
	}
	e, end, err := resident.Or(ctx, e)
	if err != nil {
		return nil, err
	}
	k := &key[P1, P2, S]{curve: c, domain: p.domain()}
	k.a.points, k.b.points, k.k.points, k.z.points, k.b2.points = p.a, p.b, p.k, p.z, p.b2
	for _, ped := range p.pedersen {
		k.commit, k.know = append(k.commit, bases[P1, S]{points: ped.basis}), append(k.know, bases[P1, S]{points: ped.sigma})
	}
	if k, err = k.in(ctx, e); err != nil {
		return nil, errors.Join(err, end())
	}
	return &accelerator[P1, P2, S]{newProver(k, overlapAuto, whereAuto), c.g1.Group.On(e), c.g2.Group.On(e), end}, nil
}

func (a *accelerator[P1, P2, S]) close() error { return errors.Join(a.prover.Close(), a.end()) }

func (a *accelerator[P1, P2, S]) g1(points []P1, scalars []S) (sum P1, err error) {
	_, err = a.sums1.MultiExp(&sum, points, scalars, ecc.MultiExpConfig{})
	return sum, err
}

func (a *accelerator[P1, P2, S]) g2(points []P2, scalars []S) (sum P2, err error) {
	_, err = a.sums2.MultiExp(&sum, points, scalars, ecc.MultiExpConfig{})
	return sum, err
}

// quotientOver computes (A B - C) / (X^n - 1) from values on a domain, which has to be
// the key's.
func (a *accelerator[P1, P2, S]) quotientOver(va, vb, vc []S, size uint64, shift S) (h []S, err error) {
	n := a.domain.Size
	if size != uint64(n) || shift != a.domain.Shift {
		return nil, fmt.Errorf("%w: a domain of %d elements, the key's has %d, or another coset", backend.ErrInvalidInput, size, n)
	}
	if most := max(len(va), len(vb), len(vc)); most > n {
		return nil, fmt.Errorf("%w: values at %d constraints, the key's domain has %d", backend.ErrInvalidInput, most, n)
	}
	// Another slice may follow in the same memory: padding must not write there.
	sol := &solution[S]{a: slices.Clip(va), b: slices.Clip(vb), c: slices.Clip(vc)}
	if !a.where.onBackend(a.engine, a.vectors.Curve()) {
		h, err := a.quotient(context.Background(), padded(sol.a, n), sol)
		return h[:n], err
	}
	_, err = a.vectors.Repeat(context.Background(), a.engine, 3*n, func(ctx context.Context, s *vector.Session[S]) error {
		program := s.Program()
		read := program.Read(a.quotientsOn(s, program, sol))
		if err := program.Run(ctx); err != nil {
			return err
		}
		h = read.Get()
		return nil
	})
	return h, err
}
