package probe

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/pippin-zk/pippin/kernels/internal/oracle"
)

// edwards is the map of G1 to -X^2 + Y^2 = 1 + d X^2 Y^2 in the model: with
// u = s (x + 1), X = k (x + 1) / y and Y = (u - 1)/(u + 1).
type edwards struct{ s, k, d2 oracle.Elem }

// edwardsOf takes the constants from the probe and checks what defines them.
func edwardsOf(g group, x []*big.Int) (edwards, error) {
	f := g.f
	e := edwards{f.decode(x), f.decode(x[1:]), f.decode(x[2:])}
	if !f.Equal(f.Scale(f.Mul(e.s, e.s), 3), f.One()) {
		return e, fmt.Errorf("s^2 is not 1/3")
	}
	// B v^2 = u^3 + A u^2 + u with A = -3s and B = s; a = (A+2)/B, d = (A-2)/B.
	inv, two := f.Inv(e.s), f.Scale(f.One(), 2)
	a := f.Mul(f.Add(f.Scale(e.s, -3), two), inv)
	d := f.Mul(f.Sub(f.Scale(e.s, -3), two), inv)
	if !f.Equal(f.Mul(e.k, e.k), f.Scale(a, -1)) {
		return e, fmt.Errorf("k^2 is not -a")
	}
	if !f.Equal(f.Mul(e.d2, a), f.Scale(d, -2)) {
		return e, fmt.Errorf("2d is not -2d'/a'")
	}
	return e, nil
}

// model is the one of the constants, which the check of edwards_constants, first
// in edwardsOps, leaves here.
var model atomic.Pointer[edwards]

// xy returns the Edwards form of p.
func (e edwards) xy(g group, p oracle.Point) (x, y oracle.Elem) {
	f := g.f
	if p.Infinity() {
		return f.Zero(), f.One()
	}
	x1 := f.Add(p.X, f.One())
	u := f.Mul(e.s, x1)
	return f.Mul(e.k, f.Mul(x1, f.Inv(p.Y))), f.Mul(f.Sub(u, f.One()), f.Inv(f.Add(u, f.One())))
}

// elementsOp returns an operation on points whose result is elements, in Montgomery
// form and canonical.
func elementsOp(name string, n int, want func(g group, p oracle.Point) []oracle.Elem) op {
	in := []form{affineForm}
	o := pointOp(name, in, affineForm, nil)
	o.out = func(a *arg) []result { return a.group.outputs(n, 1) }
	o.check = nil
	o.want = func(a *arg, x []*big.Int) []*big.Int {
		p, _ := a.group.read(affineForm, x)
		var y []*big.Int
		for _, e := range want(a.group, p) {
			y = append(y, a.group.f.encode(e)...)
		}
		return y
	}
	return o
}

func edwardsConstants() op {
	o := constantOp(op{name: "edwards_constants",
		out: func(a *arg) []result { return a.group.outputs(3, 1) }})
	o.check = func(a *arg, _, y []*big.Int) error {
		e, err := edwardsOf(a.group, y)
		if err == nil {
			model.Store(&e)
		}
		return err
	}
	return o
}

func edwardsNeutral() op {
	return constantOp(op{name: "edwards_neutral",
		out: func(a *arg) []result { return a.group.outputs(4, a.group.f.bound) },
		want: func(a *arg, _ []*big.Int) []*big.Int {
			f := a.group.f
			zero, one := f.encode(f.Zero())[0], f.encode(f.One())[0]
			return []*big.Int{zero, one, zero, one}
		}})
}

// extended returns the words of a point with a random z and any representatives of its
// coordinates.
func (e edwards) extended(g group, p oracle.Point, r *rand.Rand) (words []*big.Int) {
	x, y := e.xy(g, p)
	z := g.randomElem(r)
	for _, c := range []oracle.Elem{g.f.Mul(x, z), g.f.Mul(y, z), g.f.Mul(g.f.Mul(x, y), z), z} {
		w := g.f.encode(c)[0]
		if r.IntN(2) == 0 {
			w = add(w, g.f.P)
		}
		words = append(words, w)
	}
	return words
}

// prepared returns a point as additions take it, canonical.
func (e edwards) prepared(g group, p oracle.Point) []*big.Int {
	x, y := e.xy(g, p)
	var words []*big.Int
	for _, c := range []oracle.Elem{g.f.Sub(y, x), g.f.Add(y, x), g.f.Mul(g.f.Mul(x, y), e.d2)} {
		words = append(words, g.f.encode(c)...)
	}
	return words
}

// edwardsOp returns an operation on extended points, followed by prepared ones. Its
// result is a Jacobian point. An operand whose words are all zero is the sum of no points.
func edwardsOp(name string, extended, prepared int, want func(g group, p []oracle.Point) oracle.Point) op {
	o := pointOp(name, nil, jacobianForm, nil)
	o.in = func(a *arg) []operand { return a.group.elements(4*extended + 3*prepared) }
	o.items = func(a *arg, r *rand.Rand) (items [][]*big.Int) {
		g, e := a.group, *model.Load()
		none := []*big.Int{int64s(0), int64s(0), int64s(0), int64s(0)}
		sums := [][]*big.Int{none}
		for _, p := range g.pool {
			sums = append(sums, e.extended(g, p, r))
		}
		if extended+prepared == 1 {
			return sums
		}
		for _, s := range sums {
			for _, p := range g.pool {
				if prepared > 0 {
					items = append(items, slices.Concat(s, e.prepared(g, p)))
				} else {
					items = append(items, slices.Concat(s, e.extended(g, p, r)))
				}
			}
		}
		return items
	}
	o.check = func(a *arg, x, y []*big.Int) error {
		g, e := a.group, *model.Load()
		var p []oracle.Point
		for i := range extended {
			p = append(p, e.point(g, x[4*i:]))
		}
		for i := range prepared {
			// y - x and y + x over 2 are as good as y and x over 1.
			m, q := g.f.decode(x[4*extended+3*i:]), g.f.decode(x[4*extended+3*i+1:])
			p = append(p, e.inverse(g, g.f.Sub(q, m), g.f.Add(q, m), g.f.Scale(g.f.One(), 2)))
		}
		got, err := g.read(jacobianForm, y)
		if err != nil {
			return err
		}
		if w := want(g, p); !g.Equal(got, w) {
			return fmt.Errorf("got the point %x, want %x, of %x", got, w, p)
		}
		return nil
	}
	return o
}

// point returns the point with these extended coordinates.
func (e edwards) point(g group, x []*big.Int) oracle.Point {
	return e.inverse(g, g.f.decode(x), g.f.decode(x[1:]), g.f.decode(x[3:]))
}

// inverse returns the Weierstrass point of (x/z, y/z). With u = (z + y)/(z - y), its x is
// u/s - 1 and its y is k (x + 1)/X. It returns infinity for the neutral element, for the
// sum of no points, and for what is not on the curve.
func (e edwards) inverse(g group, x, y, z oracle.Elem) oracle.Point {
	f := g.f
	if f.IsZero(x) || f.IsZero(z) || f.Equal(y, z) {
		return oracle.Point{}
	}
	x1 := f.Mul(f.Add(z, y), f.Inv(f.Mul(e.s, f.Sub(z, y))))
	p := oracle.Point{X: f.Sub(x1, f.One()), Y: f.Mul(f.Mul(e.k, x1), f.Mul(z, f.Inv(x)))}
	if !g.OnCurve(p) {
		return oracle.Point{}
	}
	return p
}

// toJacobian returns an operation that converts points of the curve, and others.
func toJacobian() op {
	o := edwardsOp("edwards_to_jacobian", 1, 0, same)
	onCurve := o.items
	o.items = func(a *arg, r *rand.Rand) [][]*big.Int {
		items := onCurve(a, r)
		for _, item := range onCurve(a, r) {
			item[0] = new(big.Int).Mod(add(item[0], one), a.group.F.P)
			items = append(items, item)
		}
		return items
	}
	return o
}

// toWeierstrass returns an operation that converts extended points with a random z.
func toWeierstrass() op {
	o := pointOp("edwards_to_weierstrass", nil, affineForm, nil)
	o.in = func(a *arg) []operand { return a.group.elements(4) }
	o.items = func(a *arg, r *rand.Rand) (items [][]*big.Int) {
		for _, p := range a.group.pool {
			items = append(items, model.Load().extended(a.group, p, r))
		}
		return items
	}
	o.check = func(a *arg, x, y []*big.Int) error {
		g := a.group
		got, _ := g.read(affineForm, y)
		ex, ey := model.Load().xy(g, got)
		z := g.f.Inv(g.f.decode(x[3:]))
		if !g.f.Equal(ex, g.f.Mul(g.f.decode(x), z)) || !g.f.Equal(ey, g.f.Mul(g.f.decode(x[1:]), z)) {
			return fmt.Errorf("got the point %x, whose Edwards form is %x, %x", got, ex, ey)
		}
		return nil
	}
	return o
}

// negNiels exchanges the first two elements and negates the third.
func negNiels() op {
	return op{name: "edwards_neg_niels",
		in:  func(a *arg) []operand { return a.group.f.elems(3, 1) },
		out: func(a *arg) []result { return a.group.outputs(3, 1) },
		want: func(_ *arg, x []*big.Int) []*big.Int {
			return []*big.Int{x[1], x[0], new(big.Int).Neg(x[2])}
		}}
}

func multiple(k, l int64) func(g group, p []oracle.Point) oracle.Point {
	return func(g group, p []oracle.Point) oracle.Point {
		q := g.Mul(p[0], int64s(k))
		if l > 0 {
			q = g.Add(q, g.Mul(p[1], int64s(l)))
		}
		return q
	}
}

var edwardsOps = []op{
	edwardsConstants(),
	edwardsNeutral(),
	elementsOp("edwards_denominator", 1, func(g group, p oracle.Point) []oracle.Elem {
		if p.Infinity() {
			return []oracle.Elem{g.f.One()}
		}
		u := g.f.Mul(model.Load().s, g.f.Add(p.X, g.f.One()))
		return []oracle.Elem{g.f.Mul(p.Y, g.f.Add(u, g.f.One()))}
	}),
	elementsOp("edwards_from_weierstrass", 3, func(g group, p oracle.Point) []oracle.Elem {
		x, y := model.Load().xy(g, p)
		return []oracle.Elem{g.f.Sub(y, x), g.f.Add(y, x), g.f.Mul(g.f.Mul(x, y), model.Load().d2)}
	}),
	toWeierstrass(),
	pointOp("edwards_neg", []form{affineForm}, affineForm, negated),
	negNiels(),
	pointOp("edwards_add_niels", []form{affineForm, affineForm}, affineForm, multiple(2, 2)),
	pointOp("edwards_add", []form{affineForm, affineForm}, affineForm, multiple(2, 3)),
	pointOp("edwards_dbl", []form{affineForm}, affineForm, multiple(5, 0)),
	toJacobian(),
	edwardsOp("edwards_law_add", 1, 1, sum),
	edwardsOp("edwards_law_sub", 1, 1, difference),
	edwardsOp("edwards_law_add_sums", 2, 0, sum),
}
