package arith_test

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/pippin-zk/pippin/arith"
)

// TestFieldsOfAllDegrees compares GF(2^n) with its definition: bytes, pairs of bytes, odd
// degrees, and standards' fields. Polynomials are of FIPS 186, FIPS 197's is that of n = 8.
func TestFieldsOfAllDegrees(t *testing.T) {
	c := arith.On(open(t), arith.Options{})
	rng := rand.New(rand.NewPCG(6, 6))
	for n, taps := range map[int][]int{
		2: {1}, 3: {1}, 4: {1}, 5: {2}, 8: {4, 3, 1}, 16: {5, 3, 1}, 31: {3}, 32: {7, 3, 2}, 64: {4, 3, 1}, 113: {9}, 127: {1},
		128: {7, 2, 1}, 131: {8, 3, 2}, 163: {7, 6, 3}, 191: {9}, 233: {74}, 239: {36},
	} {
		p := new(big.Int).SetBit(big.NewInt(1), n, 1)
		for _, k := range taps {
			p.SetBit(p, k, 1)
		}
		product := func(a, b *big.Int) *big.Int {
			z := new(big.Int)
			for i := b.BitLen() - 1; i >= 0; i-- {
				if z.Lsh(z, 1); z.BitLen() > n {
					z.Xor(z, p)
				}
				if b.Bit(i) == 1 {
					z.Xor(z, a)
				}
			}
			return z
		}
		const count = 20
		limit := new(big.Int).Lsh(big.NewInt(1), uint(n))
		a, b := random(rng, limit, n, count), random(rng, limit, n, count)
		highest := new(big.Int).Sub(limit, big.NewInt(1))
		for _, x := range []*arith.Numbers{a, b} { // the element of all ones, and 0
			if err := x.Set(0, highest); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Set(1, new(big.Int)); err != nil {
			t.Fatal(err)
		}
		sum, err1 := c.GFAdd(t.Context(), n, a, b)
		mul, err2 := c.GFMul(t.Context(), n, a, b)
		sqr, err3 := c.GFSqr(t.Context(), n, a)
		inv, err4 := c.GFInv(t.Context(), n, a)
		for _, err := range []error{err1, err2, err3, err4} {
			if err != nil {
				t.Fatalf("GF(2^%d): %v", n, err)
			}
		}
		for i := range count {
			x, y := a.Big(i), b.Big(i)
			one := big.NewInt(1)
			if x.Sign() == 0 {
				one = new(big.Int)
			}
			if sum.Big(i).Cmp(new(big.Int).Xor(x, y)) != 0 || mul.Big(i).Cmp(product(x, y)) != 0 || sqr.Big(i).Cmp(product(x, x)) != 0 ||
				product(x, inv.Big(i)).Cmp(one) != 0 {
				t.Errorf("GF(2^%d), %x and %x: sum %x, product %x, square %x, inverse %x", n, x, y, sum.Big(i), mul.Big(i), sqr.Big(i), inv.Big(i))
			}
		}
	}
}
