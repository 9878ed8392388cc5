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

// Accelerator computes on an engine what gnark's own prover needs of one proving key. Its
// methods are those of the object that SetAccelerator of the key takes since gnark v0.16.4,
// but for the type of ComputeNumerator's input, which is gnark's there: an adapter copies
// fields. The methods may be called concurrently. Scalars and polynomials are the caller's
// secrets; an engine in another process gets them.
//
// The types are those of one curve: P is a point, S a scalar, D a domain, Q a polynomial.
// BN254Accelerator and its like have names for them.
type Accelerator[P any, S comparable, D, Q any] struct {
	*accelerator[P, S]
	of *polynomials[S, D, Q]
}

// NumeratorInput has the fields of gnark's NumeratorInput on one curve.
// Domain1 is 4 or 8 times Domain0. The polynomials of the selectors, the wires, Z, the
// permutation and the commitments (Qcp[i], and Pi[i] that it selects) are in Lagrange
// form, regular, of Domain0's size; Qk has the proof's public values. Those that hide
// L, R, O and Z are canonical, of 2, 2, 2 and 3 coefficients.
type NumeratorInput[S, D, Q any] struct {
	Domain0, Domain1   *D
	L, R, O, Z         *Q
	Qk, Ql, Qr, Qm, Qo *Q
	S1, S2, S3         *Q
	Qcp, Pi            []*Q
	Bl, Br, Bo, Bz     *Q
	Alpha, Beta, Gamma S
}

// polynomials is gnark-crypto's functions for polynomials Q and domains D of one curve.
type polynomials[S, D, Q any] struct {
	grid   func(*D) grid[S]
	values func(*Q) []S
	form   func(*Q) form
	// transform makes a polynomial canonical and regular, and setCanonical says that it is.
	transform    func(*Q, *D)
	setCanonical func(*Q)
	// onCoset makes a polynomial of values on the coset, in reversed order.
	onCoset func([]S) *Q
}

// form tells what the values of a polynomial are, coefficients or values on the domain or on its
// coset, and whether they are in order.
type form struct{ canonical, lagrange, coset, regular bool }

// accelerator is an Accelerator without the types of polynomials.
type accelerator[P any, S comparable] struct {
	curve               *curve[P, S]
	engine              *engine.Engine
	sums                msm.DropIn[P, S]
	canonical, lagrange *resident.Table[P, S]
	end                 func() error
}

// newAccelerator loads a key's points.
func newAccelerator[P any, S comparable, D, Q any](c *curve[P, S], e *engine.Engine, pk ProvingKey,
	of *polynomials[S, D, Q]) (*Accelerator[P, S, D, Q], error) {
	ctx := context.Background()
	p, err := c.partsOf(pk)
	if err != nil {
		return nil, err
	}
	e, end, err := resident.Or(ctx, e)
	if err != nil {
		return nil, err
	}
	a := &Accelerator[P, S, D, Q]{&accelerator[P, S]{curve: c, engine: e, sums: c.g1.Group.On(e), end: end}, of}
	if a.canonical, err = resident.Load(ctx, e, c.g1, p.canonical, resident.Random...); err == nil {
		a.lagrange, err = resident.Load(ctx, e, c.g1, p.lagrange)
	}
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// Close frees the key's points, after the calls in flight.
func (a *accelerator[P, S]) Close() error {
	return errors.Join(a.canonical.Close(), a.lagrange.Close(), a.end())
}

// MultiExp returns the sum of scalars[i] * bases[i]. Slices of the key's points are found
// by their address, and are resident in the engine; others are sent.
func (a *accelerator[P, S]) MultiExp(bases []P, scalars []S) (sum P, err error) {
	_, err = a.sums.MultiExp(&sum, bases, scalars, ecc.MultiExpConfig{})
	return sum, err
}

// ToCanonical turns a polynomial, whatever its form, into coefficients in order, in
// place. The engine's backend computes it if that is another process's with vectors.
func (a *Accelerator[P, S, D, Q]) ToCanonical(domain *D, p *Q) error {
	v, form, grid := a.of.values(p), a.of.form(p), a.of.grid(domain)
	if form.canonical || uint64(len(v)) != grid.size || !a.transforms() {
		a.of.transform(p, domain)
		return nil
	}
	var shift []S
	if form.coset {
		shift = []S{grid.shift}
	}
	if err := a.toCanonical(v, !form.regular, shift); err != nil {
		return err
	}
	a.of.setCanonical(p)
	return nil
}

// ComputeNumerator returns the numerator of the quotient: the values of all constraints
// on the coset of Domain1, bit-reversed. It leaves every polynomial but the blinding ones
// canonical and regular. The engine computes it, as a program over vectors.
func (a *Accelerator[P, S, D, Q]) ComputeNumerator(in *NumeratorInput[S, D, Q]) (*Q, error) {
	args := &numeratorInput[S]{
		small: a.of.grid(in.Domain0), large: a.of.grid(in.Domain1),
		alpha: in.Alpha, beta: in.Beta, gamma: in.Gamma,
	}
	var all []*Q
	var err error
	take := func(p *Q) []S {
		if p == nil || a.of.form(p) != (form{lagrange: true, regular: true}) {
			err = fmt.Errorf("%w: a polynomial that is not there, or not in Lagrange form, regular", backend.ErrInvalidInput)
			return nil
		}
		all = append(all, p)
		return a.of.values(p)
	}
	args.wires = [3][]S{take(in.L), take(in.R), take(in.O)}
	args.ratio, args.constant = take(in.Z), take(in.Qk)
	for i, p := range [...]*Q{left: in.Ql, right: in.Qr, product: in.Qm, output: in.Qo, sigma1: in.S1, sigma2: in.S2, sigma3: in.S3} {
		args.columns[i] = take(p)
	}
	for _, p := range in.Pi {
		args.committed = append(args.committed, take(p))
	}
	for _, p := range in.Qcp {
		args.selects = append(args.selects, take(p))
	}
	for i, p := range [...]*Q{in.Bl, in.Br, in.Bo, in.Bz} {
		if p != nil { // nil hides nothing
			args.blinding[i] = a.of.values(p)
		}
	}
	if err != nil {
		return nil, err
	}
	values, err := a.numerator(args)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		a.of.setCanonical(p)
	}
	return a.of.onCoset(values), nil
}

// transforms reports whether the engine's backend computes transforms that come alone. In
// this process they are gnark-crypto's in any case.
func (a *accelerator[P, S]) transforms() bool {
	return resident.Elsewhere(a.engine, a.curve.vectors.Curve())
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
	_, err := a.curve.vectors.Repeat(context.Background(), a.engine, len(v), func(ctx context.Context, s *vector.Session[S]) error {
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
	if n < 1 || bits.OnesCount(uint(n)) != 1 || pieces*in.small.size != in.large.size || pieces < 2 ||
		pieces > most || bits.OnesCount64(pieces) != 1 {
		return s, fmt.Errorf("%w: domains of %d and %d elements", backend.ErrInvalidInput, in.small.size, in.large.size)
	}
	s.pieces = int(pieces)
	if len(in.committed) != len(in.selects) {
		return s, fmt.Errorf("%w: %d commitments' polynomials and %d selectors of them", backend.ErrInvalidInput,
			len(in.committed), len(in.selects))
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
	d := newDomain(a.curve.fr, s, in.small.generator, in.large.shift, in.large.generator)
	st := new(statement[P, S])
	defer st.blinding.wipe()
	for i, b := range in.blinding {
		st.b[i] = make([]S, blindCounts[i])
		copy(st.b[i], b)
	}
	st.spread(d)
	_, forKey := planKey(s, vector.Vector[S]{})
	_, forProof := planProof(s, vector.Vector[S]{})
	_, err = a.curve.vectors.Repeat(context.Background(), a.engine, forKey+forProof,
		func(ctx context.Context, session *vector.Session[S]) error {
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
			answer := p.Read(v.parts.Slice(0, s.pieces*s.n))
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
// polynomials, after it has blinded these for the coset. In the reversed order of all values those of a coset
// follow one another, in reversed order too.
func (r *rounds[P, S]) numerator(p *vector.Program[S], commitments int) {
	k := bits.TrailingZeros(uint(r.pieces))
	for i := range r.cosets {
		r.onCoset(p, i, commitments)
		part := int(bits.Reverse64(uint64(i)) >> (64 - k))
		p.MapTo(r.vectors.part(part).Reversed(), r.n, r.constraints(i))
	}
}
