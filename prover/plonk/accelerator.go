package plonk

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/prover/internal/resident"
	"github.com/pippin-zk/pippin/vector"
)

// accelerator computes for gnark's own prover what it needs of one proving key, on an
// engine. The exported types, one for each curve, wrap it in gnark-crypto's types.
type accelerator[P any, S comparable] struct {
	*curve[P, S]
	engine              *engine.Engine
	sums                msm.DropIn[P, S]
	canonical, lagrange *resident.Table[P, S]
	end                 func() error
}

// newAccelerator loads a key's points.
func newAccelerator[P any, S comparable](c *curve[P, S], e *engine.Engine, pk ProvingKey) (_ *accelerator[P, S], err error) {
	ctx := context.Background()
	p, err := c.partsOf(pk)
	if err != nil {
		return nil, err
	}
	e, end, err := resident.Or(ctx, e)
	if err != nil {
		return nil, err
	}
	a := &accelerator[P, S]{curve: c, engine: e, sums: c.g1.Group.On(e), end: end}
	if a.canonical, err = resident.Load(ctx, e, c.g1, p.canonical); err == nil {
		a.lagrange, err = resident.Load(ctx, e, c.g1, p.lagrange)
	}
	if err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

func (a *accelerator[P, S]) close() error {
	return errors.Join(a.canonical.Close(), a.lagrange.Close(), a.end())
}

func (a *accelerator[P, S]) sum(points []P, scalars []S) (sum P, err error) {
	_, err = a.sums.MultiExp(&sum, points, scalars, ecc.MultiExpConfig{})
	return sum, err
}

// transforms reports whether the engine's backend computes transforms that come alone. In
// this process they are gnark-crypto's in any case.
func (a *accelerator[P, S]) transforms() bool {
	i := a.engine.Info()
	return !i.InProcess && i.Can.HasPrograms(backend.ScalarOf(a.vectors.Curve()))
}

// toCanonical turns n values on a domain, or on its coset with a shift, into
// coefficients in order, in place.
func (a *accelerator[P, S]) toCanonical(v []S, reversed bool, shift []S) error {
	t := vector.Transform[S]{Inverse: true}
	if reversed {
		t.From = backend.Reversed
	}
	if len(shift) > 0 {
		t.Shift = shift[0]
	}
	_, err := a.vectors.Repeat(context.Background(), a.engine, len(v), func(ctx context.Context, s *vector.Session[S]) error {
		all := s.New(len(v))
		p := s.Program()
		p.Write(all, v)
		p.Transform(all, all, t)
		read := p.Read(all)
		if err := p.Run(ctx); err != nil {
			return err
		}
		coefficients := read.Get()
		copy(v, coefficients)
		clear(coefficients)
		return nil
	})
	return err
}

// numeratorInput is what a numerator is computed from. Polynomials come as n values in
// order, the blinding ones as coefficients.
type numeratorInput[S comparable] struct {
	small, large       grid[S]
	wires              [3][]S
	ratio              []S // Z
	constant           []S // Qk, with the proof's public values
	columns            [columns][]S
	committed, selects [][]S // Pi and Qcp
	blinding           [len(blindCounts)][]S
	alpha, beta, gamma S
}

// grid is a domain: its size, its generator, and the shift of its coset.
type grid[S any] struct {
	size             uint64
	generator, shift S
}

// most is the most cosets on which a numerator is computed. gnark takes 8 for circuits of
// less than 6 rows, otherwise 4.
const most = 8

// check returns the size of what gnark's prover gives, or an error when the shape is not
// gnark's.
func (in *numeratorInput[S]) check() (size, error) {
	n := int(in.small.size)
	s := size{n: n, commitments: len(in.selects)}
	pieces := in.large.size / max(in.small.size, 1)
	if n < 1 || bits.OnesCount(uint(n)) != 1 || pieces*in.small.size != in.large.size || pieces < 2 || pieces > most || bits.OnesCount64(pieces) != 1 {
		return s, fmt.Errorf("%w: domains of %d and %d elements", backend.ErrInvalidInput, in.small.size, in.large.size)
	}
	s.pieces = int(pieces)
	if len(in.committed) != len(in.selects) {
		return s, fmt.Errorf("%w: %d commitments' polynomials and %d selectors of them", backend.ErrInvalidInput, len(in.committed), len(in.selects))
	}
	for _, v := range in.polynomials() {
		if len(v) != n {
			return s, fmt.Errorf("%w: a polynomial of %d values, the domain has %d", backend.ErrInvalidInput, len(v), n)
		}
	}
	for i, b := range in.blinding {
		if len(b) > blindCounts[i] {
			return s, fmt.Errorf("%w: a blinding polynomial of %d coefficients, want at most %d", backend.ErrInvalidInput, len(b), blindCounts[i])
		}
	}
	return s, nil
}

// polynomials returns all but the blinding ones: those of a proof in the order in which
// they lie, then those of a key.
func (in *numeratorInput[S]) polynomials() [][]S {
	all := append([][]S{}, in.wires[:]...)
	all = append(append(all, in.ratio, in.constant), in.committed...)
	return append(append(all, in.columns[:]...), in.selects...)
}

// numerator computes the values of all constraints on the coset of the large domain,
// bit-reversed, and turns every polynomial into coefficients in order. It runs two
// programs. The first loads the key's polynomials, since gnark keeps none of them in the
// backend from proof to proof.
func (a *accelerator[P, S]) numerator(in *numeratorInput[S]) (values []S, err error) {
	s, err := in.check()
	if err != nil {
		return nil, err
	}
	d := newDomain(a.fr, s, in.small.generator, in.large.generator, in.large.shift)
	st := &statement[P, S]{wires: in.wires}
	defer st.blinding.wipe()
	for i, b := range in.blinding {
		st.b[i] = make([]S, blindCounts[i])
		copy(st.b[i], b)
	}
	st.spread(d)
	_, forKey := planKey(s, vector.Vector[S]{})
	_, forProof := planProof(s, vector.Vector[S]{})
	_, err = a.vectors.Repeat(context.Background(), a.engine, forKey+forProof, func(ctx context.Context, session *vector.Session[S]) error {
		all := session.New(forKey + forProof)
		k, _ := planKey(s, all.Slice(0, forKey))
		v, _ := planProof(s, all.Slice(forKey, forKey+forProof))
		if err := d.load(ctx, session, k, &trace[S]{columns: in.columns, fixed: in.constant, commitment: in.selects}); err != nil {
			return err
		}
		r := &rounds[P, S]{
			key:    &key[P, S]{curve: a.curve, domain: d},
			device: &device[P, S]{session: session, key: k, vectors: v},
			st:     st, alpha: in.alpha, beta: in.beta, gamma: in.gamma,
		}
		p := session.Program()
		p.Write(v.blinds, st.rows)
		for i, w := range append(append(in.wires[:len(in.wires):len(in.wires)], in.ratio, in.constant), in.committed...) {
			p.Write(v.polynomial(i), w)
		}
		coefficients(p, v.polynomials, wires+s.commitments)
		var read []*vector.Answer[[]S]
		inOrder := func(reversed vector.Vector[S]) {
			room := v.on(0) // not used yet
			p.Map(room, reversed.Reversed().Expr())
			read = append(read, p.Read(room))
		}
		for i := range wires + s.commitments {
			inOrder(v.polynomial(i))
		}
		for i := range columns + s.commitments {
			inOrder(k.polynomial(i))
		}
		r.numerator(p, s.commitments)
		answer := p.Read(v.quotient)
		if err := p.Run(ctx); err != nil {
			return err
		}
		for i, to := range in.polynomials() {
			copy(to, read[i].Get())
			clear(read[i].Get())
		}
		values = answer.Get()
		return nil
	})
	return values, err
}

// numerator computes all constraints on every coset from the coefficients of the proof's
// polynomials, after it has blinded these for the coset.
func (r *rounds[P, S]) numerator(p *vector.Program[S], commitments int) {
	for i := range r.cosets {
		r.onCoset(p, i, commitments)
		p.MapTo(r.vectors.part(i).Reversed(), r.n, r.constraints(i))
	}
}
