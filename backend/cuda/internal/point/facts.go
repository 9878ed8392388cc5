package point

import (
	"fmt"
	"math/big"
	"slices"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/curves"
)

// facts is what kernels read about a group, in one piece of memory.
type facts struct {
	bytes []byte

	lattice, beta, roots int // places in bytes: for recode, for the endomorphism, for decode's constants
	power, powers        int // where the digits of the exponent for roots are, and how many
	twos                 int // how often 2 divides q-1
	check, checks        int // where the digits of the check for the subgroup are, and how many; none if all points are in it

	nafs int // how many digits of one bit a half has, one for the sign included
}

// factsOf returns the facts of a group, which are made once.
func factsOf(e backend.Element) (*facts, error) {
	f := allFacts[e]()
	if f.err != nil {
		return nil, fmt.Errorf("%w: %v: %w", backend.ErrInternal, e, f.err)
	}
	return f.facts, nil
}

// places returns how many digits of bits bits a half of a scalar has.
func (f *facts) places(bits int) int { return (f.nafs-1)/bits + 1 }

type made struct {
	facts *facts
	err   error
}

var allFacts = func() map[backend.Element]func() made {
	all := map[backend.Element]func() made{}
	for _, e := range backend.PointElements() {
		all[e] = sync.OnceValue(func() made {
			f, err := newFacts(e)
			return made{f, err}
		})
	}
	return all
}()

// multiple returns k times gnark-crypto's generator, as an affine point.
func multiple(e backend.Element, k *big.Int) []byte {
	g := curves.GroupOf(e.Curve, e.Group)
	sum := g.Sums(1)
	sum.Set(0, g.Generator(), 0)
	sum.Multiply(0, k)
	return sum.Point(0)
}

// number reads a number, lowest byte first.
func number(b []byte) *big.Int {
	b = slices.Clone(b)
	slices.Reverse(b)
	return new(big.Int).SetBytes(b)
}

// newFacts computes the facts from the orders of the fields and the generator.
func newFacts(e backend.Element) (*facts, error) {
	q, r := e.Curve.BaseField(), e.Curve.ScalarField()
	f := &facts{}
	one := big.NewInt(1)
	put := func(b []byte) int {
		for len(f.bytes)%16 != 0 {
			f.bytes = append(f.bytes, 0)
		}
		at := len(f.bytes)
		f.bytes = append(f.bytes, b...)
		return at
	}
	// words writes v modulo 2^(8 size).
	words := func(v *big.Int, size int) []byte {
		b := make([]byte, size)
		new(big.Int).Mod(v, new(big.Int).Lsh(one, uint(8*size))).FillBytes(b)
		slices.Reverse(b)
		return b
	}
	fp := e.Curve.FieldBytes()
	radix := new(big.Int).Lsh(one, uint(8*fp))
	montgomery := func(v *big.Int) []byte { return words(new(big.Int).Mod(new(big.Int).Mul(v, radix), q), fp) }

	// The vectors (a, b) with a + lambda b = 0 mod r are a lattice, which is an ideal of Z[lambda].
	// Its shortest vector generates it.
	lambda := cubeRoot(r)
	a, b := shortest(r, lambda)
	if norm(a, b).Cmp(r) != 0 {
		return nil, fmt.Errorf("the endomorphism's lattice has no vector of norm %v", r)
	}
	// Six generators differ by a unit. One of them has a - b and -b not negative. With it, and (c,
	// d) = lambda (a, b), the quotients of recode are not negative.
	for range 6 {
		if b.Sign() <= 0 && a.Cmp(b) >= 0 {
			break
		}
		// (1 + lambda) (a + lambda b) = a - b + lambda a
		a, b = new(big.Int).Sub(a, b), a
	}
	c, d := new(big.Int).Neg(b), new(big.Int).Sub(a, b)
	size := e.Curve.ScalarBytes()
	shift := uint(8*size + 64)
	quotient := func(v *big.Int) *big.Int { return new(big.Int).Div(new(big.Int).Lsh(v, shift), r) }
	var lattice []byte
	for _, v := range []*big.Int{quotient(d), quotient(new(big.Int).Neg(b)), a, b, c, d} {
		lattice = append(lattice, words(v, size)...)
	}
	f.lattice = put(lattice)
	// Halves are at most (|a| + |c|)/2 and (|b| + |d|)/2, plus a little for the quotients.
	bits := 0
	for _, v := range [][2]*big.Int{{a, c}, {b, d}} {
		sum := new(big.Int).Add(new(big.Int).Abs(v[0]), new(big.Int).Abs(v[1]))
		bits = max(bits, sum.Add(sum.Rsh(sum, 1), big.NewInt(4)).BitLen())
	}
	f.nafs = bits + 1

	// beta is the x of lambda times the generator over the generator's x.
	g, lg := multiple(e, one), multiple(e, lambda)
	beta := new(big.Int).ModInverse(number(g[:fp]), q)
	beta.Mod(beta.Mul(beta, number(lg[:fp])), q)
	if cube := new(big.Int).Exp(beta, big.NewInt(3), q); cube.Cmp(one) != 0 || beta.Cmp(one) == 0 {
		return nil, fmt.Errorf("lambda is no endomorphism")
	}
	f.beta = put(extended(montgomery(beta), e))

	if !prime(e) {
		da, db := naf(a), naf(b)
		f.checks = max(len(da), len(db))
		digits := make([]byte, 2*f.checks)
		for i := range da {
			digits[2*i] = byte(da[i])
		}
		for i := range db {
			digits[2*i+1] = byte(db[i])
		}
		f.check = put(digits)
	}

	odd := new(big.Int).Sub(q, one)
	f.twos = int(odd.TrailingZeroBits())
	odd.Rsh(odd, uint(f.twos))
	half := new(big.Int).Rsh(new(big.Int).Add(q, one), 1)
	other := big.NewInt(2)
	for big.Jacobi(other, q) != -1 {
		other.Add(other, one)
	}
	constants := append(montgomery(half), montgomery(new(big.Int).Exp(other, odd, q))...)
	for _, part := range coefficient(e, g, new(big.Int).ModInverse(radix, q)) {
		constants = append(constants, montgomery(part)...)
	}
	f.roots = put(constants)
	digits := sliding(new(big.Int).Rsh(odd, 1))
	f.powers = len(digits)
	f.power = put(digits)
	return f, nil
}

// coefficient returns the parts of b = y^2 - x^3 of a point whose coordinates are times 1/scale. Of
// Fp2 = Fp[u] the parts of 1 and of u.
func coefficient(e backend.Element, point []byte, scale *big.Int) []*big.Int {
	q, fp := e.Curve.BaseField(), e.Curve.FieldBytes()
	square := big.NewInt(curves.Of(e.Curve).NonResidue) // u^2
	type parts [2]*big.Int
	at := func(i int) parts {
		p := parts{new(big.Int), new(big.Int)}
		for k := range e.Bytes() / 2 / fp {
			v := number(point[i*e.Bytes()/2+k*fp:][:fp])
			p[k] = v.Mod(v.Mul(v, scale), q)
		}
		return p
	}
	product := func(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) }
	multiply := func(a, b parts) parts {
		real, other := product(a[0], b[0]), product(a[0], b[1])
		real.Add(real, product(square, product(a[1], b[1])))
		other.Add(other, product(a[1], b[0]))
		return parts{real.Mod(real, q), other.Mod(other, q)}
	}
	x, y := at(0), at(1)
	yy, xxx := multiply(y, y), multiply(multiply(x, x), x)
	var b []*big.Int
	for k := range e.Bytes() / 2 / fp {
		b = append(b, new(big.Int).Sub(yy[k], xxx[k]))
	}
	return b
}

// extended writes an element of the base field as an element of the coordinates' field.
func extended(b []byte, e backend.Element) []byte {
	return append(b, make([]byte, e.Bytes()/2-len(b))...)
}

// prime reports whether every point of the curve is in the group.
func prime(e backend.Element) bool { return e.Curve == backend.BN254 && e.Group == backend.G1 }

// cubeRoot returns a number of order 3 mod r.
func cubeRoot(r *big.Int) *big.Int {
	third := new(big.Int).Div(new(big.Int).Sub(r, big.NewInt(1)), big.NewInt(3))
	for g := int64(2); ; g++ {
		if root := new(big.Int).Exp(big.NewInt(g), third, r); root.Cmp(big.NewInt(1)) != 0 {
			return root
		}
	}
}

// norm returns a^2 - a b + b^2, the norm of a + lambda b.
func norm(a, b *big.Int) *big.Int {
	n := new(big.Int).Sub(a, b)
	n.Mul(n, a)
	return n.Add(n, new(big.Int).Mul(b, b))
}

// shortest returns the vector (a, b) of least norm with a + lambda b = 0 mod r, by Gauss's
// reduction.
func shortest(r, lambda *big.Int) (a, b *big.Int) {
	ux, uy := new(big.Int).Set(r), big.NewInt(0)
	vx, vy := new(big.Int).Neg(lambda), big.NewInt(1)
	for {
		if norm(ux, uy).Cmp(norm(vx, vy)) < 0 {
			ux, uy, vx, vy = vx, vy, ux, uy
		}
		// u minus the nearest multiple of v. Twice the inner product is
		// 2 ux vx + 2 uy vy - ux vy - uy vx.
		product := func(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) }
		twice := new(big.Int).Lsh(new(big.Int).Add(product(ux, vx), product(uy, vy)), 1)
		twice.Sub(twice, product(ux, vy)).Sub(twice, product(uy, vx))
		n := norm(vx, vy)
		m := new(big.Int).Div(new(big.Int).Add(twice, n), new(big.Int).Lsh(n, 1))
		if m.Sign() == 0 {
			return vx, vy
		}
		ux, uy = new(big.Int).Sub(ux, product(m, vx)), new(big.Int).Sub(uy, product(m, vy))
	}
}

// naf returns the non-adjacent form of a number: digits -1, 0 and 1, of which no two neighbours are
// both other than 0.
func naf(v *big.Int) (digits []int8) {
	v = new(big.Int).Set(v)
	for v.Sign() != 0 {
		d := int8(0)
		if v.Bit(0) == 1 {
			d = 1
			if new(big.Int).And(v, big.NewInt(3)).Int64() == 3 {
				d = -1
			}
		}
		v.Sub(v, big.NewInt(int64(d)))
		v.Rsh(v, 1)
		digits = append(digits, d)
	}
	return digits
}

// sliding returns the digits of a number, one for each bit: 0, or odd and below 16 with three zeros
// after it.
func sliding(v *big.Int) []byte {
	digits := make([]byte, v.BitLen())
	for i := 0; i < len(digits); {
		if v.Bit(i) == 0 {
			i++
			continue
		}
		for k := range 4 {
			digits[i] |= byte(v.Bit(i+k)) << k
		}
		i += 4
	}
	return digits
}
