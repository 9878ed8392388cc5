package groth16

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/prover/internal/merge"
	"github.com/pippin-zk/pippin/prover/internal/programs"
	"github.com/pippin-zk/pippin/prover/internal/resident"
)

// Setup does what gnark's Setup does, on the engine of Use: see SetupOn.
func Setup(ccs constraint.ConstraintSystem) (ProvingKey, VerifyingKey, error) {
	return SetupOn(context.Background(), kept.Engine(), ccs)
}

// A SetupOption configures SetupOn.
type SetupOption func(*setupOptions)

type setupOptions struct{ made func(points, of int) }

// OnPoints calls f with how many points of the keys are made so far, and how many there will be.
// Calls do not overlap.
func OnPoints(f func(points, of int)) SetupOption {
	return func(o *setupOptions) { o.made = f }
}

// SetupOn makes the keys of an R1CS as gnark's Setup does. The engine computes their points; a nil
// engine is one in this process. With the same randomness the keys equal gnark's byte for byte. A
// constraint system that is no R1CS is backend.ErrInvalidInput. A curve without a prover here is
// backend.ErrUnsupported, and so is an engine without a backend that has programs over points.
//
// Whoever knows the numbers that a set-up draws can prove false statements. All copies of them are
// wiped, and so is everything computed from them except the keys. But the time depends on them:
// products by points, inversions and sums of scalars are not constant time, as in gnark; products
// of scalars are (on amd64). So make the keys where nobody can measure the time, or with others:
// package mpcsetup.
//
// OnPoints reports the progress of a set-up. An observer of the engine is told of a phase
// engine.PhaseSetup with the number of points, and within it of the programs that compute them.
// When the context ends, SetupOn returns its error within some milliseconds, or after the program
// that is running.
func SetupOn(ctx context.Context, e *engine.Engine, ccs constraint.ConstraintSystem,
	opts ...SetupOption) (ProvingKey, VerifyingKey, error) {
	var o setupOptions
	for _, set := range opts {
		set(&o)
	}
	s, err := shapeOf(ccs)
	if err != nil {
		return nil, nil, err
	}
	on, ok := ccs.(interface{ CurveID() ecc.ID })
	if !ok {
		return nil, nil, fmt.Errorf("%w: a constraint system of type %T", backend.ErrInvalidInput, ccs)
	}
	b, ok := bindings[on.CurveID()]
	if !ok {
		return nil, nil, fmt.Errorf("%w: Groth16 on the curve %s", backend.ErrUnsupported, on.CurveID())
	}
	e, end, err := resident.Or(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	pk, vk, err := b.setup(ctx, e, &s, ccs, &o)
	if err = errors.Join(err, end()); err != nil {
		return nil, nil, err
	}
	return pk, vk, nil
}

// keys are a proving and a verifying key with their types as parameters.
type keys[P1, P2, S any] struct {
	parts[P1, P2, S]
	constraints int
	gamma2      P2
	public      []P1            // K of the verifying key
	knowledge   []knowledge[P2] // for each commitment
	committed   [][]int         // for each commitment, the public wires and commitments to which it commits
}

// knowledge is the part of the verifying key for the proof of knowledge of a commitment.
type knowledge[P2 any] struct{ g, minusSigma P2 }

// The indices of the numbers that a set-up draws, in gnark's order, and of two inverses.
const (
	tau = iota
	alpha
	beta
	gamma
	delta
	gammaInverse
	deltaInverse
	wasted
)

// setup makes the keys of a constraint system of a shape.
func (c *curve[P1, P2, S]) setup(ctx context.Context, e *engine.Engine, s *shape,
	ccs constraint.ConstraintSystem, o *setupOptions) (ProvingKey, VerifyingKey, error) {
	sys, err := c.systemOf(ccs)
	if err != nil {
		return nil, nil, err
	}
	waste := make([]S, wasted)
	defer clear(waste)
	var zero S
	for i := range waste[:gammaInverse] {
		for waste[i] == zero {
			if err := c.fr.Random(waste[i : i+1]); err != nil {
				return nil, nil, err
			}
		}
	}
	c.fr.InverseTo(&waste[gammaInverse], &waste[gamma])
	c.fr.InverseTo(&waste[deltaInverse], &waste[delta])
	common, err := c.random2() // gnark draws it even without commitments
	if err != nil {
		return nil, nil, err
	}
	sigmas := make([]S, 2*len(s.commitments)) // and their negatives
	defer clear(sigmas)
	minus := sigmas[len(s.commitments):]
	for i := range minus {
		if err := c.fr.RandomNonzero(&sigmas[i]); err != nil {
			return nil, nil, err
		}
		c.fr.Neg(&minus[i], &sigmas[i])
	}

	size, root := c.domain(s.constraints)
	q := &qap[S]{}
	defer q.wipe()
	if err := c.evaluate(ctx, q, s, sys.System.System, sys.Coefficients, size, &root, waste); err != nil {
		return nil, nil, err
	}
	k := &keys[P1, P2, S]{constraints: s.constraints}
	k.infiniteA, q.a = withoutZeros(q.a)
	k.infiniteB, q.b = withoutZeros(q.b)

	of1 := make([]S, 0, 3+len(q.a)+len(q.b)+len(q.z)+len(q.public)+len(q.private)+2*q.committedLen())
	defer func() { merge.Wipe(of1) }()
	of1 = append(of1, waste[alpha], waste[beta], waste[delta])
	for _, v := range append([][]S{q.a, q.b, q.z, q.public, q.private}, q.committed...) {
		of1 = append(of1, v...)
	}
	for i, v := range q.committed {
		at := len(of1)
		of1 = append(of1, v...)
		if err := c.fr.Scale(ctx, of1[at:], &sigmas[i]); err != nil {
			return nil, nil, err
		}
	}
	of2 := make([]S, 0, 3+len(q.b))
	defer func() { merge.Wipe(of2) }()
	of2 = append(append(of2, q.b...), waste[beta], waste[delta], waste[gamma])

	total := len(of1) + len(of2) + len(minus)
	ctx, end := e.Observe(ctx, engine.Phase{Kind: engine.PhaseSetup, Points: total})
	g1, g2 := c.g1.Generator(), c.g2.Generator()
	var points1 []P1
	var points2, minusSigmas []P2
	err = programs.Run(ctx, programs.NewProgress(total, o.made), slices.Concat(
		multiples(e, c.g1.Group, g1, of1, &points1),
		multiples(e, c.g2.Group, g2, of2, &points2),
		multiples(e, c.g2.Group, common, minus, &minusSigmas)))
	end(err)
	if err != nil {
		return nil, nil, err
	}
	k.alpha, k.beta, k.delta = points1[0], points1[1], points1[2]
	points1 = points1[3:]
	for _, part := range []struct {
		of *[]P1
		n  int
	}{{&k.a, len(q.a)}, {&k.b, len(q.b)}, {&k.z, len(q.z)}, {&k.public, len(q.public)}, {&k.k, len(q.private)}} {
		*part.of, points1 = cutOff(points1, part.n)
	}
	k.pedersen = make([]pedersen[P1], len(q.committed))
	for i, v := range q.committed {
		k.pedersen[i].basis, points1 = cutOff(points1, len(v))
	}
	for i, v := range q.committed {
		k.pedersen[i].sigma, points1 = cutOff(points1, len(v))
		k.knowledge = append(k.knowledge, knowledge[P2]{common, minusSigmas[i]})
	}
	k.b2, points2 = cutOff(points2, len(q.b))
	k.beta2, k.delta2, k.gamma2 = points2[0], points2[1], points2[2]
	k.committed = s.commitments.GetPublicAndCommitmentCommitted(s.commitments.CommitmentIndexes(), s.public)
	return c.keys(k)
}

// qap has the scalars of a key's points: the values at tau of the wires' polynomials, and those of
// Z in bit-reversed order. All are secret.
type qap[S any] struct {
	a, b, z         []S
	public, private []S   // K of the verifying key, and K of the proving key
	committed       [][]S // for the private wires of each commitment
	lagrange, c     []S   // used while the others are computed
}

func (q *qap[S]) wipe() {
	merge.Wipe(append([][]S{q.a, q.b, q.z, q.public, q.private, q.lagrange, q.c}, q.committed...)...)
}

func (q *qap[S]) committedLen() (n int) {
	for _, v := range q.committed {
		n += len(v)
	}
	return n
}

// evaluate computes q. A wire that no constraint uses has the value 0.
func (c *curve[P1, P2, S]) evaluate(ctx context.Context, q *qap[S], s *shape, sys *constraint.System,
	coefficients []S, size int, root *S, waste []S) error {
	q.lagrange = make([]S, s.constraints)
	if err := c.fr.Lagrange(ctx, q.lagrange, &waste[tau], root, size); err != nil {
		return err
	}
	// The three sides of the constraints are read at the same time.
	sides := []*[]S{&q.a, &q.b, &q.c}
	for _, v := range sides {
		*v = make([]S, s.wires)
	}
	if err := merge.Until(ctx, len(sides), 1, func(i, _ int) { c.addTerms(ctx, *sides[i], i, sys, coefficients, q.lagrange) }); err != nil {
		return err
	}

	// K is beta A + alpha B + C, divided by gamma or delta.
	if err := merge.Until(ctx, s.wires, 1<<12, func(lo, hi int) {
		t := make([]S, 1)
		defer clear(t)
		for i := lo; i < hi; i++ {
			c.fr.Mul(&t[0], &q.a[i], &waste[beta])
			c.fr.AddTo(&q.c[i], &t[0])
			c.fr.Mul(&t[0], &q.b[i], &waste[alpha])
			c.fr.AddTo(&q.c[i], &t[0])
		}
	}); err != nil {
		return err
	}
	public := make([]uint32, s.public, s.public+len(s.commitments))
	for i := range public {
		public[i] = uint32(i)
	}
	for _, info := range s.commitments {
		public = append(public, uint32(info.CommitmentIndex))
	}
	q.committed = make([][]S, len(s.commitments))
	type selection struct {
		of    *[]S
		wires []uint32
		by    *S
	}
	all := []selection{{&q.public, public, &waste[gammaInverse]}, {&q.private, s.private(), &waste[deltaInverse]}}
	for i := range q.committed {
		all = append(all, selection{&q.committed[i], s.committed(i), &waste[gammaInverse]})
	}
	for _, sel := range all {
		*sel.of = make([]S, len(sel.wires))
		if err := merge.Until(ctx, len(sel.wires), 1<<12, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				c.fr.Mul(&(*sel.of)[i], &q.c[sel.wires[i]], sel.by)
			}
		}); err != nil {
			return err
		}
	}

	// Z is tau^i (tau^size - 1)/delta for i below size-1.
	first := make([]S, 1)
	defer clear(first)
	c.fr.PowerMinusOne(&first[0], &waste[tau], size)
	c.fr.Mul(&first[0], &first[0], &waste[deltaInverse])
	q.z = make([]S, size)
	if err := c.fr.Powers(ctx, q.z, &first[0], &waste[tau]); err != nil {
		return err
	}
	merge.BitReverse(q.z)
	q.z = q.z[:size-1] // Z has size-1 points; the one too many is the last in either order
	return nil
}

// addTerms goes through the terms of one side of the constraints until ctx ends. For each term it
// adds to the wire's sum the coefficient times the constraint's Lagrange polynomial.
func (c *curve[P1, P2, S]) addTerms(ctx context.Context, sums []S, side int, sys *constraint.System, coefficients, lagrange []S) {
	t := make([]S, 1)
	defer clear(t)
	all := sys.GetR1CIterator()
	for j := range lagrange {
		row := all.Next()
		if row == nil || j%(1<<12) == 0 && ctx.Err() != nil {
			return
		}
		l := &lagrange[j]
		for _, term := range [...]constraint.LinearExpression{row.L, row.R, row.O}[side] {
			sum := &sums[term.WireID()]
			switch id := term.CoeffID(); id {
			case constraint.CoeffIdZero:
			case constraint.CoeffIdOne:
				c.fr.AddTo(sum, l)
			case constraint.CoeffIdMinusOne:
				c.fr.Subtract(sum, sum, l)
			default:
				c.fr.Mul(&t[0], &coefficients[id], l)
				c.fr.AddTo(sum, &t[0])
			}
		}
	}
}

// withoutZeros moves the scalars of v that are not 0 to its front. It returns which were 0, and the
// front.
func withoutZeros[S comparable](v []S) ([]bool, []S) {
	var zero S
	zeros, n := make([]bool, len(v)), 0
	for i := range v {
		if v[i] == zero {
			zeros[i] = true
			continue
		}
		v[n] = v[i]
		n++
	}
	return zeros, v[:n]
}

// cutOff returns the first n elements and the rest.
func cutOff[T any](v []T, n int) ([]T, []T) { return v[:n:n], v[n:] }

// mostMultiples is how many products one program computes. It bounds the memory of a backend, and
// what must be repeated when the backend dies. Only tests change it.
var mostMultiples = 1 << 21

// multiples returns the programs that set points to the products of base by each scalar.
func multiples[P, S any](e *engine.Engine, g *msm.Group[P, S], base P, scalars []S, points *[]P) (all []programs.Program) {
	if len(scalars) <= mostMultiples {
		return []programs.Program{{Points: len(scalars), Run: func(ctx context.Context) (err error) {
			*points, err = g.Multiples(ctx, e, base, scalars)
			return err
		}}}
	}
	*points = make([]P, len(scalars))
	left := *points
	for part := range slices.Chunk(scalars, mostMultiples) {
		var to []P
		to, left = cutOff(left, len(part))
		all = append(all, programs.Program{Points: len(part), Run: func(ctx context.Context) error {
			products, err := g.Multiples(ctx, e, base, part)
			copy(to, products)
			return err
		}})
	}
	return all
}
