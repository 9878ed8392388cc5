// Operations of mont.cuh and fixed.cuh for the probe. N is the bits of the modulus,
// which is the first operand.
#pragma once
#include "../../thread/fixed.cuh"
#include "ops_mp.cuh"

namespace pippin::probe {

// An operation modulo the first operand: m the modulus, a and b the operands
// after it, L the limbs.
#define OP_MOD(name, operands, words_out, ...)                                  \
  OP(name, (1 + operands) * mp::limbs_for(N), words_out, constexpr int L = mp::limbs_for(N); \
     const auto m = mp::make_modulus<N>(get<L>(x)); __VA_ARGS__)

// R mod p, R^2 mod p, -1/p mod 2^32.
OP_MOD(mont_make_modulus, 0, 2 * mp::limbs_for(N) + 1, put(r, m.one()); put(r + L, m.r2());
       r[2 * L] = m.np0();)
OP_MOD(mod_add, 2, mp::limbs_for(N), put(r, mp::mod_add(get<L>(x + L), get<L>(x + 2 * L), m));)
OP_MOD(mod_sub, 2, mp::limbs_for(N), put(r, mp::mod_sub(get<L>(x + L), get<L>(x + 2 * L), m));)
OP_MOD(mod_dbl, 1, mp::limbs_for(N), put(r, mp::mod_dbl(get<L>(x + L), m));)
OP_MOD(mod_neg, 1, mp::limbs_for(N), put(r, mp::mod_neg(get<L>(x + L), m));)
OP_MOD(mont_mul, 2, mp::limbs_for(N), put(r, mp::mont_mul(get<L>(x + L), get<L>(x + 2 * L), m));)
OP_MOD(mont_sqr, 1, mp::limbs_for(N), put(r, mp::mont_sqr(get<L>(x + L), m));)
OP_MOD(mont_reduce, 2, mp::limbs_for(N), put(r, mp::mont_reduce(get<2 * L>(x + L), m));)
OP_MOD(mont_mul_lazy, 2, mp::limbs_for(N),
       put(r, mp::mont_mul_lazy(get<L>(x + L), get<L>(x + 2 * L), m));)
OP_MOD(mont_sqr_lazy, 1, mp::limbs_for(N), put(r, mp::mont_sqr_lazy(get<L>(x + L), m));)
OP_MOD(mont_reduce_lazy, 2, mp::limbs_for(N), put(r, mp::mont_reduce_lazy(get<2 * L>(x + L), m));)
OP_MOD(to_mont, 1, mp::limbs_for(N), put(r, mp::to_mont(get<L>(x + L), m));)
OP_MOD(from_mont, 1, mp::limbs_for(N), put(r, mp::from_mont(get<L>(x + L), m));)
// The exponent has two limbs.
OP(mont_pow, 2 * mp::limbs_for(N) + 2, mp::limbs_for(N), constexpr int L = mp::limbs_for(N);
   const auto m = mp::make_modulus<N>(get<L>(x));
   put(r, mp::mont_pow(get<L>(x + L), get<2>(x + 2 * L), m));)
OP(mont_pow_fast, 2 * mp::limbs_for(N) + 2, mp::limbs_for(N), constexpr int L = mp::limbs_for(N);
   const auto m = mp::make_modulus<N>(get<L>(x));
   put(r, mp::mont_pow_fast(get<L>(x + L), get<2>(x + 2 * L), m));)
OP_MOD(mod_inverse, 1, mp::limbs_for(N), put(r, mp::inverse(get<L>(x + L), m));)
OP_MOD(mont_inverse, 1, mp::limbs_for(N), put(r, mp::mont_inverse(get<L>(x + L), m));)

// The upper half of a product, of numbers of N limbs.
OP(mul_high, 2 * N, N, put(r, mp::mul_high(get<N>(x), get<N>(x + N)));)
OP_MOD(make_factor, 1, 2 * mp::limbs_for(N), const auto f = mp::make_factor(get<L>(x + L), m);
       put(r, f.value); put(r + L, f.quotient);)
OP_MOD(mul_fixed_lazy, 2, mp::limbs_for(N),
       put(r, mp::mul_fixed_lazy(get<L>(x + L), mp::make_factor(get<L>(x + 2 * L), m), m));)

}  // namespace pippin::probe
