package probe

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"

	"github.com/pippin-zk/pippin/kernels/internal/oracle"
)

// group is a group as the device has it. Points travel as coordinates in
// Montgomery form.
type group struct {
	oracle.Group
	f    field
	pool []oracle.Point // multiples of the generator, their negatives, infinity
}

func groups() map[string]group {
	m := map[string]group{}
	for name, g := range oracle.Groups() {
		h := group{Group: g, f: makeField(g.F.P, g.F.Degree, g.F.NonResidue)}
		r := rand.New(rand.NewPCG(3, 7))
		p := g.Generator
		for range 4 {
			h.pool = append(h.pool, p, g.Neg(p))
			p = g.Add(p, g.Generator)
		}
		for range 4 {
			h.pool = append(h.pool, g.Mul(g.Generator, new(big.Int).SetUint64(r.Uint64())))
		}
		h.pool = append(h.pool, g.Neg(h.pool[len(h.pool)-1]), oracle.Point{})
		m[name] = h
	}
	return m
}

// form is a kind of coordinates.
type form int

const (
	affineForm form = iota
	xyzzForm
	jacobianForm
)

// coordinates of a point, in elements.
func (k form) coordinates() int { return []int{2, 4, 3}[k] }

// randomElem returns a random element other than 0.
func (g group) randomElem(r *rand.Rand) oracle.Elem {
	for {
		e := g.f.Zero()
		for i := range e {
			w := make([]uint32, g.f.words)
			for j := range w {
				w[j] = r.Uint32()
			}
			e[i].Mod(oracle.Int(w), g.F.P)
		}
		if !g.F.IsZero(e) {
			return e
		}
	}
}

// operands returns the words of a point in a form: with a random denominator, and
// outside affine points with any representative of a residue.
func (g group) operands(k form, p oracle.Point, r *rand.Rand) []*big.Int {
	f := g.f
	var e []oracle.Elem
	z := g.randomElem(r)
	if r.IntN(4) == 0 {
		z = f.One()
	}
	zz := f.Mul(z, z)
	zzz := f.Mul(zz, z)
	switch {
	case k == affineForm && p.Infinity():
		e = []oracle.Elem{f.Zero(), f.Zero()}
	case k == affineForm:
		e = []oracle.Elem{p.X, p.Y}
	case k == xyzzForm && p.Infinity():
		e = []oracle.Elem{g.randomElem(r), g.randomElem(r), f.Zero(), f.Zero()}
	case k == xyzzForm:
		e = []oracle.Elem{f.Mul(p.X, zz), f.Mul(p.Y, zzz), zz, zzz}
	case p.Infinity():
		e = []oracle.Elem{g.randomElem(r), g.randomElem(r), f.Zero()}
	default:
		e = []oracle.Elem{f.Mul(p.X, zz), f.Mul(p.Y, zzz), z}
	}
	var x []*big.Int
	for _, c := range e {
		for _, y := range f.encode(c) {
			if k != affineForm && f.bound > 1 && r.IntN(2) == 0 {
				y = add(y, f.P)
			}
			x = append(x, y)
		}
	}
	return x
}

// read returns the point whose coordinates in a form are x.
func (g group) read(k form, x []*big.Int) (oracle.Point, error) {
	f := g.f
	var e []oracle.Elem
	for i := range k.coordinates() {
		e = append(e, f.decode(x[i*f.Degree:]))
	}
	switch k {
	case affineForm:
		if f.IsZero(e[0]) && f.IsZero(e[1]) {
			return oracle.Point{}, nil
		}
		return oracle.Point{X: e[0], Y: e[1]}, nil
	case xyzzForm:
		if f.IsZero(e[2]) {
			return oracle.Point{}, nil
		}
		if !f.Equal(f.Mul(f.Mul(e[2], e[2]), e[2]), f.Mul(e[3], e[3])) {
			return oracle.Point{}, errors.New("zz^3 is not zzz^2")
		}
		return oracle.Point{X: f.Mul(e[0], f.Inv(e[2])), Y: f.Mul(e[1], f.Inv(e[3]))}, nil
	}
	if f.IsZero(e[2]) {
		return oracle.Point{}, nil
	}
	i := f.Inv(e[2])
	ii := f.Mul(i, i)
	return oracle.Point{X: f.Mul(e[0], ii), Y: f.Mul(e[1], f.Mul(ii, i))}, nil
}

// elements returns n elements as operands or results. Their random values are
// never used.
func (g group) elements(n int) []operand {
	var in []operand
	for range n * g.f.Degree {
		in = append(in, words(g.f.words))
	}
	return in
}

func (g group) outputs(n int, bound int64) []result { return g.f.results(n, bound) }

// pointOp returns an operation on points, with the forms of its operands and of its
// result. Its model returns the point.
func pointOp(name string, in []form, out form, want func(g group, p []oracle.Point) oracle.Point) op {
	return op{name: name,
		in: func(a *arg) []operand {
			var o []operand
			for _, k := range in {
				o = append(o, a.group.elements(k.coordinates())...)
			}
			return o
		},
		out:   func(a *arg) []result { return a.group.outputs(out.coordinates(), 1) },
		items: func(a *arg, r *rand.Rand) [][]*big.Int { return a.group.tuples(in, r) },
		check: func(a *arg, x, y []*big.Int) error {
			p, err := a.group.points(in, x)
			if err != nil {
				return err
			}
			got, err := a.group.read(out, y)
			if err != nil {
				return err
			}
			if w := want(a.group, p); !a.group.Equal(got, w) {
				return fmt.Errorf("got the point %x, want %x, of %x", got, w, p)
			}
			return nil
		}}
}

func (g group) points(in []form, x []*big.Int) ([]oracle.Point, error) {
	var p []oracle.Point
	for _, k := range in {
		q, err := g.read(k, x)
		if err != nil {
			return nil, err
		}
		p, x = append(p, q), x[k.coordinates()*g.f.Degree:]
	}
	return p, nil
}

// tuples returns operands for every point, or every pair, of the pool. Among them are
// equal points, opposite points, and infinity on either side.
func (g group) tuples(in []form, r *rand.Rand) [][]*big.Int {
	var items [][]*big.Int
	for _, p := range g.pool {
		if len(in) == 1 {
			items = append(items, g.operands(in[0], p, r))
			continue
		}
		for _, q := range g.pool {
			items = append(items, append(g.operands(in[0], p, r), g.operands(in[1], q, r)...))
		}
	}
	return items
}

// raw accepts any representatives as results of an operation.
func (o op) raw(elements int) op {
	o.out = func(a *arg) []result { return a.group.outputs(elements, a.group.f.bound) }
	return o
}

// tells makes the result a boolean.
func (o op) tells(in []form, want func(g group, p []oracle.Point) bool) op {
	o.out = func(*arg) []result { return []result{exact(1)} }
	o.check = func(a *arg, x, y []*big.Int) error {
		p, err := a.group.points(in, x)
		if err != nil {
			return err
		}
		if w := truth(want(a.group, p)); y[0].Cmp(w) != 0 {
			return differs(0, y[0], w)
		}
		return nil
	}
	return o
}

func same(_ group, p []oracle.Point) oracle.Point  { return p[0] }
func twice(g group, p []oracle.Point) oracle.Point { return g.Add(p[0], p[0]) }
func sum(g group, p []oracle.Point) oracle.Point   { return g.Add(p[0], p[1]) }
func difference(g group, p []oracle.Point) oracle.Point {
	return g.Add(p[0], g.Neg(p[1]))
}
func negated(g group, p []oracle.Point) oracle.Point { return g.Neg(p[0]) }
func nothing(group, []oracle.Point) oracle.Point     { return oracle.Point{} }
func infinite(_ group, p []oracle.Point) bool        { return p[0].Infinity() }
func equal(g group, p []oracle.Point) bool           { return g.Equal(p[0], p[1]) }

// constantOp returns an operation whose one operand is a word that it ignores.
func constantOp(o op) op {
	o.in = func(*arg) []operand { return []operand{words(1)} }
	o.items = func(*arg, *rand.Rand) [][]*big.Int { return [][]*big.Int{{one}} }
	return o
}

// constantPoint returns an operation whose result is the model's point in a form.
func constantPoint(name string, k form, want func(g group, p []oracle.Point) oracle.Point) op {
	o := constantOp(pointOp(name, nil, k, want))
	return o
}

// isTrue marks a choice, the last operand of neg_if.
func negIf() op {
	in := []form{affineForm}
	o := pointOp("affine_neg_if", in, affineForm, nil)
	points := o.in
	o.in = func(a *arg) []operand { return append(points(a), upTo(1, one)) }
	o.items = func(a *arg, r *rand.Rand) [][]*big.Int {
		items := a.group.tuples(in, r)
		for i := range items {
			items[i] = append(items[i], int64s(int64(i/2%2)))
		}
		return items
	}
	o.check = func(a *arg, x, y []*big.Int) error {
		p, _ := a.group.read(affineForm, x)
		got, _ := a.group.read(affineForm, y)
		if x[len(x)-1].Sign() != 0 {
			p = a.group.Neg(p)
		}
		if !a.group.Equal(got, p) {
			return fmt.Errorf("got %x, want %x", got, p)
		}
		return nil
	}
	return o
}

// onCurve returns an operation that tests points of the curve, and such points with one
// coordinate changed.
func onCurve() op {
	in := []form{affineForm}
	o := pointOp("affine_is_on_curve", in, affineForm, nil).
		tells(in, func(g group, p []oracle.Point) bool { return g.OnCurve(p[0]) })
	o.items = func(a *arg, r *rand.Rand) [][]*big.Int {
		items := a.group.tuples(in, r)
		for _, item := range a.group.tuples(in, r) {
			j := r.IntN(len(item))
			item[j] = new(big.Int).Mod(add(item[j], one), a.group.F.P)
			items = append(items, item)
		}
		return items
	}
	return o
}

func groupConstants() op {
	return constantOp(op{name: "group_constants",
		out: func(a *arg) []result { return a.group.outputs(3, 1) },
		want: func(a *arg, _ []*big.Int) []*big.Int {
			g := a.group
			w := g.f.encode(g.B)
			return append(append(w, g.f.encode(g.Generator.X)...), g.f.encode(g.Generator.Y)...)
		}})
}

// chordDenominator returns an operation whose result is x_b - x_a, 2 y_a or 1.
func chordDenominator() op {
	in := []form{affineForm, affineForm}
	o := pointOp("affine_chord_denominator", in, affineForm, nil)
	o.out = func(a *arg) []result { return a.group.outputs(1, 1) }
	o.check = func(a *arg, x, y []*big.Int) error {
		g := a.group
		p, _ := g.points(in, x)
		want := g.f.One()
		switch {
		case p[0].Infinity() || p[1].Infinity() || g.Equal(p[0], g.Neg(p[1])):
		case g.Equal(p[0], p[1]):
			want = g.f.Scale(p[0].Y, 2)
		default:
			want = g.f.Sub(p[1].X, p[0].X)
		}
		for i, w := range g.f.encode(want) {
			if y[i].Cmp(w) != 0 {
				return differs(i, y[i], w)
			}
		}
		return nil
	}
	return o
}

func batchInverse() op {
	const k = 5
	return op{name: "field_batch_inverse",
		in:  func(a *arg) []operand { return a.group.elements(k) },
		out: func(a *arg) []result { return a.group.outputs(k, 1) },
		items: func(a *arg, r *rand.Rand) [][]*big.Int {
			items := make([][]*big.Int, 8)
			for i := range items {
				for range k {
					items[i] = append(items[i], a.group.f.encode(a.group.randomElem(r))...)
				}
			}
			return items
		},
		want: func(a *arg, x []*big.Int) []*big.Int {
			f := a.group.f
			var y []*big.Int
			for i := range k {
				y = append(y, f.encode(f.Inv(f.decode(x[i*f.Degree:])))...)
			}
			return y
		}}
}

var curveOps = []op{
	groupConstants(),
	constantPoint("affine_infinity", affineForm, nothing),
	constantPoint("xyzz_infinity", xyzzForm, nothing),
	constantPoint("jacobian_infinity", jacobianForm, nothing),
	pointOp("affine_is_infinity", []form{affineForm}, 0, nil).tells([]form{affineForm}, infinite),
	pointOp("xyzz_is_infinity", []form{xyzzForm}, 0, nil).tells([]form{xyzzForm}, infinite),
	pointOp("jacobian_is_infinity", []form{jacobianForm}, 0, nil).tells([]form{jacobianForm}, infinite),
	onCurve(),
	pointOp("affine_neg", []form{affineForm}, affineForm, negated),
	pointOp("xyzz_neg", []form{xyzzForm}, xyzzForm, negated),
	pointOp("jacobian_neg", []form{jacobianForm}, jacobianForm, negated),
	negIf(),
	pointOp("affine_to_xyzz", []form{affineForm}, xyzzForm, same),
	pointOp("affine_to_jacobian", []form{affineForm}, jacobianForm, same),
	pointOp("xyzz_to_jacobian", []form{xyzzForm}, jacobianForm, same),
	pointOp("xyzz_to_affine", []form{xyzzForm}, affineForm, same),
	pointOp("jacobian_to_affine", []form{jacobianForm}, affineForm, same),
	pointOp("affine_dbl", []form{affineForm}, xyzzForm, twice),
	pointOp("xyzz_dbl", []form{xyzzForm}, xyzzForm, twice),
	pointOp("jacobian_dbl", []form{jacobianForm}, jacobianForm, twice),
	pointOp("xyzz_add_affine", []form{xyzzForm, affineForm}, xyzzForm, sum),
	pointOp("xyzz_add_affine_raw", []form{xyzzForm, affineForm}, xyzzForm, sum).raw(4),
	pointOp("xyzz_add", []form{xyzzForm, xyzzForm}, xyzzForm, sum),
	pointOp("jacobian_add_affine", []form{jacobianForm, affineForm}, jacobianForm, sum),
	pointOp("jacobian_add", []form{jacobianForm, jacobianForm}, jacobianForm, sum),
	pointOp("affine_eq", []form{affineForm, affineForm}, 0, nil).tells([]form{affineForm, affineForm}, equal),
	pointOp("xyzz_eq", []form{xyzzForm, xyzzForm}, 0, nil).tells([]form{xyzzForm, xyzzForm}, equal),
	chordDenominator(),
	pointOp("affine_add_with", []form{affineForm, affineForm}, affineForm, sum),
	batchInverse(),
	constantPoint("law_zero", xyzzForm, nothing).raw(4),
	pointOp("law_add", []form{xyzzForm, affineForm}, xyzzForm, sum).raw(4),
	pointOp("law_sub", []form{xyzzForm, affineForm}, xyzzForm, difference).raw(4),
	pointOp("law_add_sums", []form{xyzzForm, xyzzForm}, xyzzForm, sum).raw(4),
	pointOp("law_result", []form{xyzzForm}, jacobianForm, same),
}
