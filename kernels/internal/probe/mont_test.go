package probe

import (
	"math/big"

	"github.com/pippin-zk/pippin/kernels/internal/oracle"
)

// modLimbs returns the number of limbs of a modulus of so many bits.
func modLimbs(bits int) int { return (bits + 31) / 32 }

// rOf returns R for a modulus of so many bits.
func rOf(bits int) *big.Int { return oracle.Pow2(32 * modLimbs(bits)) }

// modulusOf returns an operand that is an odd modulus from 3 up, mostly of exactly so
// many bits, else of fewer.
func modulusOf(bits int) operand {
	max := below(oracle.Pow2(bits))
	o := upTo(modLimbs(bits), max)
	o.fix = func(x *big.Int) *big.Int {
		x = new(big.Int).SetBit(x, 0, 1)
		if x.Bit(1) == 0 || x.Cmp(int64s(3)) < 0 {
			x.SetBit(x, bits-1, 1)
		}
		return x
	}
	return o
}

// residue returns an operand below the modulus, which is the first operand.
func residue(bits int) operand {
	return operand{words: modLimbs(bits), max: func(x []*big.Int) *big.Int { return below(x[0]) }}
}

// modOp returns an operation modulo its first operand on so many residues. It reduces the
// model's result.
func modOp(name string, operands int, want func(bits int, p *big.Int, x []*big.Int) *big.Int) op {
	return op{name: name,
		in: func(a *arg) []operand {
			in := []operand{modulusOf(a.n)}
			for range operands {
				in = append(in, residue(a.n))
			}
			return in
		},
		out: func(a *arg) []result { return []result{exact(modLimbs(a.n))} },
		want: func(a *arg, x []*big.Int) []*big.Int {
			y := want(a.n, x[0], x[1:])
			return []*big.Int{y.Mod(y, x[0])}
		}}
}

// with replaces the operands after the modulus.
func (o op) with(in func(bits int) []operand) op {
	o.in = func(a *arg) []operand { return append([]operand{modulusOf(a.n)}, in(a.n)...) }
	return o
}

// lazily takes the model's value as it is instead of reduced: the result of a
// reduction without its last subtraction is determined, not only its residue.
func (o op) lazily(want func(bits int, p *big.Int, x []*big.Int) *big.Int) op {
	o.want = func(a *arg, x []*big.Int) []*big.Int { return []*big.Int{want(a.n, x[0], x[1:])} }
	return o
}

// inverts marks an operation that divides by its second operand, which is moved
// until it is coprime to the modulus.
func (o op) inverts() op {
	o.slow = true
	o.want = nil
	o.check = func(a *arg, x, y []*big.Int) error {
		scale := one
		if o.name == "mont_inverse" {
			r := rOf(a.n)
			scale = mul(r, r)
		}
		want := new(big.Int).ModInverse(x[1], x[0])
		if want == nil {
			if x[1].Sign() != 0 {
				return nil // no inverse: the contract promises nothing
			}
			want = new(big.Int)
		}
		want.Mul(want, scale).Mod(want, x[0])
		if y[0].Cmp(want) != 0 {
			return differs(0, y[0], want)
		}
		return nil
	}
	return o
}

func redc(bits int, t, p *big.Int) *big.Int { return oracle.Redc(t, p, 32*modLimbs(bits)) }

// doubleWidth returns the operand t: twice as wide as a residue, and at most max(p).
func doubleWidth(bits int, max func(p *big.Int) *big.Int) []operand {
	return []operand{{words: 2 * modLimbs(bits), max: func(x []*big.Int) *big.Int { return max(x[0]) }}}
}

// lazyRoom returns R^2 - R p - R, the largest product that may be reduced lazily.
func lazyRoom(bits int, p *big.Int) *big.Int {
	r := rOf(bits)
	return sub(mul(r, r), mul(r, p), r)
}

var mulLazy = func(bits int, p *big.Int, x []*big.Int) *big.Int { return redc(bits, mul(x[0], x[1]), p) }
var sqrLazy = func(bits int, p *big.Int, x []*big.Int) *big.Int { return redc(bits, mul(x[0], x[0]), p) }
var reduceLazy = func(bits int, p *big.Int, x []*big.Int) *big.Int { return redc(bits, x[0], p) }

func inMont(bits int, p, x *big.Int) *big.Int {
	y := mul(x, rOf(bits))
	return y.Mod(y, p)
}

var montOps = []op{
	{name: "mont_make_modulus",
		in: func(a *arg) []operand { return []operand{modulusOf(a.n)} },
		out: func(a *arg) []result {
			return []result{exact(modLimbs(a.n)), exact(modLimbs(a.n)), exact(1)}
		},
		want: func(a *arg, x []*big.Int) []*big.Int {
			r := inMont(a.n, x[0], one)
			np0 := new(big.Int).ModInverse(x[0], oracle.Pow2(32))
			return []*big.Int{r, inMont(a.n, x[0], r), low(np0.Neg(np0), 1)}
		}},
	modOp("mod_add", 2, func(_ int, _ *big.Int, x []*big.Int) *big.Int { return add(x...) }),
	modOp("mod_sub", 2, func(_ int, _ *big.Int, x []*big.Int) *big.Int { return sub(x[0], x[1]) }),
	modOp("mod_dbl", 1, func(_ int, _ *big.Int, x []*big.Int) *big.Int { return add(x[0], x[0]) }),
	modOp("mod_neg", 1, func(_ int, _ *big.Int, x []*big.Int) *big.Int { return new(big.Int).Neg(x[0]) }),
	modOp("mont_mul", 2, mulLazy),
	modOp("mont_sqr", 1, sqrLazy),
	modOp("mont_reduce", 2, reduceLazy).with(func(bits int) []operand {
		return doubleWidth(bits, func(p *big.Int) *big.Int { return below(mul(p, rOf(bits))) })
	}),
	modOp("mont_mul_lazy", 2, nil).lazily(mulLazy).with(func(bits int) []operand {
		n, r := modLimbs(bits), rOf(bits)
		return []operand{
			{words: n, max: func(x []*big.Int) *big.Int { return sub(r, x[0]) }},
			{words: n, max: func(x []*big.Int) *big.Int {
				max := below(r)
				if x[1].Sign() > 0 {
					limit := sub(mul(r, r), mul(r, x[0]))
					if limit.Div(limit, x[1]).Cmp(max) < 0 {
						max = limit
					}
				}
				return max
			}},
		}
	}),
	modOp("mont_sqr_lazy", 1, nil).lazily(sqrLazy).with(func(bits int) []operand {
		return []operand{{words: modLimbs(bits), max: func(x []*big.Int) *big.Int {
			root := lazyRoom(bits, x[0])
			return root.Sqrt(root)
		}}}
	}),
	modOp("mont_reduce_lazy", 2, nil).lazily(reduceLazy).with(func(bits int) []operand {
		return doubleWidth(bits, func(p *big.Int) *big.Int { return lazyRoom(bits, p) })
	}),
	modOp("to_mont", 1, func(bits int, p *big.Int, x []*big.Int) *big.Int { return inMont(bits, p, x[0]) }).
		with(func(bits int) []operand { return []operand{words(modLimbs(bits))} }),
	modOp("from_mont", 1, reduceLazy).
		with(func(bits int) []operand { return []operand{words(modLimbs(bits))} }),
	power("mont_pow"),
	power("mont_pow_fast"),
	modOp("mod_inverse", 1, nil).inverts(),
	modOp("mont_inverse", 1, nil).inverts(),
	limbsOp("mul_high", pair, single, func(n int, x []*big.Int) []*big.Int {
		return []*big.Int{high(x[0], x[1], n)}
	}),
	{name: "make_factor",
		in:  func(a *arg) []operand { return []operand{modulusOf(a.n), residue(a.n)} },
		out: func(a *arg) []result { return []result{exact(modLimbs(a.n)), exact(modLimbs(a.n))} },
		want: func(a *arg, x []*big.Int) []*big.Int {
			value, quotient := factor(a.n, x[1], x[0])
			return []*big.Int{value, quotient}
		}},
	modOp("mul_fixed_lazy", 2, nil).lazily(func(bits int, p *big.Int, x []*big.Int) *big.Int {
		value, quotient := factor(bits, x[1], p)
		y := sub(mul(x[0], value), mul(high(x[0], quotient, modLimbs(bits)), p))
		if y.Sign() < 0 || y.Cmp(mul(p, int64s(2))) >= 0 {
			panic("the model itself leaves its range")
		}
		return y
	}).with(func(bits int) []operand {
		r := rOf(bits)
		return []operand{
			upTo(modLimbs(bits), sub(r, new(big.Int).Rsh(r, 24))),
			residue(bits),
		}
	}),
}

// factor returns w / R mod p and its quotient, as mul_fixed_lazy takes them.
func factor(bits int, w, p *big.Int) (value, quotient *big.Int) {
	value = redc(bits, w, p)
	value.Mod(value, p)
	quotient = mul(value, rOf(bits))
	return value, quotient.Div(quotient, p)
}

// high returns floor(s / R), where s sums the products of limbs that mul_high computes:
// those at limb n-2 and above.
func high(a, b *big.Int, n int) *big.Int {
	x, y := oracle.Words(a, n), oracle.Words(b, n)
	sum := new(big.Int)
	for i := range n {
		for j := max(0, n-2-i); j < n; j++ {
			product := new(big.Int).SetUint64(uint64(x[i]) * uint64(y[j]))
			sum.Add(sum, product.Lsh(product, uint(32*(i+j))))
		}
	}
	return sum.Rsh(sum, uint(32*n))
}

func power(name string) op {
	o := modOp(name, 2, func(bits int, p *big.Int, x []*big.Int) *big.Int {
		base := redc(bits, x[0], p)
		return inMont(bits, p, base.Exp(base, x[1], p))
	}).with(func(bits int) []operand { return []operand{residue(bits), words(2)} })
	o.slow = true
	return o
}
