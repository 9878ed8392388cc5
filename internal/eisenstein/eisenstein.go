// Package eisenstein has the digits of scalars modulo the six units of Z[w], w^2 + w + 1 = 0.
//
// Where w acts on points as multiplication by lambda, and costs a product of a coordinate or, with
// a table, nothing, the six multiples of a point by units are one point, a sign and one of three
// x. So a bucket stands for six digits. decision 42 has the count.
//
// A scalar k becomes x + y w, k = x + y lambda modulo r, where x and y have half of its bits: (k, 0)
// less the nearest multiple of the prime pi = a - b w, which w = lambda makes a multiple of r. It is
// cut into digits to a radix m: of x + y w modulo m the element that is nearest to 0 is the digit,
// and what is left, divided by m, goes on. The elements near 0 are the hexagon |2x-y|, |2y-x|,
// |x+y| <= m, and the units rotate it.
//
// The package says what the numbers are. kernels/grid/msm/units.cuh makes the digits.
package eisenstein

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
)

// Radix is a way to cut scalars into digits.
type Radix struct {
	M, Windows int // digits modulo M, so many of them
	Bits       int // a digit's bucket has two coordinates below 2^Bits
	Scalar     int // the bits of scalars
}

// Radices are those that there are kernels for, for scalars of 254 or 255 bits. Each M is 3^i 2^j,
// which takes few additions to multiply by, and the least or the next for as many digits.
func Radices(scalar int) []Radix {
	all := []Radix{
		{6912, 10, 12, 254}, {3072, 11, 11, 254}, {1536, 12, 10, 254},
		{6912, 10, 12, 255}, {3072, 11, 11, 255}, {1728, 12, 10, 255},
	}
	return slices.DeleteFunc(all, func(r Radix) bool { return r.Scalar != scalar })
}

// Bound returns what both coordinates of a scalar's element are below, up to a sign.
func (r Radix) Bound() *big.Int {
	if r.Scalar == 254 {
		return new(big.Int).Lsh(big.NewInt(3), 125)
	}
	return new(big.Int).Lsh(big.NewInt(1), 127)
}

// Buckets returns how many buckets digits have: a sixth of the elements but 0 of the hexagon.
func (r Radix) Buckets() int { return (r.M*r.M - 1) / 6 }

// Digit is an element of the hexagon but 0: (-1)^Minus w^Power (A + B (1+w)), A > 0 and B >= 0. Its
// bucket is B 2^Bits + A - 1.
type Digit struct {
	A, B, Power int
	Minus       bool
}

// Element returns x and y of x + y w.
func (d Digit) Element() (x, y int) {
	x, y = d.A+d.B, d.B
	for range d.Power {
		x, y = -y, x-y // w (x + y w)
	}
	if d.Minus {
		x, y = -x, -y
	}
	return x, y
}

// Of returns the digit of bucket number place of a radix.
func (r Radix) Of(place, power int, minus bool) Digit {
	return Digit{place&(1<<r.Bits-1) + 1, place >> r.Bits, power, minus}
}

// Within reports whether a digit is in the hexagon.
func (r Radix) Within(d Digit) bool {
	return d.A > 0 && d.B >= 0 && 2*d.A+d.B <= r.M && d.A+2*d.B <= r.M
}

// Scalars is what digits of a field's elements are made with.
type Scalars struct {
	R, Lambda *big.Int // the order, and w modulo it
	A, B      *big.Int // pi = A - B w, whose norm is R; both positive, B below 2^64
}

// scale and dropped bits: the coordinates of k/pi are (k >> dropped) Over >> scale - dropped + ..,
// with fractionBits of a fraction.
const (
	dropped = 96
	scale   = 286
)

// Of returns those for scalars below r, a prime that is 1 modulo 3 and of at most 255 bits. It
// fails where there is no pi as Scalars has it.
func Of(r *big.Int) (*Scalars, error) {
	root := CubeRoot(r)
	if root == nil {
		return nil, fmt.Errorf("no cube root of 1 modulo %v", r)
	}
	for _, lambda := range []*big.Int{root, new(big.Int).Exp(root, big.NewInt(2), r)} {
		// The multiples of pi are a lattice that r and w - lambda generate.
		x, y := shortest(r, lambda)
		for range 6 {
			if x.Sign() > 0 && y.Sign() < 0 && y.BitLen() <= 64 {
				return &Scalars{new(big.Int).Set(r), lambda, x, new(big.Int).Neg(y)}, nil
			}
			x, y = new(big.Int).Sub(x, y), x // times 1 + w
		}
	}
	return nil, fmt.Errorf("no prime of norm %v with a short coordinate", r)
}

// CubeRoot returns a primitive cube root of 1 modulo a prime, or nil if there is none.
func CubeRoot(p *big.Int) *big.Int {
	one := big.NewInt(1)
	third, rest := new(big.Int).QuoRem(new(big.Int).Sub(p, one), big.NewInt(3), new(big.Int))
	if rest.Sign() != 0 {
		return nil
	}
	for g := int64(2); ; g++ {
		if root := new(big.Int).Exp(big.NewInt(g), third, p); root.Cmp(one) != 0 {
			return root
		}
	}
}

// norm returns |x + y w|^2 = x^2 - x y + y^2.
func norm(x, y *big.Int) *big.Int {
	n := new(big.Int).Mul(x, x)
	n.Sub(n, new(big.Int).Mul(x, y))
	return n.Add(n, new(big.Int).Mul(y, y))
}

// shortest returns a shortest element but 0 of the lattice of r and w - lambda (Gauss).
func shortest(r, lambda *big.Int) (x, y *big.Int) {
	u := [2]*big.Int{new(big.Int).Set(r), new(big.Int)}
	v := [2]*big.Int{new(big.Int).Neg(lambda), big.NewInt(1)}
	for {
		if norm(u[0], u[1]).Cmp(norm(v[0], v[1])) > 0 {
			u, v = v, u
		}
		// Twice the scalar product, 2 ux vx + 2 uy vy - ux vy - uy vx.
		dot := new(big.Int).Mul(u[0], new(big.Int).Sub(new(big.Int).Lsh(v[0], 1), v[1]))
		dot.Add(dot, new(big.Int).Mul(u[1], new(big.Int).Sub(new(big.Int).Lsh(v[1], 1), v[0])))
		q := Nearest(dot, new(big.Int).Lsh(norm(u[0], u[1]), 1))
		if q.Sign() == 0 {
			return u[0], u[1]
		}
		for i := range v {
			v[i] = new(big.Int).Sub(v[i], new(big.Int).Mul(q, u[i]))
		}
	}
}

// Nearest returns the integer nearest to a/b, b > 0.
func Nearest(a, b *big.Int) *big.Int {
	q := new(big.Int).Lsh(a, 1)
	return q.Div(q.Add(q, b), new(big.Int).Lsh(b, 1))
}

// Over returns 2^286 (A + B)/R and 2^286 B/R, rounded: the coordinates of k/pi are k times these,
// divided by 2^286.
func (s *Scalars) Over() (u, v *big.Int) {
	of := func(t *big.Int) *big.Int { return Nearest(new(big.Int).Lsh(t, scale), s.R) }
	return of(new(big.Int).Add(s.A, s.B)), of(s.B)
}

// Cut is what digits to a radix are made with, of coordinates of a scalar's element.
type Cut struct {
	Top    int      // Offset in units of the highest digit
	Offset *big.Int // a multiple of M^(Windows-1), above all coordinates
	Over   *big.Int // 2^256 / M^(Windows-1), rounded
	Half   int      // half of 2^128 / M^(Windows-1)
}

// Cut returns it.
func (r Radix) Cut() Cut {
	one := new(big.Int).Exp(big.NewInt(int64(r.M)), big.NewInt(int64(r.Windows-1)), nil)
	bound := r.Bound()
	top := new(big.Int).Div(bound.Add(bound, new(big.Int).Sub(one, big.NewInt(1))), one)
	return Cut{
		Top: int(top.Int64()), Offset: new(big.Int).Mul(top, one),
		Over: Nearest(new(big.Int).Lsh(big.NewInt(1), 256), one),
		Half: int(new(big.Int).Div(new(big.Int).Lsh(big.NewInt(1), 127), one).Int64()),
	}
}

// Scalars returns numbers below R for tests: n random ones after those at the corners of what the
// steps of making digits decide.
func (s *Scalars) Scalars(r *rand.Rand, n int) (all []*big.Int) {
	add := func(k *big.Int) { all = append(all, k.Mod(k, s.R)) }
	for i := range int64(3) {
		add(big.NewInt(i))
		add(big.NewInt(-i))
		add(new(big.Int).Div(new(big.Int).Mul(s.R, big.NewInt(i)), big.NewInt(3)))
	}
	for i := range uint(s.R.BitLen()) {
		add(new(big.Int).Lsh(big.NewInt(1), i))
		add(new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), i)))
	}
	// Thirds of multiples of pi: the vertices of its hexagons, where three corners are equally near.
	third := func(i, j int64) *big.Int {
		t := new(big.Int).Add(new(big.Int).Mul(big.NewInt(i), s.A), new(big.Int).Mul(big.NewInt(j), s.B))
		return t.Div(t, big.NewInt(3))
	}
	for i := int64(-3); i <= 3; i++ {
		for j := int64(-3); j <= 3; j++ {
			for e := int64(-1); e <= 1; e++ {
				k := new(big.Int).Mul(third(j, i), s.Lambda)
				add(k.Add(k, third(i, j)).Add(k, big.NewInt(e)))
			}
		}
	}
	for range n {
		b := make([]byte, 40)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		add(new(big.Int).SetBytes(b))
	}
	return all
}
