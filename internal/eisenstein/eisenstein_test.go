package eisenstein

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

// model makes digits by the very steps that kernels/grid/msm/units.cuh takes, on integers of any
// size.
type model struct {
	*Scalars
	u, v *big.Int
}

var mask128 = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1))

// corner says which corner of the cell 0, 1, 1 + w, w, times m, is nearest to x + y w.
func corner(x, y, m int) (c1, c2 int) {
	s, t := 2*x-y, 2*y-x
	far := x+y > m && s > 0 && t > 0
	if far || s > m && t <= 0 {
		c1 = 1
	}
	if far || t > m && s <= 0 {
		c2 = 1
	}
	return c1, c2
}

// split returns the element of a scalar.
func (s *model) split(k *big.Int) (x, y *big.Int) {
	over := func(g *big.Int) (*big.Int, int) {
		t := new(big.Int).Rsh(k, dropped)
		t.Rsh(t.Mul(t, g), scale-dropped-32)
		return new(big.Int).Rsh(t, 32), int(uint32(t.Uint64())) >> 2
	}
	q1, fu := over(s.u)
	q2, fv := over(s.v)
	c1, c2 := corner(fu, fv, 1<<30)
	q1.Add(q1, big.NewInt(int64(c1)))
	q2.Add(q2, big.NewInt(int64(c2)))
	signed := func(z *big.Int) *big.Int {
		z.And(z, mask128)
		if z.Bit(127) == 1 {
			z.Sub(z, mask128).Sub(z, big.NewInt(1))
		}
		return z
	}
	mul := func(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) }
	x = new(big.Int).Sub(k, mul(s.A, q1))
	x.Sub(x, mul(s.B, q2))
	y = mul(s.B, new(big.Int).Sub(q1, q2))
	y.Sub(y, mul(s.A, q2))
	return signed(x), signed(y)
}

// limbs returns how many of a fraction count when n digits of it are to come.
func limbs(n int) int {
	switch {
	case n <= 2:
		return 1
	case n <= 4:
		return 2
	case n <= 7:
		return 3
	}
	return 4
}

// digits returns the digits of an element as x and y of each, the lowest first. It reports whether
// all steps kept to their bounds.
func (r Radix) digits(x, y *big.Int) (all [][2]int, ok bool) {
	cut := r.Cut()
	all, ok = make([][2]int, r.Windows), true
	for i, c := range []*big.Int{x, y} {
		c = new(big.Int).Add(c, cut.Offset)
		ok = ok && c.Sign() >= 0 && c.BitLen() <= 128
		f := c.Mul(c, cut.Over)
		f.Rsh(f, 128).Add(f, big.NewInt(int64(cut.Half)))
		all[r.Windows-1][i] = int(new(big.Int).Rsh(f, 128).Int64()) - cut.Top
		f.And(f, mask128)
		have := 4
		for n := r.Windows - 1; n > 0; n-- {
			l := limbs(n)
			f.Rsh(f, uint(32*(have-l)))
			have = l
			f.Mul(f, big.NewInt(int64(r.M)))
			d := new(big.Int).Rsh(f, uint(32*l))
			all[r.Windows-1-n][i] = int(d.Int64()) // the highest first; turned below
			f.Sub(f, d.Lsh(d, uint(32*l)))
		}
	}
	// What came first is the highest of the lower digits.
	for i, j := 0, r.Windows-2; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
	c1, c2 := 0, 0
	for i := range all {
		all[i][0] += c1
		all[i][1] += c2
		if c1, c2 = 0, 0; i < r.Windows-1 {
			c1, c2 = corner(all[i][0], all[i][1], r.M)
			all[i][0] -= c1 * r.M
			all[i][1] -= c2 * r.M
		}
	}
	return all, ok
}

// digit returns the digit that an element is, and false where that is 0.
func digit(x, y int) (d Digit, any bool) {
	lower := y < 0 || y == 0 && x < 0
	if lower {
		x, y = -x, -y
	}
	switch e := x - y; {
	case e > 0:
		d = Digit{e, y, 0, lower}
	case x > 0:
		d = Digit{x, -e, 2, !lower}
	default:
		d = Digit{y, -x, 1, lower}
	}
	return d, x != 0 || y != 0
}

// each runs a test for every curve that there are radices for.
func each(t *testing.T, test func(*testing.T, *Scalars, []Radix)) {
	for _, c := range []backend.Curve{backend.BN254, backend.BLS12381} {
		t.Run(c.String(), func(t *testing.T) {
			of, err := Of(c.ScalarField())
			if err != nil {
				t.Fatal(err)
			}
			all := Radices(c.ScalarBits())
			if len(all) != 3 {
				t.Fatalf("%d radices", len(all))
			}
			test(t, of, all)
		})
	}
}

// TestDigits: digits of every radix make up their scalar, and each has a bucket.
func TestDigits(t *testing.T) { each(t, testDigits) }

func testDigits(t *testing.T, of *Scalars, radices []Radix) {
	u, v := of.Over()
	if u.BitLen() > 160 || v.BitLen() > 96 || of.A.BitLen() > 128 || of.B.BitLen() > 64 {
		t.Fatal("constants are longer than the kernels have room for")
	}
	s := &model{of, u, v}
	bound := radices[0].Bound()
	for _, k := range of.Scalars(rand.New(rand.NewPCG(1, 2)), 5000) {
		x, y := s.split(k)
		if back := new(big.Int).Mul(y, s.Lambda); back.Mod(back.Add(back, x).Sub(back, k), s.R).Sign() != 0 {
			t.Fatalf("%v is %v + %v w", k, x, y)
		}
		if x.CmpAbs(bound) >= 0 || y.CmpAbs(bound) >= 0 {
			t.Fatalf("%v is %v + %v w, which is not short", k, x, y)
		}
		for _, r := range radices {
			all, ok := r.digits(x, y)
			if !ok {
				t.Fatalf("%v: a step of radix %d is out of its bounds", k, r.M)
			}
			sums := [2]*big.Int{new(big.Int), new(big.Int)}
			for i := r.Windows - 1; i >= 0; i-- {
				d, any := digit(all[i][0], all[i][1])
				if any && (!r.Within(d) || d.A > 1<<r.Bits || d.B >= 1<<r.Bits) {
					t.Fatalf("%v: digit %d to radix %d is %v, %v", k, i, r.M, all[i], d)
				}
				if dx, dy := d.Element(); any && [2]int{dx, dy} != all[i] {
					t.Fatalf("%v is the digit %v, which is %d, %d", all[i], d, dx, dy)
				}
				for j := range sums {
					sums[j].Mul(sums[j], big.NewInt(int64(r.M))).Add(sums[j], big.NewInt(int64(all[i][j])))
				}
			}
			if sums[0].Cmp(x) != 0 || sums[1].Cmp(y) != 0 {
				t.Fatalf("%v, %v: digits to radix %d make %v, %v", x, y, r.M, sums[0], sums[1])
			}
		}
	}
}

// TestRadices: every element of a scalar has a highest digit within the hexagon, as long as it is
// not farther from 0 than the vertices of pi's hexagon.
func TestRadices(t *testing.T) { each(t, testRadices) }

func testRadices(t *testing.T, of *Scalars, radices []Radix) {
	// Vertices are pi (2 + w)/3 times units; far is three times the farthest by the hexagon's measure.
	x := new(big.Int).Add(new(big.Int).Lsh(of.A, 1), of.B)
	y := new(big.Int).Sub(of.A, new(big.Int).Lsh(of.B, 1))
	y.Add(y, of.B) // (A - B w)(2 + w) = 2A + B + (A - B) w
	far := new(big.Int)
	for range 6 {
		if f := new(big.Int).Sub(new(big.Int).Lsh(x, 1), y); f.Cmp(far) > 0 {
			far = f
		}
		x, y = new(big.Int).Sub(x, y), x
	}
	for _, r := range radices {
		// A digit is at most 2 from the quotient by what carries add and rounding drops.
		most := new(big.Int).Exp(big.NewInt(int64(r.M)), big.NewInt(int64(r.Windows-1)), nil)
		most.Mul(most, big.NewInt(int64(r.M-6))).Mul(most, big.NewInt(3))
		if far.Cmp(most) > 0 {
			t.Errorf("radix %d has too few windows, %d", r.M, r.Windows)
		}
		if r.M/2 > 1<<r.Bits || r.M/2 <= 1<<(r.Bits-1) {
			t.Errorf("radix %d: buckets have %d bits", r.M, r.Bits)
		}
		found := 0
		for a := 1; 2*a <= r.M; a++ {
			for b := 0; 2*a+b <= r.M && a+2*b <= r.M; b++ {
				found++
			}
		}
		if found < r.Buckets() || found > r.Buckets()+r.M {
			t.Errorf("radix %d has %d buckets, Buckets says %d", r.M, found, r.Buckets())
		}
	}
}
