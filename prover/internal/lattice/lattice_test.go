package lattice

import (
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	bandersnatch381 "github.com/consensys/gnark-crypto/ecc/bls12-381/bandersnatch"
	"github.com/consensys/gnark/constraint/solver"
	_ "github.com/consensys/gnark/std/algebra/emulated/sw_emulated"
	_ "github.com/consensys/gnark/std/algebra/native/twistededwards"
)

var cases = flag.Int("cases", 0, "cases of TestRandom for each modulus and function, a tenth of them "+
	"for the slow one; all edges are compared with gnark-crypto then. 0: what seconds allow")

// modulus is r with a lambda.
type modulus struct {
	name      string
	r, lambda *big.Int
}

func number(hex string) *big.Int {
	n, ok := new(big.Int).SetString(hex, 16)
	if !ok {
		panic(hex)
	}
	return n
}

var moduli = []modulus{
	glv("secp256k1", number("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141")),
	glv("BN254", ecc.BN254.ScalarField()),
	glv("BLS12-377", ecc.BLS12_377.ScalarField()),
	glv("BLS12-381", ecc.BLS12_381.ScalarField()),
	glv("BW6-761", ecc.BW6_761.ScalarField()),
	bandersnatch(),
}

// bandersnatch has an endomorphism whose square is -2.
func bandersnatch() modulus {
	curve := bandersnatch381.GetEdwardsCurve()
	return modulus{"Bandersnatch", &curve.Order, new(big.Int).ModSqrt(big.NewInt(-2), &curve.Order)}
}

// glv has a primitive cube root of 1 for lambda; r is a prime that is 1 modulo 3.
func glv(name string, r *big.Int) modulus {
	e := new(big.Int).Sub(r, one)
	e.Div(e, three)
	lambda := new(big.Int)
	for g := int64(2); lambda.Cmp(one) <= 0; g++ {
		lambda.Exp(big.NewInt(g), e, r)
	}
	return modulus{name, r, lambda}
}

func small(r int64) modulus {
	return glv(fmt.Sprint(r), big.NewInt(r))
}

// function is one of the package, and gnark-crypto's as gnark's hints call it, which is nil for what
// they do not ask it. One scalar may be unused.
type function struct {
	name    string
	scalars int
	den     int // columns of the numerators
	ours    func(k1, k2 *big.Int, m modulus) ([]*big.Int, bool)
	basis   func(k1, k2 *big.Int, m modulus) *basis
	theirs  func(k1, k2 *big.Int, m modulus) []*big.Int
}

var functions = []function{
	{
		"Ext", 1, 2,
		func(k, _ *big.Int, m modulus) ([]*big.Int, bool) {
			v, ok := RationalReconstructExt(k, m.r, m.lambda)
			return v[:], ok
		},
		func(k, _ *big.Int, m modulus) *basis { return ext(k, m.r, m.lambda) },
		func(k, _ *big.Int, m modulus) []*big.Int {
			if k.Sign() < 0 || k.Cmp(m.r) >= 0 {
				return nil // gnark's reduces it first
			}
			k = new(big.Int).Mod(new(big.Int).Neg(k), m.r) // and turns its sign
			const oneLimb = 1 << 14                        // bits
			out := hinted("sw_emulated.rationalReconstructExt", 8,
				0, 4, 2, 4, 0, 0, 1, oneLimb, m.r, 1, k, 1, m.lambda)
			return signed(out, 4, 0)
		},
	},
	{
		"Multi", 2, 2,
		func(k1, k2 *big.Int, m modulus) ([]*big.Int, bool) {
			v, ok := MultiRationalReconstruct(k1, k2, m.r)
			return v[:], ok
		},
		func(k1, k2 *big.Int, m modulus) *basis { return multi(k1, k2, m.r) },
		func(k1, k2 *big.Int, m modulus) []*big.Int {
			if k1.Sign() == 0 && k2.Sign() == 0 {
				return nil // gnark's has another answer
			}
			return signed(hinted("twistededwards.multiRationalReconstructHint", 6, k1, k2, m.r), 0, 3)
		},
	},
	{
		"MultiExt", 2, 4,
		func(k1, k2 *big.Int, m modulus) ([]*big.Int, bool) {
			v, ok := MultiRationalReconstructExt(k1, k2, m.r, m.lambda)
			return v[:], ok
		},
		func(k1, k2 *big.Int, m modulus) *basis { return multiExt(k1, k2, m.r, m.lambda) },
		func(k1, k2 *big.Int, m modulus) []*big.Int {
			if k1.Sign() == 0 && k2.Sign() == 0 {
				return nil
			}
			return signed(hinted("twistededwards.multiRationalReconstructExtHint", 12, k1, k2, m.r, m.lambda), 0, 6)
		},
	},
}

// hinted calls the hint of gnark's library that has gnark-crypto's function, by the end of its
// name. Versions of gnark below v0.16 have none: then it returns nil.
func hinted(name string, outputs int, in ...any) []*big.Int {
	for _, h := range solver.GetRegisteredHints() {
		if !strings.HasSuffix(solver.GetHintName(h), "/"+name) {
			continue
		}
		inputs, out := make([]*big.Int, len(in)), make([]*big.Int, outputs)
		for i, v := range in {
			switch v := v.(type) {
			case int:
				inputs[i] = big.NewInt(int64(v))
			case *big.Int:
				inputs[i] = new(big.Int).Set(v)
			}
		}
		for i := range out {
			out[i] = new(big.Int)
		}
		if err := h(nil, inputs, out); err != nil {
			panic(err)
		}
		return out
	}
	return nil
}

// signed returns numbers, half of the outputs from at on, whose signs stand from at signs on.
func signed(out []*big.Int, at, signs int) (numbers []*big.Int) {
	for i := range len(out) / 2 {
		v := out[at+i]
		if out[signs+i].Sign() != 0 {
			v.Neg(v)
		}
		numbers = append(numbers, v)
	}
	return numbers
}

// integersOnly is the answer when all is left to the integers.
func (f function) integersOnly(k1, k2 *big.Int, m modulus) []*big.Int {
	b := f.basis(k1, k2, m)
	b.only = true
	v := make([]*big.Int, b.cols)
	b.answer(v)
	return v
}

func same(a, b []*big.Int) bool {
	return slices.EqualFunc(a, b, func(a, b *big.Int) bool { return a.Cmp(b) == 0 })
}

// related tells whether v is a fraction that is k1, and k2.
func (f function) related(v []*big.Int, k1, k2 *big.Int, m modulus) bool {
	value := func(i, n int) *big.Int {
		x := new(big.Int)
		if n == 2 {
			x.Mul(v[i+1], m.lambda)
		}
		return x.Add(x, v[i])
	}
	n := len(v) - f.den
	nonzero := false
	for _, x := range v[f.den:] {
		nonzero = nonzero || x.Sign() != 0
	}
	for i, k := range []*big.Int{k1, k2}[:f.scalars] {
		d := value(f.den, n)
		d.Mul(d, k).Sub(d, value(i*n, n))
		if d.Mod(d, m.r).Sign() != 0 {
			return false
		}
	}
	return nonzero
}

// check compares the function's answers with one another and, when oracle is
// set, with gnark-crypto's.
func (f function) check(t *testing.T, k1, k2 *big.Int, m modulus, oracle bool) {
	t.Helper()
	inputs := []*big.Int{k1, k2, m.r, m.lambda}
	var before []*big.Int
	for _, x := range inputs {
		before = append(before, new(big.Int).Set(x))
	}
	got, ok := f.ours(k1, k2, m)
	if !ok || !f.related(got, k1, k2, m) {
		t.Fatalf("%s of %v, %v modulo %v, lambda %v: %v is no answer", f.name, k1, k2, m.r, m.lambda, got)
	}
	exact := f.integersOnly(k1, k2, m)
	if !same(inputs, before) {
		t.Fatalf("%s changes its input: %v, was %v", f.name, inputs, before)
	}
	if !same(got, exact) {
		t.Fatalf("%s of %v, %v modulo %v, lambda %v: %v, with integers %v", f.name, k1, k2, m.r, m.lambda, got, exact)
	}
	if oracle {
		if want := f.theirs(k1, k2, m); want != nil && !same(got, want) {
			t.Fatalf("%s of %v, %v modulo %v, lambda %v: %v, want %v", f.name, k1, k2, m.r, m.lambda, got, want)
		}
	}
}

// below is uniform below n.
func below(rng *rand.Rand, n *big.Int) *big.Int {
	b := make([]byte, len(n.Bytes())+8)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	x := new(big.Int).SetBytes(b)
	return x.Mod(x, n)
}

// fraction is a scalar that is a fraction of numbers below 2^n.
func (m modulus) fraction(rng *rand.Rand, n uint) *big.Int {
	var v [4]*big.Int
	for i := range v {
		v[i] = below(rng, new(big.Int).Lsh(one, n))
		if rng.Uint32()&1 == 0 {
			v[i].Neg(v[i])
		}
	}
	x := new(big.Int).Mul(v[1], m.lambda)
	z := new(big.Int).Mul(v[3], m.lambda)
	x.Add(x, v[0])
	z.Add(z, v[2])
	if z.ModInverse(z.Mod(z, m.r), m.r) == nil {
		return x
	}
	return x.Mul(x, z).Mod(x, m.r)
}

// edges are scalars of which a reduction is short, or has ties.
func (m modulus) edges(rng *rand.Rand) []*big.Int {
	v := []*big.Int{
		new(big.Int), one, big.NewInt(2), big.NewInt(-1), big.NewInt(-12345),
		new(big.Int).Sub(m.r, one), m.r, new(big.Int).Add(m.r, m.lambda),
		m.lambda, new(big.Int).Neg(m.lambda), new(big.Int).Add(m.lambda, one),
		new(big.Int).Rsh(m.r, 1), new(big.Int).Add(new(big.Int).Rsh(m.r, 1), one),
		new(big.Int).Sqrt(m.r), new(big.Int).Sqrt(new(big.Int).Sqrt(m.r)), cbrt(m.r),
		new(big.Int).Lsh(one, uint(m.r.BitLen())), new(big.Int).Lsh(one, uint(m.r.BitLen()/2)),
		new(big.Int).Neg(below(rng, m.r)), below(rng, new(big.Int).Mul(m.r, m.r)),
	}
	for n := uint(1); int(n) <= m.r.BitLen()/2; n *= 3 {
		v = append(v, m.fraction(rng, n))
	}
	return v
}

func TestToys(t *testing.T) {
	t.Parallel()
	numbers := func(n int64) (v []*big.Int) {
		for i := range n {
			v = append(v, big.NewInt(i))
		}
		return v
	}
	ext, multi, multiExt := functions[0], functions[1], functions[2]
	for _, r := range []int64{7, 13, 31, 61, 97, 109} {
		for _, k := range numbers(r) {
			ext.check(t, k, one, small(r), true)
		}
	}
	for _, r := range []int64{2, 3, 5, 7, 11, 13} {
		for _, k1 := range numbers(r) {
			for _, k2 := range numbers(r) {
				multi.check(t, k1, k2, modulus{"", big.NewInt(r), one}, true)
			}
		}
	}
	for _, k1 := range numbers(7) {
		for _, k2 := range numbers(7) {
			multiExt.check(t, k1, k2, small(7), true)
		}
	}
	// Any modulus and any lambda.
	for r := int64(1); r < 10; r++ {
		for _, lambda := range numbers(r) {
			for _, k := range numbers(r) {
				m := modulus{"", big.NewInt(r), lambda}
				ext.check(t, k, one, m, true)
				multiExt.check(t, k, new(big.Int).Mul(k, k), m, r < 6)
			}
		}
	}
}

// TestTies has rows whose length decides, and is just what it is compared with.
func TestTies(t *testing.T) {
	ext, multi, multiExt := functions[0], functions[1], functions[2]
	for _, c := range []struct {
		name              string
		f                 function
		r, lambda, k1, k2 int64
	}{
		{"swap", ext, 210, 187, 108, 0},
		{"swap", multiExt, 46, 21, 20, 37},
		{"swap", multiExt, 38, 9, 8, 33},
		{"choice", ext, 225, 19, 120, 0},
		{"choice", multi, 26, 0, 19, 17},
		{"choice", multi, 26, 0, 17, 23},
		{"choice", multiExt, 26, 9, 9, 3},
	} {
		t.Run(c.name+" "+c.f.name, func(t *testing.T) {
			c.f.check(t, big.NewInt(c.k1), big.NewInt(c.k2), modulus{"", big.NewInt(c.r), big.NewInt(c.lambda)}, true)
		})
	}
}

// TestEdges compares with gnark-crypto everywhere for a modulus of 61 bits, and
// here and there for the others.
func TestEdges(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	all := append(slices.Clone(moduli), glv("61 bits", big.NewInt(1<<61-1)))
	for i, m := range all {
		for _, f := range functions {
			for j, k := range m.edges(rng) {
				k2 := new(big.Int).Add(k, one)
				if rng.Uint32()&1 == 0 {
					k2 = below(rng, m.r)
				}
				var oracle bool
				switch {
				case *cases > 0:
					oracle = true
				case i == len(all)-1:
					oracle = f.name != "MultiExt" || j%3 == 0
				default:
					oracle = !testing.Short() && f.name != "MultiExt" && j%16 == 2*i
				}
				f.check(t, k, k2, m, oracle)
			}
		}
	}
}

// TestRandom compares with gnark-crypto, where a call of
// MultiRationalReconstructExt takes seconds.
func TestRandom(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(2, uint64(*cases)))
	for _, m := range moduli {
		for _, f := range functions {
			n := *cases
			switch {
			case n > 0 && f.name == "MultiExt":
				n = (n + 9) / 10
			case n == 0 && (f.name != "MultiExt" || m.name == "Bandersnatch" && !testing.Short()):
				n = 1
			}
			for done := range n {
				k1, k2 := below(rng, m.r), below(rng, m.r)
				if done%5 == 4 {
					k1 = m.fraction(rng, uint(rng.IntN(m.r.BitLen()/2)))
				}
				if done%7 == 6 {
					edges := m.edges(rng)
					k2 = edges[rng.IntN(len(edges))]
				}
				f.check(t, k1, k2, m, true)
			}
			t.Logf("%s, %s: %d cases", m.name, f.name, n)
		}
	}
}

// TestFloats compares the answers with those of integers for moduli of all
// lengths, also where floats do not reach.
func TestFloats(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, uint64(*cases)))
	for i := range max(60, 100**cases) {
		n := rng.Uint32N(maxFloat + 20)
		m := modulus{"", new(big.Int).Add(below(rng, new(big.Int).Lsh(one, uint(n))), one), nil}
		m.lambda = below(rng, m.r)
		k1, k2 := below(rng, m.r), m.fraction(rng, uint(1+rng.Uint32N(max(1, n/3))))
		f := functions[i%len(functions)]
		f.check(t, k2, k1, m, false)
		if i%4 == 0 {
			f.check(t, k1, k2, m, false)
		}
	}
}

func TestFails(t *testing.T) {
	for _, r := range []int64{0, -7} {
		for _, f := range functions {
			if v, ok := f.ours(one, one, modulus{"", big.NewInt(r), one}); ok {
				t.Errorf("%s modulo %d: %v", f.name, r, v)
			}
		}
	}
}

func TestLong(t *testing.T) {
	r := new(big.Int).Lsh(one, 10000)
	m := modulus{"", r, big.NewInt(3)}
	functions[0].check(t, big.NewInt(5), one, m, false)
}

func TestConcurrent(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	m := moduli[1]
	k1, k2 := below(rng, m.r), below(rng, m.r)
	var wg sync.WaitGroup
	for _, f := range functions {
		want, _ := f.ours(k1, k2, m)
		for range 4 {
			wg.Go(func() {
				if got, _ := f.ours(k1, k2, m); !same(got, want) {
					t.Errorf("%s: %v, want %v", f.name, got, want)
				}
			})
		}
	}
	wg.Wait()
}

// TestWiped also tells whether the integers stayed in the memory that is wiped.
func TestWiped(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, m := range append(slices.Clone(moduli), small(7)) {
		for _, f := range functions {
			for _, only := range []bool{false, true} {
				b := f.basis(below(rng, m.r), below(rng, m.r), m)
				b.only = only
				for i := range b.rows {
					b.convert(b.row[i])
				}
				b.reduce()
				words := [][]big.Word{b.slab, b.exact.slab}
				x, ours := &b.exact, map[*big.Word]bool{}
				for i := range x.slab {
					ours[&x.slab[i]] = true
				}
				for j := range b.rows {
					for l := range b.cols {
						for _, z := range []*big.Int{&x.n[j][l], &x.d[j], &x.b[l], &x.v[l], &x.lambda, &x.s, &x.t, &x.m} {
							if w := z.Bits(); cap(w) > 0 && !ours[&w[:1][0]] {
								t.Fatalf("%s, %s: an integer outgrew its memory", f.name, m.name)
							}
						}
					}
				}
				b.wipe()
				for _, w := range words {
					if !isZero(w) {
						t.Errorf("%s, %s: not wiped", f.name, m.name)
					}
				}
				for i, r := range b.lines {
					if r.f != b.v || r.norm != b.verr || b.level[i] != (level{}) || b.v != [maxCols]float64{} {
						t.Errorf("%s, %s: not wiped", f.name, m.name)
					}
				}
			}
		}
	}
}

func BenchmarkReconstruct(b *testing.B) {
	rng := rand.New(rand.NewPCG(6, 6))
	for _, m := range moduli {
		var k [65]*big.Int
		for i := range k {
			k[i] = below(rng, m.r)
		}
		for _, f := range functions {
			b.Run(m.name+"/"+f.name+"/ours", func(b *testing.B) {
				b.ReportAllocs()
				n := 0
				for b.Loop() {
					f.ours(k[n%64], k[n%64+1], m)
					n++
				}
				var swaps, taken, left int
				for i := range 64 {
					s := f.basis(k[i], k[i+1], m)
					s.answer(make([]*big.Int, s.cols))
					swaps += s.swaps
					taken += s.taken
					left += s.left
				}
				b.ReportMetric(float64(swaps)/64, "swaps/op")
				b.ReportMetric(float64(taken)/64, "taken/op")
				b.ReportMetric(float64(left)/64, "left/op")
			})
			b.Run(m.name+"/"+f.name+"/integers", func(b *testing.B) {
				n := 0
				for b.Loop() {
					f.integersOnly(k[n%64], k[n%64+1], m)
					n++
				}
			})
			b.Run(m.name+"/"+f.name+"/gnark-crypto", func(b *testing.B) {
				n := 0
				for b.Loop() {
					f.theirs(k[n%64], k[n%64+1], m)
					n++
				}
			})
		}
	}
}
