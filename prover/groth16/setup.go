package groth16

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"slices"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/constraint"
	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/merge"
	"github.com/pippin-zk/pippin/prover/internal/resident"
)

// Setup makes keys as gnark's Setup does, with the engine of Use: of the same randomness
// they are gnark's byte for byte. Whoever knows that randomness can prove what is false. It
// is wiped, and its scalars go to the engine's backend.
func Setup(ccs constraint.ConstraintSystem) (ProvingKey, VerifyingKey, error) {
	return SetupOn(context.Background(), kept.Engine(), ccs)
}

// A SetupOption configures SetupOn.
type SetupOption func(*setupOptions)

type setupOptions struct {
	progress func(points, of int)
}

// OnPoints calls f with how many points of the keys are made, and how many there will be.
// Calls do not overlap.
func OnPoints(f func(points, of int)) SetupOption {
	return func(o *setupOptions) { o.progress = f }
}

// SetupOn does what Setup does on an engine; a nil engine is one in this process. When ctx
// ends, SetupOn returns its error.
func SetupOn(ctx context.Context, e *engine.Engine, ccs constraint.ConstraintSystem, opts ...SetupOption) (ProvingKey, VerifyingKey, error) {
	var o setupOptions
	for _, set := range opts {
		set(&o)
	}
	s, err := shapeOf(ccs)
	if err != nil {
		return nil, nil, err
	}
	c, ok := ccs.(interface{ CurveID() ecc.ID })
	if !ok {
		return nil, nil, fmt.Errorf("%w: a constraint system of type %T", backend.ErrInvalidInput, ccs)
	}
	b, ok := bindings[c.CurveID()]
	if !ok {
		return nil, nil, fmt.Errorf("%w: Groth16 on the curve %s", backend.ErrUnsupported, c.CurveID())
	}
	e, end, err := resident.Or(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	pk, vk, err := b.setup(ctx, e, ccs, &s, &o)
	return pk, vk, errors.Join(err, end())
}

// keys is what a set-up makes, for a curve to put into gnark's types.
type keys[P1, P2, S any] struct {
	parts[P1, P2, S]
	constraints int
	// What the verifying key has beside: gamma, K of the public wires, and of the
	// commitments' keys the generator and its products by minus their secrets.
	gamma2    P2
	public    []P1
	generator P2
	minus     []P2
	committed [][]int // public wires and commitments that each commitment commits to
}

// toxic is the randomness of a set-up, in the order in which gnark takes it. It is secret.
type toxic[S any] struct {
	tau, alpha, beta, gamma, delta S
}

// setup makes the keys of a constraint system. Names are those of gnark and of figure 4 of
// DIZK (https://eprint.iacr.org/2018/691): A, B and C are the polynomials of each wire at
// tau, and a wire's K is beta A + alpha B + C, over gamma for the verifier's wires and
// those that are committed to, over delta for the others.
func (c *curve[P1, P2, S]) setup(ctx context.Context, e *engine.Engine, ccs constraint.ConstraintSystem, s *shape, o *setupOptions) (ProvingKey, VerifyingKey, error) {
	sys, err := c.systemOf(ccs)
	if err != nil {
		return nil, nil, err
	}
	secret := make([]S, 5)
	defer clear(secret)
	var zero S
	for i := range secret {
		for secret[i] == zero {
			if err := c.fr.Random(secret[i : i+1]); err != nil {
				return nil, nil, err
			}
		}
	}
	t := toxic[S]{secret[0], secret[1], secret[2], secret[3], secret[4]}
	defer func() { t = toxic[S]{} }()

	k := &keys[P1, P2, S]{constraints: s.constraints}
	var generator S
	k.size, generator = c.setupOf.domain(s.constraints)
	wires, err := c.wires(ctx, ccs, sys.Coefficients, s, &t, generator, k.size)
	defer wires.wipe()
	if err != nil {
		return nil, nil, err
	}
	inGamma, inDelta := c.fr.Inverse(t.gamma), c.fr.Inverse(t.delta)
	sums := func(of []uint32, over S) []S {
		v := make([]S, len(of))
		wires.ks(ctx, v, of, &t, over)
		return v
	}
	public := s.verifiers()
	scalars := &products[P1, P2, S]{curve: c, engine: e, done: o.progress}
	defer scalars.wipe()
	k.infiniteA, k.infiniteB = zeros(wires.a), zeros(wires.b)
	a, b := nonZeros(wires.a), nonZeros(wires.b)
	defer merge.Wipe(a)
	defer merge.Wipe(b)

	var own []P1
	var own2 []P2
	scalars.in1(&own, []S{t.alpha, t.beta, t.delta})
	scalars.in1(&k.a, a)
	scalars.in1(&k.b, b)
	scalars.in1(&k.z, c.shifted(&t, k.size, inDelta))
	scalars.in1(&k.public, sums(public, inGamma))
	scalars.in1(&k.k, sums(s.private(), inDelta))
	scalars.in2(&k.b2, b)
	scalars.in2(&own2, []S{t.beta, t.delta, t.gamma})
	if k.generator, err = c.setupOf.randomG2(); err != nil {
		return nil, nil, err
	}
	k.pedersen = make([]pedersen[P1], len(s.commitments))
	for i, commitment := range s.commitments {
		sigma, err := c.secretOf(k, i)
		if err != nil {
			return nil, nil, err
		}
		basis := sums(indices(commitment.PrivateCommitted), inGamma)
		scaled := make([]S, len(basis))
		for j := range basis {
			c.fr.Mul(&scaled[j], &basis[j], &sigma)
		}
		scalars.in1(&k.pedersen[i].basis, basis)
		scalars.in1(&k.pedersen[i].sigma, scaled)
	}
	if err := scalars.make(ctx); err != nil {
		return nil, nil, err
	}
	k.alpha, k.beta, k.delta = own[0], own[1], own[2]
	k.beta2, k.delta2, k.gamma2 = own2[0], own2[1], own2[2]
	k.committed = s.commitments.GetPublicAndCommitmentCommitted(s.commitments.CommitmentIndexes(), s.public)
	return c.setupOf.keys(k)
}

// secretOf takes the secret of a commitment's key, from 1 to r-1, as gnark-crypto does,
// and keeps minus its product with the key's generator.
func (c *curve[P1, P2, S]) secretOf(k *keys[P1, P2, S], i int) (sigma S, err error) {
	less := new(big.Int).Sub(c.fr.Modulus(), big.NewInt(1))
	n, err := rand.Int(rand.Reader, less)
	if err != nil {
		return sigma, err
	}
	defer group.WipeInt(n)
	n.Add(n, big.NewInt(1))
	sigma = c.fr.FromBig(n)
	minus := new(big.Int).Neg(n)
	defer group.WipeInt(minus)
	k.minus = append(k.minus, c.g2.Sum(group.Term[P2]{Point: k.generator, K: minus}))
	return sigma, nil
}

// verifiers lists the wires whose values the verifier knows: public ones and commitments.
func (s *shape) verifiers() []uint32 {
	var v []uint32
	for w := range s.public {
		v = append(v, uint32(w))
	}
	return append(v, indices(s.commitments.CommitmentIndexes())...)
}

func indices(of []int) []uint32 {
	v := make([]uint32, len(of))
	for i, w := range of {
		v[i] = uint32(w)
	}
	return v
}

// zeros tells which elements are 0.
func zeros[S comparable](v []S) []bool {
	var zero S
	is := make([]bool, len(v))
	for i := range v {
		is[i] = v[i] == zero
	}
	return is
}

// nonZeros returns the other elements.
func nonZeros[S comparable](v []S) []S {
	var zero S
	left := make([]S, 0, len(v))
	for i := range v {
		if v[i] != zero {
			left = append(left, v[i])
		}
	}
	return left
}

// wires has the values of each wire's polynomials at tau. They are secret.
type wires[S any] struct {
	fr      *group.Field[S]
	a, b, c []S
}

func (w *wires[S]) wipe() {
	for _, v := range [][]S{w.a, w.b, w.c} {
		merge.Wipe(v)
	}
}

// wires evaluates the polynomials of all wires: the sums of the coefficients in the
// constraints times the Lagrange polynomials at tau.
func (c *curve[P1, P2, S]) wires(ctx context.Context, ccs constraint.ConstraintSystem, coefficients []S, s *shape, t *toxic[S], generator S, size int) (*wires[S], error) {
	w := &wires[S]{c.fr, make([]S, s.wires), make([]S, s.wires), make([]S, s.wires)}
	r1cs, ok := ccs.(interface{ GetR1CIterator() constraint.R1CIterator })
	if !ok {
		return w, fmt.Errorf("%w: the constraint system is not an R1CS", backend.ErrInvalidInput)
	}
	lagrange := make([]S, s.constraints)
	defer merge.Wipe(lagrange)
	if err := c.lagrange(ctx, lagrange, t.tau, generator, size); err != nil {
		return w, err
	}
	// Each side has an iterator of its own, since one looks for the constraints in turn.
	sides := [3]func(*constraint.R1C) constraint.LinearExpression{
		func(r *constraint.R1C) constraint.LinearExpression { return r.L },
		func(r *constraint.R1C) constraint.LinearExpression { return r.R },
		func(r *constraint.R1C) constraint.LinearExpression { return r.O },
	}
	var all errgroup.Group
	for i, to := range [][]S{w.a, w.b, w.c} {
		all.Go(func() error {
			product := make([]S, 1)
			defer clear(product)
			it := r1cs.GetR1CIterator()
			for j := range lagrange {
				if j%(1<<12) == 0 && ctx.Err() != nil {
					return backend.Ended(ctx)
				}
				for _, term := range sides[i](it.Next()) {
					sum := &to[term.WireID()]
					switch id := term.CoeffID(); id {
					case constraint.CoeffIdZero:
					case constraint.CoeffIdOne:
						c.fr.AddTo(sum, &lagrange[j])
					case constraint.CoeffIdMinusOne:
						c.fr.SubFrom(sum, &lagrange[j])
					default:
						c.fr.Mul(&product[0], &coefficients[id], &lagrange[j])
						c.fr.AddTo(sum, &product[0])
					}
				}
			}
			return nil
		})
	}
	return w, all.Wait()
}

// lagrange sets l to the first Lagrange polynomials of a domain at tau: polynomial i is
// w^i (tau^n - 1) / (n (tau - w^i)).
func (c *curve[P1, P2, S]) lagrange(ctx context.Context, l []S, tau, w S, n int) error {
	const part = 1 << 10
	factor := c.fr.Product(c.fr.Minus(c.fr.Power(tau, n), c.fr.One()), c.fr.Inverse(c.fr.Number(n)))
	return merge.Until(ctx, len(l), part, func(lo, hi int) {
		// All differences of a part share one inversion.
		secret := make([]S, 2*(hi-lo)+2)
		defer clear(secret)
		differences, before, run := secret[:hi-lo], secret[hi-lo:2*(hi-lo)], secret[2*(hi-lo):]
		root := c.fr.Power(w, lo)
		run[0] = c.fr.One()
		var zero S
		for i := range differences {
			l[lo+i] = root
			if differences[i] = c.fr.Minus(tau, root); differences[i] == zero {
				differences[i] = c.fr.One() // tau is in the domain: tau^n - 1 is 0
			}
			before[i] = run[0]
			c.fr.Mul(&run[0], &run[0], &differences[i])
			c.fr.Mul(&root, &root, &w)
		}
		run[0] = c.fr.Product(c.fr.Inverse(run[0]), factor)
		for i := len(differences) - 1; i >= 0; i-- {
			c.fr.Mul(&run[1], &run[0], &before[i])
			c.fr.Mul(&l[lo+i], &l[lo+i], &run[1])
			c.fr.Mul(&run[0], &run[0], &differences[i])
		}
	})
}

// ks sets v to the K of some wires.
func (w *wires[S]) ks(ctx context.Context, v []S, of []uint32, t *toxic[S], over S) {
	_ = merge.Until(ctx, len(v), 1<<10, func(lo, hi int) { // whoever makes the points sees that ctx has ended
		secret := make([]S, 2)
		defer clear(secret)
		for i := lo; i < hi; i++ {
			k := of[i]
			w.fr.Mul(&secret[0], &w.a[k], &t.beta)
			w.fr.Mul(&secret[1], &w.b[k], &t.alpha)
			w.fr.AddTo(&secret[0], &secret[1])
			w.fr.AddTo(&secret[0], &w.c[k])
			w.fr.Mul(&v[i], &secret[0], &over)
		}
	})
}

// shifted returns the scalars of Z, tau^i (tau^n - 1) / delta for i below n-1, in the order
// in which proofs have the quotient's coefficients: bit-reversed.
func (c *curve[P1, P2, S]) shifted(t *toxic[S], n int, inDelta S) []S {
	z := make([]S, n)
	z[0] = c.fr.Product(c.fr.Minus(c.fr.Power(t.tau, n), c.fr.One()), inDelta)
	for i := 1; i < n; i++ {
		c.fr.Mul(&z[i], &z[i-1], &t.tau)
	}
	shift := 65 - bits.Len(uint(n))
	for i := range z {
		if j := int(bits.Reverse64(uint64(i)) >> shift); n > 1 && j > i {
			z[i], z[j] = z[j], z[i]
		}
	}
	return z[:n-1]
}

// mostProducts is how many points are made in one program, and mostPrograms how many
// programs are on their way at a time: one is computed while the other is read.
const (
	mostProducts = 1 << 21
	mostPrograms = 2
)

// products are products of the generators that are still to be made. Their scalars are
// secret.
type products[P1, P2 any, S comparable] struct {
	*curve[P1, P2, S]
	engine *engine.Engine
	done   func(points, of int)
	jobs   []job
	all    [][]S
}

type job struct {
	points int
	make   func(context.Context) error
}

// in1 and in2 add products of the generators of G1 and G2, and take the memory of the
// scalars.
func (p *products[P1, P2, S]) in1(to *[]P1, scalars []S) {
	g, _ := p.setupOf.generators()
	addJobs(p, p.g1, g, to, scalars)
}

func (p *products[P1, P2, S]) in2(to *[]P2, scalars []S) {
	_, g := p.setupOf.generators()
	addJobs(p, p.g2, g, to, scalars)
}

func addJobs[P, P1, P2 any, S comparable](p *products[P1, P2, S], ops *group.Ops[P, S], base P, to *[]P, scalars []S) {
	p.all = append(p.all, scalars)
	*to = make([]P, len(scalars))
	points := *to
	for part := range slices.Chunk(scalars, mostProducts) {
		own := points[:len(part)]
		points = points[len(part):]
		p.jobs = append(p.jobs, job{len(part), func(ctx context.Context) error {
			made, err := ops.Group.Multiples(ctx, p.engine, base, part)
			copy(own, made)
			return err
		}})
	}
}

// make makes them all.
func (p *products[P1, P2, S]) make(ctx context.Context) error {
	total := 0
	for _, j := range p.jobs {
		total += j.points
	}
	made, ready := make(chan int), make(chan struct{})
	go func() {
		defer close(ready)
		points := 0
		for n := range made {
			if points += n; p.done != nil {
				p.done(points, total)
			}
		}
	}()
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(mostPrograms)
	for _, j := range p.jobs {
		all.Go(func() error {
			if err := backend.Ended(ctx); err != nil {
				return err
			}
			err := j.make(ctx)
			made <- j.points
			return err
		})
	}
	err := all.Wait()
	close(made)
	<-ready
	return err
}

func (p *products[P1, P2, S]) wipe() {
	for _, v := range p.all {
		merge.Wipe(v)
	}
}
