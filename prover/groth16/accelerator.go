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

// Accelerator computes on an engine what gnark's own prover needs of one proving key. A key takes
// it by SetAccelerator, which gnark has since v0.16.4. Its methods may be called concurrently.
// Scalars and values are the caller's secrets; an engine in another process gets them.
//
// The type parameters are types of one curve: P1 and P2 are the points of both groups, S is the
// scalar, D is the domain. BN254Accelerator and its like are names for the four curves.
type Accelerator[P1, P2 any, S comparable, D any] struct {
	prover *prover[P1, P2, S] // computes the quotient
	sums1  msm.DropIn[P1, S]
	sums2  msm.DropIn[P2, S]
	grid   func(*D) (size uint64, shift S)
	end    func() error
}

// newAccelerator loads all points of a key over which a prover computes sums. grid returns the size
// of a domain and the shift of its coset.
func newAccelerator[P1, P2 any, S comparable, D any](c *curve[P1, P2, S], e *engine.Engine,
	pk ProvingKey, grid func(*D) (uint64, S)) (*Accelerator[P1, P2, S, D], error) {
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
	k.a.Points, k.b.Points, k.k.Points, k.z.Points, k.b2.Points = p.a, p.b, p.k, p.z, p.b2
	k.z.Hints = resident.Random
	for _, ped := range p.pedersen {
		k.commit, k.know = append(k.commit, resident.Bases[P1, S]{Points: ped.basis}), append(k.know, resident.Bases[P1, S]{Points: ped.sigma})
	}
	if k, err = k.in(ctx, e); err != nil {
		return nil, errors.Join(err, end())
	}
	return &Accelerator[P1, P2, S, D]{newProver(k, overlapAuto, whereAuto), c.g1.Group.On(e), c.g2.Group.On(e), grid, end}, nil
}

// Close waits for the calls in flight and frees the key's points.
func (a *Accelerator[P1, P2, S, D]) Close() error { return errors.Join(a.prover.Close(), a.end()) }

// MultiExpG1 returns the sum of scalars[i] * bases[i]. It recognises slices of the key's points by
// their address: these are resident in the engine. Others are sent.
func (a *Accelerator[P1, P2, S, D]) MultiExpG1(bases []P1, scalars []S) (sum P1, err error) {
	_, err = a.sums1.MultiExp(&sum, bases, scalars, ecc.MultiExpConfig{})
	return sum, err
}

// MultiExpG2 does what MultiExpG1 does, in G2.
func (a *Accelerator[P1, P2, S, D]) MultiExpG2(bases []P2, scalars []S) (sum P2, err error) {
	_, err = a.sums2.MultiExp(&sum, bases, scalars, ecc.MultiExpConfig{})
	return sum, err
}

// ComputeH returns the n coefficients of (A B - C) / (X^n - 1), in the order of the key's Z; the
// last is zero. x, y and z are the values of A, B and C on the key's domain, at most n of each;
// missing ones are zero. ComputeH may overwrite them. The engine's backend computes it if that is
// in another process and has vectors; otherwise this process does.
func (a *Accelerator[P1, P2, S, D]) ComputeH(x, y, z []S, domain *D) (h []S, err error) {
	p := a.prover
	size, shift := a.grid(domain)
	n := p.domain.Size
	if size != uint64(n) || shift != p.domain.Shift {
		return nil, fmt.Errorf("%w: a domain of %d elements, the key's has %d, or another coset", backend.ErrInvalidInput, size, n)
	}
	if most := max(len(x), len(y), len(z)); most > n {
		return nil, fmt.Errorf("%w: values at %d constraints, the key's domain has %d", backend.ErrInvalidInput, most, n)
	}
	// Another slice may follow in the same memory: padding must not write there.
	x, y, z = slices.Clip(x), slices.Clip(y), slices.Clip(z)
	if !p.where.onBackend(p.engine, p.vectors.Curve()) {
		x = padded(x, n)
		return x, p.domain.Quotient(context.Background(), x, padded(y, n), padded(z, n))
	}
	_, err = p.vectors.Repeat(context.Background(), p.engine, 3*n, func(ctx context.Context, s *vector.Session[S]) error {
		program := s.Program()
		to := [3]vector.Vector[S]{s.New(n), s.New(n), s.New(n)}
		for i, values := range [][]S{x, y, z} {
			program.Write(to[i].Slice(0, len(values)), values)
		}
		p.divide(program, to[0], to[1], to[2], 1)
		read := program.Read(to[0])
		if err := program.Run(ctx); err != nil {
			return err
		}
		h = read.Get()
		return nil
	})
	return h, err
}

// padded returns v padded with zeros to length n. If it needs new memory, it wipes v.
func padded[S any](v []S, n int) []S {
	if cap(v) < n {
		longer := make([]S, n)
		copy(longer, v)
		clear(v)
		return longer
	}
	was := len(v)
	v = v[:n]
	clear(v[was:])
	return v
}
