package gf2

import (
	"context"
	"errors"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// model multiplies x and y by definition, modulo the field's polynomial.
func model(f *Field, x, y []uint64) []uint64 {
	p := new(big.Int).SetBit(big.NewInt(1), f.n, 1)
	for _, t := range f.taps {
		p.SetBit(p, t, 1)
	}
	a, b, z := number(x), number(y), new(big.Int)
	for i := range b.BitLen() {
		if b.Bit(i) == 1 {
			z.Xor(z, new(big.Int).Lsh(a, uint(i)))
		}
	}
	for z.BitLen() > f.n {
		z.Xor(z, new(big.Int).Lsh(p, uint(z.BitLen()-1-f.n)))
	}
	out := make([]uint64, f.Limbs())
	for i := range out {
		out[i] = new(big.Int).Rsh(z, uint(64*i)).Uint64() // the low 64 bits
	}
	return out
}

func number(x []uint64) *big.Int {
	v := new(big.Int)
	for i := len(x) - 1; i >= 0; i-- {
		v.Or(v.Lsh(v, 64), new(big.Int).SetUint64(x[i]))
	}
	return v
}

// element returns a random element, or one of the extremes.
func element(f *Field, rng *rand.Rand) []uint64 {
	x := make([]uint64, f.Limbs())
	switch rng.IntN(6) {
	case 0:
	case 1:
		x[0] = 1
	case 2:
		x[(f.n-1)/64] = 1 << ((f.n - 1) % 64)
	case 3:
		for i := range x {
			x[i] = ^uint64(0)
		}
	default:
		for i := range x {
			x[i] = rng.Uint64()
		}
	}
	if f.n%64 != 0 {
		x[len(x)-1] &= 1<<(f.n%64) - 1
	}
	return x
}

var degrees = []int{2, 3, 4, 5, 8, 9, 31, 32, 33, 63, 64, 65, 96, 113, 127, 128, 131, 163, 192, 233, 256, 283, 409, 512, 571, 1024, 2048}

func TestAgainstDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range degrees {
		f := New(n)
		scratch := make([]uint64, f.Scratch())
		for range max(2, 200/f.Limbs()) {
			x, y := element(f, rng), element(f, rng)
			z := slices.Clone(x)
			if f.Mul(z, z, y, scratch); !slices.Equal(z, model(f, x, y)) {
				t.Fatalf("n %d: %x times %x is %x, want %x", n, x, y, z, model(f, x, y))
			}
			if f.Sqr(z, x, scratch); !slices.Equal(z, model(f, x, x)) {
				t.Fatalf("n %d: %x squared is %x, want %x", n, x, z, model(f, x, x))
			}
			if !f.Has(z) {
				t.Fatalf("n %d: %x is no element", n, z)
			}
		}
		x := element(f, rng)
		for number(x).Sign() == 0 {
			x = element(f, rng)
		}
		z := slices.Clone(x)
		f.Inv(z, z, scratch)
		if f.Mul(z, z, x, scratch); number(z).Cmp(big.NewInt(1)) != 0 {
			t.Errorf("n %d: %x times its inverse is %x", n, x, z)
		}
		clear(x)
		if f.Inv(z, x, scratch); number(z).Sign() != 0 {
			t.Errorf("n %d: the inverse of 0 is %x", n, z)
		}
	}
}

// TestFindEnds ends the search of a degree that no table has.
func TestFindEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Find(ctx, 1901); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if f, err := Find(t.Context(), 113); err != nil || f.Degree() != 113 {
		t.Error(err)
	}
}

// TestSparse compares with polynomials of standards (FIPS 186, GCM) and of NTL's table.
func TestSparse(t *testing.T) {
	for n, want := range map[int][]int{
		2: {1}, 3: {1}, 4: {1}, 5: {2}, 8: {4, 3, 1}, 16: {5, 3, 1}, 31: {3}, 113: {9}, 127: {1}, 131: {8, 3, 2}, 191: {9}, 239: {36},
	} {
		if got := Sparse(n); !slices.Equal(got, want) {
			t.Errorf("n %d: %v, want %v", n, got, want)
		}
	}
	for n, taps := range known {
		if n > 1000 && testing.Short() {
			continue
		}
		if got, err := search(t.Context(), n); !slices.Equal(got, taps) {
			t.Errorf("n %d: %v, %v, want %v", n, got, err, taps)
		}
	}
	for _, c := range []struct {
		n    int
		taps []int
	}{{4, []int{2}}, {9, []int{3}}, {8, []int{4}}, {12, []int{1}}, {32, []int{7, 3, 1}}, {128, []int{7, 2, 3}}} {
		if irreducible(c.n, c.taps) {
			t.Errorf("x^%d + x^%v + 1 is not irreducible", c.n, c.taps)
		}
	}
}

// TestIrreducibleByDivision compares small degrees with division by all others.
func TestIrreducibleByDivision(t *testing.T) {
	for n := 2; n <= 12; n++ {
		for k := 1; k < n; k++ {
			p := uint64(1)<<n | 1<<k | 1
			want := true
			for q := uint64(2); q < 1<<(n/2+1) && want; q++ {
				r := p
				for degree([]uint64{r}) >= degree([]uint64{q}) {
					r ^= q << (degree([]uint64{r}) - degree([]uint64{q}))
				}
				want = r != 0
			}
			if got := irreducible(n, []int{k}); got != want {
				t.Errorf("x^%d + x^%d + 1: %v, want %v", n, k, got, want)
			}
		}
	}
}

// TestMulAdd holds the processor's instruction against products of integers.
func TestMulAdd(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	edge := []uint64{0, 1, 1 << 63, ^uint64(0), 0x1084210842108421}
	for range 2000 {
		x := make([]uint64, rng.IntN(5))
		y := rng.Uint64()
		for i := range x {
			x[i] = rng.Uint64()
			if rng.IntN(3) == 0 {
				x[i] = edge[rng.IntN(len(edge))]
			}
		}
		if rng.IntN(3) == 0 {
			y = edge[rng.IntN(len(edge))]
		}
		z := make([]uint64, len(x)+1)
		for i := range z {
			z[i] = rng.Uint64()
		}
		other := slices.Clone(z)
		mulAdd(z, x, y)
		mulAddGeneric(other, x, y)
		if !slices.Equal(z, other) {
			t.Fatalf("%x times %x: %x and %x", x, y, z, other)
		}
	}
}

// TestMultiply holds whole products and squares against products of integers: odd and even
// numbers of limbs, and by halves.
func TestMultiply(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for n := 1; n <= 40; n++ {
		x, y := make([]uint64, n), make([]uint64, n)
		for i := range x {
			x[i], y[i] = rng.Uint64(), rng.Uint64()
			if rng.IntN(4) == 0 {
				x[i], y[i] = -uint64(rng.IntN(2)), -uint64(rng.IntN(2))
			}
		}
		fresh := func() []uint64 { return slices.Repeat([]uint64{^uint64(0)}, 2*n+2) }
		z, want, pad := fresh(), fresh(), fresh()
		multiplyGeneric(want, x, y)
		if multiply(z, x, y, pad); !slices.Equal(z, want) {
			t.Errorf("%d limbs: %x times %x is %x, want %x", n, x, y, z, want)
		}
		if z = fresh(); n%4 == 0 {
			if multiplyHalves(z, x, y, fresh()); !slices.Equal(z, want) {
				t.Errorf("%d limbs by halves: %x times %x is %x, want %x", n, x, y, z, want)
			}
		}
		z, want = fresh(), fresh()
		square(z, x)
		if squareGeneric(want, x); !slices.Equal(z, want) {
			t.Errorf("%d limbs: the square of %x is %x, want %x", n, x, z, want)
		}
	}
}

func BenchmarkMul(b *testing.B) {
	for _, n := range []int{32, 64, 128, 256, 1024, 2048} {
		b.Run(big.NewInt(int64(n)).String(), func(b *testing.B) {
			f := New(n)
			rng := rand.New(rand.NewPCG(5, 6))
			x, y, scratch := element(f, rng), element(f, rng), make([]uint64, f.Scratch())
			for b.Loop() {
				f.Mul(x, x, y, scratch)
			}
		})
	}
}
