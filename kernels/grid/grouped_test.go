//go:build cuda && cgo && linux && (amd64 || arm64)

package grid_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pippin-zk/pippin/kernels/grid/number"
)

// groupings are the words of a number and its threads, of all kernels there are.
var groupings = []struct{ words, threads int }{{32, 4}, {48, 4}, {64, 4}, {64, 8}, {96, 8}, {128, 8}, {128, 16}}

func grouped(t *testing.T, words, threads int) number.Grouped {
	t.Helper()
	k, ok := number.ForGrouped(fmt.Sprint("g", words), fmt.Sprint(threads))
	if !ok {
		t.Fatal("no kernels")
	}
	return k
}

// extremes returns odd moduli above 1 of so many words, and for each of them operands
// below it: the ends of the range, words of ones and zeros, whose carries and borrows
// run through all threads, and random ones.
func extremes(r *rand.Rand, words int) (ps, xs, ys []*big.Int) {
	one := big.NewInt(1)
	power := func(bits int) *big.Int { return new(big.Int).Lsh(one, uint(bits)) }
	random := func(bits int) *big.Int {
		x := integer(filled((bits+31)/32, func(int) uint32 { return r.Uint32() }))
		return x.Mod(x, power(bits))
	}
	odd := func(x *big.Int) *big.Int { return x.SetBit(x, 0, 1) }
	full := 32 * words
	long := func(x *big.Int) *big.Int { return x.SetBit(x, full-1, 1) }
	moduli := []*big.Int{
		odd(new(big.Int).Sub(power(full), one)),               // 2^k - 1
		odd(power(full - 1)),                                  // 2^(k-1) + 1
		odd(new(big.Int).Sub(power(full), power(full/2))),     // ones above zeros and 1
		odd(new(big.Int).Add(power(full-1), power(full/2))),   // a one in the middle
		new(big.Int).Sub(power(full), big.NewInt(0xffffffff)), // -1/p = -1 mod 2^32
		odd(long(random(full))),                               // any
		odd(random(full - 1 - r.IntN(31))),                    // shorter by bits,
		odd(random(33 + r.IntN(full-33))), big.NewInt(3),      // by words
		new(big.Int).Sub(power(32*words/2), one), odd(power(33)), // and by members
	}
	for _, p := range moduli {
		last := new(big.Int).Sub(p, one)
		half := new(big.Int).Rsh(p, 1)
		low := new(big.Int).Mod(new(big.Int).Sub(power(full/2), one), p)
		operands := [][2]*big.Int{
			{last, last}, {new(big.Int), last}, {last, new(big.Int)}, {one, last}, {last, one}, {new(big.Int), new(big.Int)},
			{half, half}, {half, new(big.Int).Add(half, one)}, {low, one}, {one, low}, {low, last},
			{random(full), random(full)}, {random(full), random(full)},
		}
		for _, o := range operands {
			ps, xs, ys = append(ps, p), append(xs, new(big.Int).Mod(o[0], p)), append(ys, new(big.Int).Mod(o[1], p))
		}
	}
	return ps, xs, ys
}

// factor returns R^2 mod p, with R = 2^(32 words).
func factor(p *big.Int, words int) *big.Int {
	x := new(big.Int).Lsh(big.NewInt(1), uint(64*words))
	return x.Mod(x, p)
}

// TestGroupedResidues compares every operation with big.Int, with a modulus each and with
// one for all, of two operands and of one, in place and not.
func TestGroupedResidues(t *testing.T) {
	d := open(t)
	for _, c := range groupings {
		t.Run(fmt.Sprintf("%d by %d", c.words, c.threads), func(t *testing.T) {
			d := &device{t, d.Device, d.stream}
			k := grouped(t, c.words, c.threads)
			ps, xs, ys := extremes(rand.New(rand.NewPCG(uint64(c.words), uint64(c.threads))), c.words)
			var factors []*big.Int
			for _, p := range ps {
				factors = append(factors, factor(p, c.words))
			}
			n := len(ps)
			m, f := d.words(n*c.words, packed(ps, c.words)...), d.words(n*c.words, packed(factors, c.words)...)
			for _, op := range []struct {
				name string
				op   int
				one  bool // operand
				of   func(z, x, y, r, inverse *big.Int) *big.Int
			}{
				{"add", number.NumberAdd, false, func(z, x, y, _, _ *big.Int) *big.Int { return z.Add(x, y) }},
				{"sub", number.NumberSub, false, func(z, x, y, _, _ *big.Int) *big.Int { return z.Sub(x, y) }},
				{"mul", number.NumberMul, false, func(z, x, y, _, _ *big.Int) *big.Int { return z.Mul(x, y) }},
				{"mul with itself", number.NumberMul, true, func(z, x, _, _, _ *big.Int) *big.Int { return z.Mul(x, x) }},
				{"montgomery", number.NumberMontgomery, false, func(z, x, y, _, inverse *big.Int) *big.Int { return z.Mul(z.Mul(x, y), inverse) }},
				{"montgomery square", number.NumberMontgomery, true, func(z, x, _, _, inverse *big.Int) *big.Int {
					return z.Mul(z.Mul(x, x), inverse)
				}},
				{"to montgomery", number.NumberToMontgomery, true, func(z, x, _, r, _ *big.Int) *big.Int { return z.Mul(x, r) }},
				{"from montgomery", number.NumberFromMontgomery, true, func(z, x, _, _, inverse *big.Int) *big.Int { return z.Mul(x, inverse) }},
			} {
				for _, shared := range []bool{false, true} {
					a, b := d.words(n*c.words, packed(xs, c.words)...), d.words(n*c.words, packed(ys, c.words)...)
					z, bad := d.words(n*c.words+1), d.words(number.NumberReasons, slices.Repeat([]uint32{number.NumberNoElement}, number.NumberReasons)...)
					call := number.GroupedResidue{Op: op.op, A: at(a), AStep: c.words, B: at(b), BStep: c.words, Moduli: at(m), ModulusStep: c.words,
						Factors: at(f), R: at(z), N: n, Bad: at(bad)}
					if op.one {
						call.B, call.BStep = 0, 0
					}
					if shared { // the first modulus's numbers, of which one is the others' operand too
						call.ModulusStep, call.BStep = 0, 0
						call.N = n / 11
						call.R = at(a)
						z = a
					}
					launch(d, k.GroupedResidue, 2, 1, call)
					got := d.read(z)
					for i := range call.N {
						p, y := ps[i], ys[i]
						if shared {
							p, y = ps[0], ys[0]
						}
						r := new(big.Int).Lsh(big.NewInt(1), uint(32*c.words))
						want := op.of(new(big.Int), xs[i], y, r, new(big.Int).ModInverse(r, p))
						if integer(got[i*c.words:(i+1)*c.words]).Cmp(want.Mod(want, p)) != 0 {
							t.Errorf("%s, shared %v: number %d is wrong: %x and %x modulo %x", op.name, shared, i, xs[i], y, p)
						}
					}
					if w := got[n*c.words:]; !shared && w[0] != 0x55555555 {
						t.Errorf("%s: what is behind the last number is %#x", op.name, w[0])
					}
					for reason, element := range d.read(bad) {
						if element != number.NumberNoElement {
							t.Errorf("%s, shared %v: element %d is refused for reason %d", op.name, shared, element, reason)
						}
					}
				}
			}
		})
	}
}

// TestGroupedRefusals passes invalid moduli and operands to each kernel. The kernel must
// report the first such element and compute the others.
func TestGroupedRefusals(t *testing.T) {
	d := open(t)
	for _, c := range groupings {
		t.Run(fmt.Sprintf("%d by %d", c.words, c.threads), func(t *testing.T) {
			d := &device{t, d.Device, d.stream}
			k := grouped(t, c.words, c.threads)
			const n, first = 7, 5
			full := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(32*c.words)), big.NewInt(1))
			small := big.NewInt(7)
			// A word of each other member's is all that makes a number no 0 and no 1.
			far := new(big.Int).SetBit(big.NewInt(1), 32*c.words-1, 1)
			for _, e := range []struct {
				name    string
				op      int
				p, a, b *big.Int // of element 3, and of 5
				reason  int
			}{
				{"zero", number.NumberAdd, new(big.Int), small, small, number.NumberModulusZero},
				{"zero of a product", number.NumberMul, new(big.Int), small, small, number.NumberModulusEven},
				{"even", number.NumberMul, new(big.Int).Lsh(small, uint(16*c.words)), small, small, number.NumberModulusEven},
				{"one", number.NumberMontgomery, big.NewInt(1), new(big.Int), new(big.Int), number.NumberModulusOne},
				{"two of a sum", number.NumberAdd, big.NewInt(2), big.NewInt(1), big.NewInt(1), -1},
				{"one of a sum", number.NumberSub, big.NewInt(1), new(big.Int), new(big.Int), -1},
				{"a far word", number.NumberMul, far, small, small, -1},
				{"a is p", number.NumberMul, full, full, small, number.NumberANotBelow},
				{"b is p", number.NumberMul, full, small, full, number.NumberBNotBelow},
				{"a is above p", number.NumberSub, far, full, small, number.NumberANotBelow},
				{"b is above p", number.NumberAdd, small, big.NewInt(6), far, number.NumberBNotBelow},
			} {
				ps := slices.Repeat([]*big.Int{full}, n)
				as, bs := slices.Repeat([]*big.Int{big.NewInt(2)}, n), slices.Repeat([]*big.Int{big.NewInt(3)}, n)
				for _, i := range []int{3, 5} {
					ps[i], as[i], bs[i] = e.p, e.a, e.b
				}
				var factors []*big.Int
				for _, p := range ps {
					if p.Sign() == 0 {
						p = full
					}
					factors = append(factors, factor(p, c.words))
				}
				span := func(xs []*big.Int) []uint32 { return packed(xs, c.words) }
				z, bad := d.words(n*c.words), d.words(number.NumberReasons, slices.Repeat([]uint32{number.NumberNoElement}, number.NumberReasons)...)
				call := number.GroupedResidue{Op: e.op, A: at(d.words(n*c.words, span(as)...)), AStep: c.words,
					B: at(d.words(n*c.words, span(bs)...)), BStep: c.words,
					Moduli: at(d.words(n*c.words, span(ps)...)), ModulusStep: c.words,
					Factors: at(d.words(n*c.words, span(factors)...)), R: at(z), N: n, Element: first, Bad: at(bad)}
				launch(d, k.GroupedResidue, 1, 1, call)
				check := func(what string, op int, reasonOf int) {
					t.Helper()
					want := slices.Repeat([]uint32{number.NumberNoElement}, number.NumberReasons)
					if reasonOf >= 0 {
						want[reasonOf] = first + 3
					}
					if got := d.read(bad); !slices.Equal(got, want) {
						t.Errorf("%s, %s: reasons are of %v, want %v", e.name, what, got, want)
					}
				}
				check("residues", e.op, e.reason)
				if e.reason == number.NumberModulusZero || e.reason == number.NumberBNotBelow || e.op == number.NumberAdd || e.op == number.NumberSub {
					continue
				}
				d.must(d.stream.Fill(bad, 0xff))
				table := d.words(k.GroupedPower.Threads * number.PowerEntries * c.words / c.threads)
				launch(d, k.GroupedPower, 1, 1, number.GroupedPower{A: call.A, AStep: c.words, E: call.B, ExponentWords: 1, ExponentStep: c.words,
					Moduli: call.Moduli, ModulusStep: c.words, Factors: call.Factors, R: at(z), N: n, Element: first, Table: at(table), Bad: at(bad)})
				check("powers", e.op, e.reason)
				got := d.read(z)
				for _, i := range []int{0, 1, 2, 4, 6} {
					if y := integer(got[i*c.words : (i+1)*c.words]); y.Cmp(big.NewInt(8)) != 0 {
						t.Errorf("%s: power %d of those that are possible is %x", e.name, i, y)
					}
				}
			}
		})
	}
}

// TestGroupedPowers compares powers with big.Int: moduli of all lengths, bases and
// exponents at the ends of their ranges, more numbers than the grid takes at a time; with
// a modulus and an exponent each, and with one for all.
func TestGroupedPowers(t *testing.T) {
	d := open(t)
	for _, c := range groupings {
		t.Run(fmt.Sprintf("%d by %d", c.words, c.threads), func(t *testing.T) {
			d := &device{t, d.Device, d.stream}
			r := rand.New(rand.NewPCG(uint64(c.words), uint64(c.threads)))
			k := grouped(t, c.words, c.threads)
			const exponentWords = 1
			some, all, one := uint32(r.Uint32()), uint32(0xffffffff), uint32(1)
			var ps, xs, es, factors []*big.Int
			mod, bases, _ := extremes(r, c.words)
			blocks, n := 2, 2*k.GroupedPower.Threads/c.threads+3
			for i := range n {
				j := i * 17 % len(mod) // each modulus, and each base
				ps, xs = append(ps, mod[j]), append(xs, bases[j])
				es = append(es, new(big.Int).SetUint64(uint64([]uint32{some, all, one, 0, r.Uint32()}[i%5])))
				factors = append(factors, factor(mod[j], c.words))
			}
			x, p := d.words(n*c.words, packed(xs, c.words)...), d.words(n*c.words, packed(ps, c.words)...)
			e := d.words(n*exponentWords, packed(es, exponentWords)...)
			f := d.words(n*c.words, packed(factors, c.words)...)
			table := d.words(blocks * k.GroupedPower.Threads * number.PowerEntries * c.words / c.threads)
			bad := d.words(number.NumberReasons, slices.Repeat([]uint32{number.NumberNoElement}, number.NumberReasons)...)
			for _, shared := range []bool{false, true} {
				z := d.words(n*c.words + 1)
				call := number.GroupedPower{A: at(x), AStep: c.words, E: at(e), ExponentWords: exponentWords,
					ExponentStep: exponentWords, Moduli: at(p), ModulusStep: c.words,
					Factors: at(f), R: at(z), N: n, Table: at(table), Bad: at(bad)}
				if shared {
					call.N, call.ExponentStep, call.ModulusStep = 1, 0, 0
				}
				launch(d, k.GroupedPower, blocks, 1, call)
				got := d.read(z)
				for i := range call.N {
					if y := integer(got[i*c.words : (i+1)*c.words]); y.Cmp(new(big.Int).Exp(xs[i], es[i], ps[i])) != 0 {
						t.Errorf("shared %v: number %d of %d is wrong: %x to the %v modulo %x", shared, i, n, xs[i], es[i], ps[i])
					}
				}
				if w := got[call.N*c.words]; w != 0x55555555 {
					t.Errorf("what is behind the last number is %#x", w)
				}
			}
			if got := d.read(bad); slices.ContainsFunc(got, func(w uint32) bool { return w != number.NumberNoElement }) {
				t.Errorf("refused: %v", got)
			}
		})
	}
}
