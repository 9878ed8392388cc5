package mpcsetup

import (
	"context"
	"fmt"
	"slices"

	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/merge"
	"github.com/pippin-zk/pippin/prover/internal/programs"
)

// evaluations has the vectors of gnark's Phase2Evaluations.
type evaluations[P1, P2 any] struct {
	a, b, vkk []P1
	ckk       [][]P1
	b2        []P2
	committed [][]int // for each commitment, the public wires and commitments to which it commits
}

// InitializePhase2 does what gnark's Phase2.Initialize does. It returns what the first participant
// of a circuit's phase contributes to, and the parts of the keys that no contribution changes.
// Nothing is random, so that everybody can compute it again. If a circuit has more constraints than
// the powers allow, the error is backend.ErrInvalidInput.
func (c *Ceremony[P1, P2, S, U, C, Q, E, R]) InitializePhase2(ctx context.Context, e *engine.Engine,
	r1cs *R, commons *C, opts ...Option) (*Q, *E, error) {
	v := c.powers(commons)
	n := len(v.alpha)
	sys, coefficients := c.system(r1cs)
	commitments, ok := sys.CommitmentInfo.(constraint.Groth16Commitments)
	switch {
	case !ok:
		return nil, nil, fmt.Errorf("%w: the constraint system is not an R1CS", backend.ErrInvalidInput)
	case len(commitments) > mostCommitments:
		return nil, nil, fmt.Errorf("%w: %d commitments, at most %d are possible", backend.ErrInvalidInput, len(commitments), mostCommitments)
	case n < 1 || n&(n-1) != 0 || len(v.tau1) != 2*n-1 || len(v.tau2) != n || len(v.beta) != n:
		return nil, nil, fmt.Errorf("%w: %d, %d, %d and %d powers belong to no domain", backend.ErrInvalidInput,
			len(v.tau1), len(v.tau2), n, len(v.beta))
	case sys.GetNbConstraints() > n:
		return nil, nil, fmt.Errorf("%w: %d constraints, the powers are for %d", backend.ErrInvalidInput, sys.GetNbConstraints(), n)
	}
	q := new(Q)
	p, ev := c.phase2(q), &evaluations[P1, P2]{
		committed: commitments.GetPublicAndCommitmentCommitted(commitments.CommitmentIndexes(), sys.GetNbPublicVariables()),
	}
	err := on(ctx, e, func(e *engine.Engine) error {
		w, err := c.wires(ctx, e, sys, coefficients, &v, opts)
		if err != nil {
			return err
		}
		ev.a, ev.b, ev.b2, *p.z = w.a, w.b, w.b2, w.z
		*p.delta1, *p.delta2 = c.g1.Generator(), c.g2.Generator()
		place := make([]int, len(w.k)) // 1 + the commitment that commits to a wire, or 0
		for j, info := range commitments {
			for _, i := range info.PrivateCommitted {
				place[i] = 1 + j
			}
		}
		ev.ckk = make([][]P1, len(commitments))
		*p.sigma, *p.proofs = slices.Repeat([]P2{*p.delta2}, len(commitments)), make([]U, len(commitments))
		isCommitment := map[int]bool{}
		for j, info := range commitments {
			isCommitment[info.CommitmentIndex] = true
			ev.ckk[j] = make([]P1, 0, len(info.PrivateCommitted))
		}
		// While gamma and delta are 1, K is one vector.
		for i, point := range w.k {
			switch {
			case place[i] > 0:
				ev.ckk[place[i]-1] = append(ev.ckk[place[i]-1], point)
			case i < sys.GetNbPublicVariables() || isCommitment[i]:
				ev.vkk = append(ev.vkk, point)
			default:
				*p.pkk = append(*p.pkk, point)
			}
		}
		*p.sigmaCKK = make([][]P1, len(commitments))
		for j := range ev.ckk {
			(*p.sigmaCKK)[j] = slices.Clone(ev.ckk[j]) // gnark's Contribute overwrites them
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return q, c.evaluations(ev), nil
}

// wires has points for each wire: the values at tau of the polynomials A and B, and
// K = beta A + alpha B + C. It also has Z = tau^i (tau^n - 1), in bit-reversed order.
type wires[P1, P2 any] struct {
	a, b, k []P1
	b2      []P2
	z       []P1
}

// wires computes the points of each wire, and Z.
func (c *Ceremony[P1, P2, S, U, C, Q, E, R]) wires(ctx context.Context, e *engine.Engine,
	sys *constraint.System, coefficients []S, v *powers[P1, P2], opts []Option) (*wires[P1, P2], error) {
	n := len(v.alpha)
	w := &wires[P1, P2]{z: make([]P1, n)}
	internal, secret, public := sys.GetNbVariables()
	// For each group the constraints have one table of points: for each of tau, alpha tau and beta
	// tau it has n points in Lagrange form.
	one := terms[P1, S]{negate: c.g1.Neg, points: make([]P1, 1+3*n), coefficients: coefficients}
	two := terms[P2, S]{negate: c.g2.Neg, points: make([]P2, 1+n), coefficients: coefficients}
	const tau, at2 = 1, 1
	alpha, beta := tau+n, tau+2*n
	count := internal + secret + public
	a, b, k := one.list(count), one.list(count), one.list(count)
	b2 := two.list(count)
	for _, visit := range []bool{false, true} {
		i, rows := 0, sys.GetR1CIterator()
		for row := rows.Next(); row != nil; row = rows.Next() {
			if i%(1<<12) == 0 && ctx.Err() != nil {
				return nil, backend.Ended(ctx)
			}
			for _, t := range row.L {
				a.add(t, tau+i, visit)
				k.add(t, beta+i, visit)
			}
			for _, t := range row.R {
				b.add(t, tau+i, visit)
				b2.add(t, at2+i, visit)
				k.add(t, alpha+i, visit)
			}
			for _, t := range row.O {
				k.add(t, tau+i, visit)
			}
			i++
		}
		if !visit {
			for _, l := range []interface{ start() }{a, b, k, b2} {
				l.start()
			}
		}
	}

	total := 4*n + n - 1 + len(one.products) + len(two.products)
	err := observed(ctx, e, opts, total, func(ctx context.Context, progress *programs.Progress) error {
		all := []programs.Program{
			lagrange(e, c.g1.Group, one.points[tau:alpha], v.tau1[:n]),
			lagrange(e, c.g1.Group, one.points[alpha:beta], v.alpha),
			lagrange(e, c.g1.Group, one.points[beta:], v.beta),
			lagrange(e, c.g2.Group, two.points[at2:], v.tau2),
		}
		all = append(all, programs.Differences(e, c.g1.Group, w.z[:n-1], v.tau1[n:], v.tau1[:n-1], part)...)
		if err := programs.Run(ctx, progress, all); err != nil {
			return err
		}
		return programs.Run(ctx, progress, append(products(e, c.g1, &one), products(e, c.g2, &two)...))
	})
	if err != nil {
		return nil, err
	}
	merge.BitReverse(w.z)
	w.z = w.z[:n-1] // Z has n-1 points; the one too many is the last in either order
	for _, s := range []struct {
		to *[]P1
		of *list[P1, S]
	}{{&w.a, a}, {&w.b, b}, {&w.k, k}} {
		if *s.to, err = c.g1.SumClasses(ctx, one.points, s.of.classes()); err != nil {
			return nil, err
		}
	}
	w.b2, err = c.g2.SumClasses(ctx, two.points, b2.classes())
	return w, err
}

// lagrange returns the program that sets to to a key in Lagrange form, from powers.
func lagrange[P, S any](e *engine.Engine, g *msm.Group[P, S], to, powers []P) programs.Program {
	return programs.Program{Points: len(to), Run: func(ctx context.Context) error {
		points, err := g.ToLagrange(ctx, e, powers)
		copy(to, points)
		return err
	}}
}

// terms are the points that are added up. Each stands in points once: infinity first, then those of
// a table, then negatives and products of these.
type terms[P, S any] struct {
	negate       func(*P)
	coefficients []S
	points       []P // of the table
	negatives    []uint32
	negative     []uint32 // 1 + a point's place in negatives, or 0
	products     []product
}

// product is a point of the table times a coefficient of the circuit.
type product struct{ point, coefficient uint32 }

// list has the terms of each wire. A first pass counts them, a second lists them.
type list[P, S any] struct {
	of     *terms[P, S]
	starts []uint32
	next   []uint32
	// member has the indices of points in terms. Products have indices from productsAt on.
	member []uint32
}

// productsAt and negativesAt are where the indices of products and negatives begin until their
// places are known.
const (
	negativesAt = 1 << 30
	productsAt  = 1 << 31
)

func (t *terms[P, S]) list(wires int) *list[P, S] {
	return &list[P, S]{of: t, starts: make([]uint32, wires+1)}
}

// add counts a term or, with listed, lists it.
func (l *list[P, S]) add(t constraint.Term, point int, listed bool) {
	id := t.CoeffID()
	if id == constraint.CoeffIdZero {
		return
	}
	times := uint32(1)
	if id == constraint.CoeffIdTwo {
		times = 2
	}
	if !listed {
		l.starts[1+t.WireID()] += times
		return
	}
	at := uint32(point)
	switch id {
	case constraint.CoeffIdOne, constraint.CoeffIdTwo:
	case constraint.CoeffIdMinusOne:
		at = l.of.minus(at)
	default:
		l.of.products = append(l.of.products, product{at, uint32(id)})
		at = productsAt + uint32(len(l.of.products)-1)
	}
	for range times {
		l.member[l.next[t.WireID()]] = at
		l.next[t.WireID()]++
	}
}

// minus returns the index of the negative of a point.
func (t *terms[P, S]) minus(point uint32) uint32 {
	if t.negative == nil {
		t.negative = make([]uint32, len(t.points))
	}
	if t.negative[point] == 0 {
		t.negatives = append(t.negatives, point)
		t.negative[point] = uint32(len(t.negatives))
	}
	return negativesAt + t.negative[point] - 1
}

// start ends the count. A wire without terms gets infinity.
func (l *list[P, S]) start() {
	for i := 1; i < len(l.starts); i++ {
		l.starts[i] = l.starts[i-1] + max(l.starts[i], 1)
	}
	l.member = make([]uint32, l.starts[len(l.starts)-1])
	l.next = slices.Clone(l.starts[:len(l.starts)-1])
}

// classes returns the wires as classes of points, once all points are computed.
func (l *list[P, S]) classes() *merge.Classes {
	products := uint32(len(l.of.points) - len(l.of.products))
	negatives := products - uint32(len(l.of.negatives))
	for i, at := range l.member {
		switch {
		case at >= productsAt:
			l.member[i] = products + (at - productsAt)
		case at >= negativesAt:
			l.member[i] = negatives + (at - negativesAt)
		}
	}
	return merge.Lists(l.starts, l.member)
}

// products appends the negatives and products to the points of a complete table. It returns the
// programs that compute the products.
func products[P, S any](e *engine.Engine, ops *group.Ops[P, S], t *terms[P, S]) (all []programs.Program) {
	t.points = slices.Grow(t.points, len(t.negatives)+len(t.products))
	for _, i := range t.negatives {
		p := t.points[i]
		t.negate(&p)
		t.points = append(t.points, p)
	}
	for some := range slices.Chunk(t.products, part) {
		at := len(t.points)
		t.points = t.points[:at+len(some)]
		to, from := t.points[at:], make([]P, len(some))
		by := make([]S, len(some))
		for i, p := range some {
			from[i], by[i] = t.points[p.point], t.coefficients[p.coefficient]
		}
		all = append(all, programs.Scaled(e, ops.Group, to, from, by, part)...)
	}
	return all
}
