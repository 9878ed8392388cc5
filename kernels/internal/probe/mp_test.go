package probe

import (
	"math/big"
	"math/bits"

	"github.com/pippin-zk/pippin/kernels/internal/oracle"
)

// Operands and results of n, 2n, .. limbs.
func ins(f func(n int) []operand) func(a *arg) []operand {
	return func(a *arg) []operand { return f(a.n) }
}
func outs(f func(n int) []result) func(a *arg) []result {
	return func(a *arg) []result { return f(a.n) }
}

var (
	aWord = func(int) []operand { return []operand{words(1)} }
	unary = func(n int) []operand { return []operand{words(n)} }
	pair  = func(n int) []operand { return []operand{words(n), words(n)} }
	// Two numbers and a carry in, or a choice.
	binaryBit = func(n int) []operand { return []operand{words(n), words(n), upTo(1, one)} }
	// A number and the bits to shift it by.
	shift = func(n int) []operand { return []operand{words(n), upTo(1, int64s(int64(32*n-1)))} }

	single    = func(n int) []result { return []result{exact(n)} }
	double    = func(n int) []result { return []result{exact(2 * n)} }
	withCarry = func(n int) []result { return []result{exact(n), exact(1)} }
	boolean   = func(int) []result { return []result{exact(1)} }
)

// limbsOp returns an operation on numbers of a.n limbs. The model works on integers, and
// its first result is reduced to the words that there are.
func limbsOp(name string, in func(int) []operand, out func(int) []result,
	want func(n int, x []*big.Int) []*big.Int) op {
	return op{name: name, in: ins(in), out: outs(out), want: func(a *arg, x []*big.Int) []*big.Int {
		return want(a.n, x)
	}}
}

// low returns x mod 2^(32n).
func low(x *big.Int, n int) *big.Int { return oracle.Unsigned(x, 32*n) }
func split(x *big.Int, n int) []*big.Int {
	return []*big.Int{low(x, n), low(new(big.Int).Rsh(x, uint(32*n)), 1)}
}

func add(x ...*big.Int) *big.Int {
	s := new(big.Int)
	for _, y := range x {
		s.Add(s, y)
	}
	return s
}
func sub(x *big.Int, y ...*big.Int) *big.Int { return new(big.Int).Sub(x, add(y...)) }
func mul(x, y *big.Int) *big.Int             { return new(big.Int).Mul(x, y) }

// borrowed returns x as a value and a borrow of 0 or 1.
func borrowed(x *big.Int, n int) []*big.Int { return []*big.Int{low(x, n), truth(x.Sign() < 0)} }

func signed(x *big.Int, n int) *big.Int { return oracle.Signed(x, 32*n) }

// strided returns the sum of the odd limbs of the n limbs of x, each at its even place.
func strided(x *big.Int, n int) *big.Int {
	w := oracle.Words(x, 2*n)
	for i := range n {
		w[2*i], w[2*i+1] = w[2*i+1], 0
	}
	return oracle.Int(w)
}

// row describes a row of n products on an accumulator of so many double words,
// whose value stays so low that with the row it does not pass 2^(32 room).
func row(n, accumulator, room int) []operand {
	return []operand{words(2 * n), words(1), {
		words: 2 * accumulator,
		max: func(x []*big.Int) *big.Int {
			free := sub(oracle.Pow2(32*room), mul(strided(x[0], n), x[1]))
			if all := oracle.Pow2(64 * accumulator); free.Cmp(all) > 0 {
				free = all
			}
			return below(free)
		},
	}}
}

// shifted returns the sum that shift_row computes from ev0 and od[0..n]: it adds the high
// word of od[0] to the low word of ev0, and moves od down a word.
func shifted(n int, x []*big.Int) (high *big.Int, total *big.Int) {
	ev, od := x[2], oracle.Words(x[3], 2*n+2)
	first := add(low(ev, 1), oracle.Int(od[1:2]))
	high = new(big.Int).Rsh(ev, 32)
	// Everything above the low word of ev0, in units of 2^32.
	rest := add(oracle.Int(od[2:]), mul(strided(x[0], n), x[1]))
	return high, add(first, new(big.Int).Lsh(rest, 32))
}

// shiftWant returns ev0, od[0..n) and the carry.
func shiftWant(n int, x []*big.Int) []*big.Int {
	high, total := shifted(n, x)
	ev := add(low(total, 1), new(big.Int).Lsh(high, 32))
	total.Rsh(total, 32)
	return append([]*big.Int{ev}, split(total, 2*n)...)
}

var mpOps = []op{
	limbsOp("ptx_add", func(int) []operand { return pair(3) }, func(int) []result { return single(3) },
		func(_ int, x []*big.Int) []*big.Int { return []*big.Int{low(add(x...), 3)} }),
	limbsOp("ptx_sub", func(int) []operand { return pair(3) }, func(int) []result { return single(3) },
		func(_ int, x []*big.Int) []*big.Int { return []*big.Int{low(sub(x[0], x[1]), 3)} }),
	limbsOp("ptx_mad_wide", func(int) []operand { return []operand{words(3), words(1), words(6)} },
		func(int) []result { return single(6) },
		func(_ int, x []*big.Int) []*big.Int {
			w := oracle.Words(x[0], 3)
			s := new(big.Int)
			for i := range w {
				s.Add(s, new(big.Int).Lsh(mul(oracle.Int(w[i:i+1]), x[1]), uint(64*i)))
			}
			return []*big.Int{low(add(s, x[2]), 6)}
		}),
	limbsOp("ptx_mul", func(int) []operand { return pair(1) },
		func(int) []result { return []result{exact(1), exact(1), exact(2)} },
		func(_ int, x []*big.Int) []*big.Int {
			p := mul(x[0], x[1])
			return append(split(p, 1), p)
		}),
	limbsOp("ptx_plain", func(int) []operand { return append(pair(1), words(1)) },
		func(int) []result { return []result{exact(1), exact(1)} },
		func(_ int, x []*big.Int) []*big.Int {
			sum := new(big.Int).Add(mul(x[0], x[1]), x[2])
			return []*big.Int{split(sum, 1)[0], new(big.Int).And(x[0], x[1])}
		}),
	limbsOp("ptx_reversed", func(int) []operand { return []operand{words(1), upTo(1, int64s(32))} },
		func(int) []result { return []result{exact(1), exact(1)} },
		func(_ int, x []*big.Int) []*big.Int {
			v := bits.Reverse32(uint32(x[0].Uint64()))
			return []*big.Int{big.NewInt(int64(v)), big.NewInt(int64(uint64(v) >> (32 - x[1].Uint64())))}
		}),
	limbsOp("ptx_funnel", func(int) []operand { return []operand{words(2), upTo(1, int64s(31))} },
		func(int) []result { return []result{exact(1), exact(1)} },
		func(_ int, x []*big.Int) []*big.Int {
			s := uint(x[1].Uint64())
			left := new(big.Int).Lsh(x[0], s)
			return []*big.Int{low(left.Rsh(left, 32), 1), low(new(big.Int).Rsh(x[0], s), 1)}
		}),

	limbsOp("carry_add", pair, withCarry,
		func(n int, x []*big.Int) []*big.Int { return split(add(x...), n) }),
	limbsOp("carry_add_in", binaryBit, withCarry,
		func(n int, x []*big.Int) []*big.Int { return split(add(x...), n) }),
	limbsOp("carry_add_fit", pair, single,
		func(n int, x []*big.Int) []*big.Int { return []*big.Int{low(add(x...), n)} }),
	limbsOp("carry_sub", pair, withCarry,
		func(n int, x []*big.Int) []*big.Int { return borrowed(sub(x[0], x[1]), n) }),
	limbsOp("carry_sub_in", binaryBit, withCarry,
		func(n int, x []*big.Int) []*big.Int { return borrowed(sub(x[0], x[1], x[2]), n) }),
	limbsOp("carry_sub_fit", pair, single,
		func(n int, x []*big.Int) []*big.Int { return []*big.Int{low(sub(x[0], x[1]), n)} }),
	limbsOp("carry_less", pair, boolean,
		func(_ int, x []*big.Int) []*big.Int { return []*big.Int{truth(x[0].Cmp(x[1]) < 0)} }),
	limbsOp("carry_mul_row", func(n int) []operand { return []operand{words(2 * n), words(1)} }, double,
		func(n int, x []*big.Int) []*big.Int { return []*big.Int{mul(strided(x[0], n), x[1])} }),
	limbsOp("carry_mad_row", func(n int) []operand { return row(n, n, 2*n+1) },
		func(n int) []result { return withCarry(2 * n) },
		func(n int, x []*big.Int) []*big.Int {
			return split(add(mul(strided(x[0], n), x[1]), x[2]), 2*n)
		}),
	limbsOp("carry_mad_row_fit", func(n int) []operand { return row(n, n, 2*n) }, double,
		func(n int, x []*big.Int) []*big.Int {
			return []*big.Int{add(mul(strided(x[0], n), x[1]), x[2])}
		}),
	limbsOp("carry_mad_row_above", func(n int) []operand {
		return append(row(n, n, 2*n+1), words(2))
	}, func(n int) []result { return []result{exact(2 * n), exact(2), exact(1)} }, aboveWant),
	limbsOp("carry_mad_row_above_fit", func(n int) []operand {
		return append(row(n, n, 2*n+1), operand{words: 2, max: func([]*big.Int) *big.Int {
			// Below the last value of the upper word, so that a carry fits.
			return below(new(big.Int).Lsh(below(oracle.Pow2(32)), 32))
		}})
	}, func(n int) []result { return []result{exact(2 * n), exact(2)} },
		func(n int, x []*big.Int) []*big.Int { return aboveWant(n, x)[:2] }),
	limbsOp("carry_shift_row", func(n int) []operand {
		return []operand{words(2 * n), words(1), words(2), words(2*n + 2)}
	}, func(n int) []result { return []result{exact(2), exact(2 * n), exact(1)} }, shiftWant),
	limbsOp("carry_shift_row_open", func(n int) []operand {
		return []operand{words(2 * n), words(1), words(2), words(2*n + 2)}
	}, func(n int) []result { return []result{exact(2), exact(2 * n), exact(1)} }, shiftWant),
	limbsOp("carry_shift_row_fit", func(n int) []operand {
		// The tail is a word, so that the sum stays below 2^(64n).
		return []operand{words(2 * n), words(1), words(2), words(2*n + 1), upTo(1, new(big.Int))}
	}, func(n int) []result { return []result{exact(2), exact(2 * n)} },
		func(n int, x []*big.Int) []*big.Int { return shiftWant(n, x)[:2] }),
	limbsOp("carry_diagonal", func(n int) []operand {
		// The double words: an unused one, those of the diagonal before, an unused one.
		return []operand{words(n + 1), words(2 * n)}
	}, double, func(n int, x []*big.Int) []*big.Int {
		w, acc := oracle.Words(x[0], n+1), oracle.Words(x[1], 2*n)
		s := new(big.Int)
		for i := range n {
			p := mul(oracle.Int(w[i:i+1]), oracle.Int(w[i+1:i+2]))
			if 0 < i && i < n-1 {
				p.Add(p, oracle.Int(acc[2*i:2*i+2]))
			}
			s.Add(s, p.Lsh(p, uint(64*i)))
		}
		return []*big.Int{s}
	}),
	limbsOp("carry_add_squares", func(n int) []operand {
		return []operand{words(n), {words: 2 * n, max: func(x []*big.Int) *big.Int {
			return below(sub(oracle.Pow2(64*n), squares(x[0], n)))
		}}}
	}, double, func(n int, x []*big.Int) []*big.Int { return []*big.Int{add(squares(x[0], n), x[1])} }),

	limbsOp("mp_from_word", aWord, single, func(_ int, x []*big.Int) []*big.Int { return x }),
	limbsOp("mp_zero", aWord, single, func(int, []*big.Int) []*big.Int { return []*big.Int{new(big.Int)} }),
	limbsOp("mp_resize", unary, func(n int) []result { return []result{exact(n + 2), exact((n + 1) / 2)} },
		func(n int, x []*big.Int) []*big.Int { return []*big.Int{x[0], low(x[0], (n+1)/2)} }),
	limbsOp("mp_slice", func(n int) []operand { return unary(n + 2) }, single,
		func(n int, x []*big.Int) []*big.Int { return []*big.Int{low(new(big.Int).Rsh(x[0], 32), n)} }),
	limbsOp("mp_add", pair, single,
		func(n int, x []*big.Int) []*big.Int { return []*big.Int{low(add(x...), n)} }),
	limbsOp("mp_add_carry", pair, withCarry,
		func(n int, x []*big.Int) []*big.Int { return split(add(x...), n) }),
	limbsOp("mp_add_carry_in", binaryBit, withCarry,
		func(n int, x []*big.Int) []*big.Int { return split(add(x...), n) }),
	limbsOp("mp_add_exact", pair, func(n int) []result { return single(n + 1) },
		func(_ int, x []*big.Int) []*big.Int { return []*big.Int{add(x...)} }),
	limbsOp("mp_sub", pair, single,
		func(n int, x []*big.Int) []*big.Int { return []*big.Int{low(sub(x[0], x[1]), n)} }),
	limbsOp("mp_sub_borrow", pair, withCarry,
		func(n int, x []*big.Int) []*big.Int { return borrowed(sub(x[0], x[1]), n) }),
	limbsOp("mp_sub_borrow_in", binaryBit, withCarry,
		func(n int, x []*big.Int) []*big.Int { return borrowed(sub(x[0], x[1], x[2]), n) }),
	limbsOp("mp_is_zero", unary, boolean,
		func(_ int, x []*big.Int) []*big.Int { return []*big.Int{truth(x[0].Sign() == 0)} }),
	limbsOp("mp_eq", pair, boolean,
		func(_ int, x []*big.Int) []*big.Int { return []*big.Int{truth(x[0].Cmp(x[1]) == 0)} }),
	limbsOp("mp_less", pair, boolean,
		func(_ int, x []*big.Int) []*big.Int { return []*big.Int{truth(x[0].Cmp(x[1]) < 0)} }),
	limbsOp("mp_cmp", pair, boolean,
		func(_ int, x []*big.Int) []*big.Int { return []*big.Int{low(int64s(int64(x[0].Cmp(x[1]))), 1)} }),
	limbsOp("mp_select", binaryBit, single, func(_ int, x []*big.Int) []*big.Int {
		if x[2].Sign() != 0 {
			return x[:1]
		}
		return x[1:2]
	}),
	limbsOp("mp_shl", shift, single, func(n int, x []*big.Int) []*big.Int {
		return []*big.Int{low(new(big.Int).Lsh(x[0], uint(x[1].Uint64())), n)}
	}),
	limbsOp("mp_shr", shift, single, func(_ int, x []*big.Int) []*big.Int {
		return []*big.Int{new(big.Int).Rsh(x[0], uint(x[1].Uint64()))}
	}),
	limbsOp("mp_shl1", unary, single,
		func(n int, x []*big.Int) []*big.Int { return []*big.Int{low(add(x[0], x[0]), n)} }),
	limbsOp("mp_shr1", unary, single,
		func(_ int, x []*big.Int) []*big.Int { return []*big.Int{new(big.Int).Rsh(x[0], 1)} }),
	limbsOp("mp_mul", pair, double,
		func(_ int, x []*big.Int) []*big.Int { return []*big.Int{mul(x[0], x[1])} }),
	limbsOp("mp_mul_low", pair, single,
		func(n int, x []*big.Int) []*big.Int { return []*big.Int{low(mul(x[0], x[1]), n)} }),
	limbsOp("mp_mul_by_3", func(n int) []operand { return []operand{words(n), words(3)} },
		func(n int) []result { return single(n + 3) },
		func(_ int, x []*big.Int) []*big.Int { return []*big.Int{mul(x[0], x[1])} }),
	limbsOp("mp_mul_bits", func(bits int) []operand {
		o := upTo((bits+31)/32, below(oracle.Pow2(bits)))
		return []operand{o, o}
	}, func(bits int) []result { return single((2*bits + 31) / 32) },
		func(_ int, x []*big.Int) []*big.Int { return []*big.Int{mul(x[0], x[1])} }),
	limbsOp("mp_sqr", unary, double,
		func(_ int, x []*big.Int) []*big.Int { return []*big.Int{mul(x[0], x[0])} }),
	limbsOp("mp_mul_karatsuba", pair, double,
		func(_ int, x []*big.Int) []*big.Int { return []*big.Int{mul(x[0], x[1])} }),
	limbsOp("mp_neg", unary, single,
		func(n int, x []*big.Int) []*big.Int { return []*big.Int{low(new(big.Int).Neg(x[0]), n)} }),
	limbsOp("mp_is_negative", unary, boolean,
		func(n int, x []*big.Int) []*big.Int { return []*big.Int{truth(signed(x[0], n).Sign() < 0)} }),
	limbsOp("mp_abs", unary, single,
		func(n int, x []*big.Int) []*big.Int { return []*big.Int{new(big.Int).Abs(signed(x[0], n))} }),
	limbsOp("mp_sign_extend", unary, func(n int) []result { return single(n + 2) },
		func(n int, x []*big.Int) []*big.Int { return []*big.Int{low(signed(x[0], n), n+2)} }),
	limbsOp("mp_sar", shift, single, func(n int, x []*big.Int) []*big.Int {
		return []*big.Int{low(new(big.Int).Rsh(signed(x[0], n), uint(x[1].Uint64())), n)}
	}),
	limbsOp("mp_less_signed", pair, boolean, func(n int, x []*big.Int) []*big.Int {
		return []*big.Int{truth(signed(x[0], n).Cmp(signed(x[1], n)) < 0)}
	}),
	limbsOp("mp_mul_signed", pair, double, func(n int, x []*big.Int) []*big.Int {
		return []*big.Int{low(mul(signed(x[0], n), signed(x[1], n)), 2*n)}
	}),
}

// aboveWant returns the accumulator, the double word above it with the carry in its upper
// word, and the carry out of that.
func aboveWant(n int, x []*big.Int) []*big.Int {
	s := split(add(mul(strided(x[0], n), x[1]), x[2]), 2*n)
	up := add(new(big.Int).Rsh(x[3], 32), s[1])
	return []*big.Int{s[0], add(low(x[3], 1), new(big.Int).Lsh(low(up, 1), 32)), new(big.Int).Rsh(up, 32)}
}

// squares returns the sum of the squares of n limbs at double words.
func squares(x *big.Int, n int) *big.Int {
	s := new(big.Int)
	for i, w := range oracle.Words(x, n) {
		p := new(big.Int).SetUint64(uint64(w))
		s.Add(s, p.Lsh(p.Mul(p, p), uint(64*i)))
	}
	return s
}
