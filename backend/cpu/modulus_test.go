package cpu

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestModulus compares products, squares, remainders and powers with math/big's. Moduli have every
// length: all ones, zeros except for two bits, and random. Operands include both ends of their
// range.
func TestModulus(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for n := 1; n <= 34; n++ {
		words := func() []uint64 {
			x := make([]uint64, n)
			for i := range x {
				if x[i] = rng.Uint64(); rng.IntN(3) == 0 {
					x[i] = -uint64(rng.IntN(2))
				}
			}
			return x
		}
		bytes := func(x []uint64) []byte {
			b := make([]byte, 8*n)
			store(b, x)
			return b
		}
		ones, sparse := slices.Repeat([]uint64{^uint64(0)}, n), make([]uint64, n)
		sparse[n-1], sparse[0] = 1, sparse[0]|3
		for _, m := range [][]uint64{ones, sparse, words(), words(), words(), append(words()[:n-1:n-1], 1<<63)} {
			m[0] |= 3
			k, err := newModulus(bytes(m), true, true)
			if err != nil {
				t.Fatal(err)
			}
			quick := *k
			quick.divides()
			modulus, less := whole(bytes(m)), slices.Clone(m)
			less[0]--
			one := make([]uint64, n)
			one[0] = 1
			below := func() []uint64 {
				x := make([]uint64, n)
				v := whole(bytes(words()))
				b := make([]byte, 8*n)
				put(b, v.Mod(v, modulus))
				load(x, b)
				return x
			}
			operands := [][]uint64{make([]uint64, n), one, less, below(), below()}
			scratch, z := make([]uint64, 20*n+12), make([]uint64, n)
			check := func(what string, x, y []uint64, want *big.Int) {
				t.Helper()
				if got := whole(bytes(z)); got.Cmp(want) != 0 {
					t.Fatalf("%d limbs, modulo %x: %s of %x (and %x) is %x, want %x", n, m, what, x, y, got, want)
				}
			}
			for _, x := range operands {
				for _, y := range operands {
					want := new(big.Int).Mul(whole(bytes(x)), whole(bytes(y)))
					want.Mod(want, modulus)
					k.product(z, x, y, scratch)
					check("two products", x, y, want)
					quick.product(z, x, y, scratch)
					check("a product", x, y, want)
				}
				k.sqr(z, x, scratch)
				k.mul(z, z, k.rr, scratch)
				check("the square", x, x, new(big.Int).Exp(whole(bytes(x)), big.NewInt(2), modulus))
			}
			for _, length := range []int{1, n, n + 1, 2*n - 1, 2 * n, 2*n + 1, 5 * n} {
				for _, x := range [][]uint64{slices.Repeat([]uint64{^uint64(0)}, length), slices.Repeat(words(), 5)[:length], make([]uint64, length)} {
					b := make([]byte, 8*length)
					store(b, x)
					want := new(big.Int).Mod(whole(b), modulus)
					k.reduce(z, x, scratch)
					check("the remainder", x, nil, want)
					quick.reduce(z, x, scratch)
					check("the remainder by a division", x, nil, want)
				}
			}
			x, e := below(), bytes(words())[:8*min(n, 2)]
			k.exp(t.Context(), z, x, e, scratch)
			check("a power", x, nil, new(big.Int).Exp(whole(bytes(x)), whole(e), modulus))
		}
	}
}
