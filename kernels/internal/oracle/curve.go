package oracle

import "math/big"

// Curve is y^2 = x^3 + B over a field.
type Curve struct {
	F Field
	B Elem
}

// Point is an affine point; X is nil at infinity.
type Point struct{ X, Y Elem }

// Infinity reports whether p is the neutral element.
func (p Point) Infinity() bool { return p.X == nil }

// OnCurve reports whether p satisfies the equation or is infinity.
func (c Curve) OnCurve(p Point) bool {
	if p.Infinity() {
		return true
	}
	f := c.F
	return f.Equal(f.Mul(p.Y, p.Y), f.Add(f.Mul(f.Mul(p.X, p.X), p.X), c.B))
}

// Neg returns -p.
func (c Curve) Neg(p Point) Point {
	if p.Infinity() {
		return p
	}
	return Point{p.X, c.F.Sub(c.F.Zero(), p.Y)}
}

// Equal compares points.
func (c Curve) Equal(p, q Point) bool {
	if p.Infinity() || q.Infinity() {
		return p.Infinity() == q.Infinity()
	}
	return c.F.Equal(p.X, q.X) && c.F.Equal(p.Y, q.Y)
}

// Add returns p + q by the chord or the tangent.
func (c Curve) Add(p, q Point) Point {
	f := c.F
	switch {
	case p.Infinity():
		return q
	case q.Infinity():
		return p
	case c.Equal(p, c.Neg(q)):
		return Point{}
	}
	rise, run := f.Sub(q.Y, p.Y), f.Sub(q.X, p.X)
	if c.Equal(p, q) {
		rise, run = f.Scale(f.Mul(p.X, p.X), 3), f.Scale(p.Y, 2)
	}
	slope := f.Mul(rise, f.Inv(run))
	x := f.Sub(f.Sub(f.Mul(slope, slope), p.X), q.X)
	return Point{x, f.Sub(f.Mul(slope, f.Sub(p.X, x)), p.Y)}
}

// Mul returns k p for k >= 0.
func (c Curve) Mul(p Point, k *big.Int) Point {
	r := Point{}
	for i := k.BitLen() - 1; i >= 0; i-- {
		r = c.Add(r, r)
		if k.Bit(i) == 1 {
			r = c.Add(r, p)
		}
	}
	return r
}
