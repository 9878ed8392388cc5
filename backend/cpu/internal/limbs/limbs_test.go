package limbs

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

var rng = rand.New(rand.NewPCG(1, 2))

// number returns n limbs, many of them all ones, so that carries are frequent.
func number(n int) []uint64 {
	x := make([]uint64, n)
	for i := range x {
		switch rng.IntN(4) {
		case 0:
		case 1:
			x[i] = ^uint64(0)
		default:
			x[i] = rng.Uint64()
		}
	}
	return x
}

// TestAgainstGo compares the assembly with the code in Go.
func TestAgainstGo(t *testing.T) {
	for n := range 40 {
		for range 200 {
			z, x, y := number(n), number(n+1), number(1)[0]
			own := slices.Clone(z)
			got, want := MulAdd(own, x, y), mulAddGeneric(z, x, y)
			if got != want || !slices.Equal(own, z) {
				t.Fatalf("%d limbs: %x above %x, want %x above %x", n, got, own, want, z)
			}
			if n == 0 {
				continue
			}
			a, b, p, q := number(n), number(n), number(2*n), number(2*n)
			Mul(p, a, b)
			if mulGeneric(q, a, b); !slices.Equal(p, q) {
				t.Fatalf("%x times %x: %x, want %x", a, b, p, q)
			}
			Sqr(p, a)
			if sqrGeneric(q, a); !slices.Equal(p, q) {
				t.Fatalf("%x squared: %x, want %x", a, p, q)
			}
			if mulGeneric(q, a, a); !slices.Equal(p, q) {
				t.Fatalf("%x squared: %x, and times itself %x", a, p, q)
			}
			m := number(n)
			m[0] |= 1
			above := m[n-1] >> 63 & y & 1 // so that the value is below 2m, at least in the top limb
			Subtract(p, a, m, above)
			if subtractGeneric(q, a, m, above); !slices.Equal(p[:n], q[:n]) {
				t.Fatalf("%d above %x less %x: %x, want %x", above, a, m, p[:n], q[:n])
			}
			if Subtract(a, a, m, above); !slices.Equal(a, q[:n]) {
				t.Fatalf("in place: %x, want %x", a, q[:n])
			}
			copy(p, q)
			if got, want := Reduce(p, m, y), reduceGeneric(q, m, y); got != want || !slices.Equal(p, q) {
				t.Fatalf("%d limbs reduced: %x above %x, want %x above %x", n, got, p, want, q)
			}
		}
	}
}

// TestMul multiplies and reduces numbers with carries everywhere, whose results are known.
func TestMul(t *testing.T) {
	for n := 1; n < 20; n++ {
		x, p := slices.Repeat([]uint64{^uint64(0)}, n), make([]uint64, 2*n)
		Mul(p, x, x) // 2^(128n) - 2 2^(64n) + 1
		want := slices.Concat([]uint64{1}, make([]uint64, n-1), []uint64{^uint64(1)}, x[1:])
		if !slices.Equal(p, want) {
			t.Fatalf("%d limbs: %x", n, p)
		}
		m := number(n)
		m[0] |= 1
		inverse := uint64(1)
		for range 6 {
			inverse *= 2 - m[0]*inverse
		}
		before := slices.Clone(p)
		above := Reduce(p, m, -inverse)
		// Reduce does not write the lower limbs, which are zeros. The upper limbs are t plus a
		// multiple of m, and the factor of each row gives the multiple.
		sum, top := before, uint64(0)
		for i := range n {
			a := mulAddGeneric(sum[i:i+n], m, -inverse*sum[i])
			if sum[i] != 0 {
				t.Fatalf("limb %d is left: %x", i, sum[i])
			}
			sum[n+i], top = bits.Add64(sum[n+i], a, top)
		}
		if above != top || !slices.Equal(p[n:], sum[n:]) {
			t.Fatalf("%d limbs: %d above %x, want %d above %x", n, above, p[n:], top, sum[n:])
		}
	}
}

func Benchmark(b *testing.B) {
	for _, n := range []int{4, 8, 16, 32, 64} {
		t, x, y := number(2*n), number(n), number(n)
		for name, f := range map[string]func(){
			"mul": func() { Mul(t, x, y) }, "sqr": func() { Sqr(t, x) }, "reduce": func() { Reduce(t, x, 3) },
			"mulGo": func() { mulGeneric(t, x, y) }, "sqrGo": func() { sqrGeneric(t, x) }, "reduceGo": func() { reduceGeneric(t, x, 3) },
		} {
			b.Run(fmt.Sprint(name, "/", n), func(b *testing.B) {
				for b.Loop() {
					f()
				}
			})
		}
	}
}
