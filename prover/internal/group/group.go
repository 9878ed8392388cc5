// Package group has the arithmetic that provers need beside MSMs, for all of
// gnark-crypto's groups and scalar fields at once.
package group

import (
	"cmp"
	"context"
	"math/big"
	"sync"

	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/prover/internal/merge"
)

// Ops computes in one group: P is gnark-crypto's affine point, S its scalar. Its
// functions are safe for concurrent use.
type Ops[P, S any] struct {
	// Group is the same group on an engine.
	Group *msm.Group[P, S]
	// Marshal encodes a point as gnark-crypto does by default.
	Marshal func(*P) []byte
	// Neg changes the sign of a point.
	Neg func(*P)

	sum        func([]Term[P]) P
	sumClasses func(context.Context, []P, *merge.Classes) ([]P, error)
}

// sums adds points up as Jacobian points J.
type sums[P, J any] struct {
	start    func(*P) J
	addMixed func(*J, *P)
	add      func(*J, *J)
	toAffine func([]J) ([]P, error)
}

// Term is K times a point; a nil K is 1.
type Term[P any] struct {
	Point P
	K     *big.Int
}

// newOps binds the types of one group; C is the type of its coordinates.
func newOps[C, P, J, S any, PC curves.Element[C], AP curves.Affine[P, J], PJ curves.Jacobian[P, J]](g *msm.Group[P, S]) *Ops[P, S] {
	s := sums[P, J]{
		start:    func(p *P) (j J) { PJ(&j).FromAffine(p); return j },
		addMixed: func(j *J, p *P) { PJ(j).AddMixed(p) },
		add:      func(j, q *J) { PJ(j).AddAssign(q) },
		toAffine: toAffine[C, P, J, PC],
	}
	return &Ops[P, S]{
		Group:   g,
		Marshal: func(p *P) []byte { return AP(p).Marshal() },
		Neg:     func(p *P) { AP(p).Neg(p) },
		sum: func(terms []Term[P]) P {
			var total, t J
			for i := range terms {
				PJ(&t).FromAffine(&terms[i].Point)
				if k := terms[i].K; k != nil {
					PJ(&t).ScalarMultiplication(&t, k)
				}
				PJ(&total).AddAssign(&t)
			}
			var p P
			return *AP(&p).FromJacobian(&total)
		},
		sumClasses: s.ofClasses,
	}
}

// Generator returns gnark-crypto's generator.
func (o *Ops[P, S]) Generator() P {
	p := make([]P, 1)
	copy(layout.Bytes(p), curves.GroupOf(o.Group.Curve(), o.Group.Group()).Generator().Bytes())
	return p[0]
}

// Sum adds up a few terms.
func (o *Ops[P, S]) Sum(terms ...Term[P]) P { return o.sum(terms) }

// toAffine divides by Z with one inversion for all. A Jacobian point is three
// coordinates in memory (X, Y, Z), an affine one two: x = X/Z^2, y = Y/Z^3.
func toAffine[C, P, J any, PC curves.Element[C]](points []J) ([]P, error) {
	out := make([]P, len(points))
	in, err := layout.View[C](layout.Bytes(points))
	if err != nil {
		return nil, err
	}
	xy, err := layout.View[C](layout.Bytes(out))
	if err != nil {
		return nil, err
	}
	// before[i] is the product of all Z up to but not including point i's.
	before := make([]C, len(points))
	defer clear(before)
	var run, t C
	PC(&run).SetOne()
	for i := range points {
		before[i] = run
		if z := &in[3*i+2]; !PC(z).IsZero() {
			PC(&run).Mul(&run, z)
		}
	}
	PC(&run).Inverse(&run)
	for i := len(points) - 1; i >= 0; i-- {
		x, y, z := &in[3*i], &in[3*i+1], &in[3*i+2]
		if PC(z).IsZero() {
			continue // infinity is all zeros
		}
		inv := &before[i]
		PC(inv).Mul(inv, &run)
		PC(&run).Mul(&run, z)
		PC(&t).Square(inv)
		PC(&xy[2*i]).Mul(x, &t)
		PC(&t).Mul(&t, inv)
		PC(&xy[2*i+1]).Mul(y, &t)
	}
	return out, nil
}

// SumClasses returns the sum of the points of every class, in new memory. The sums
// tell what the classes are: where these are secret, the caller wipes the
// answer. Everything in between is wiped here. When ctx ends, SumClasses returns its
// error.
func (o *Ops[P, S]) SumClasses(ctx context.Context, points []P, c *merge.Classes) ([]P, error) {
	return o.sumClasses(ctx, points, c)
}

// ofClasses does what SumClasses does.
func (o sums[P, J]) ofClasses(ctx context.Context, points []P, c *merge.Classes) ([]P, error) {
	// Members are cut into equal parts, whatever classes they belong to, so
	// that one large class keeps all processors busy.
	const part = 1 << 11
	type piece struct {
		class int
		sum   J
	}
	var mu sync.Mutex
	var failed error
	cut := make([]piece, 0, 2*(c.Total()/part+1)) // sums of incomplete classes: the first and last of a part
	defer func() { clear(cut) }()

	out := make([]P, c.Len())
	err := merge.Until(ctx, c.Total(), part, func(lo, hi int) {
		sums, classes := make([]J, 0, part), make([]int, 0, part)
		defer func() { clear(sums) }()
		c.Walk(lo, hi, func(class int, members []uint32, whole bool) {
			if whole && len(members) == 1 {
				out[class] = points[members[0]]
				return
			}
			sum := o.start(&points[members[0]])
			for _, i := range members[1:] {
				o.addMixed(&sum, &points[i])
			}
			if whole {
				sums, classes = append(sums, sum), append(classes, class)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			cut = append(cut, piece{class, sum})
		})
		points, err := o.toAffine(sums)
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			failed = err
			return
		}
		for i, class := range classes {
			out[class] = points[i]
		}
		clear(points)
	})
	if err = cmp.Or(err, failed); err != nil {
		return nil, err
	}
	joined := map[int]*J{}
	for i := range cut {
		if j, ok := joined[cut[i].class]; ok {
			o.add(j, &cut[i].sum)
		} else {
			joined[cut[i].class] = &cut[i].sum
		}
	}
	for class, j := range joined {
		p, err := o.toAffine([]J{*j})
		if err != nil {
			return nil, err
		}
		out[class] = p[0]
	}
	return out, nil
}
