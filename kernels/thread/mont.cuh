// mont.cuh: arithmetic modulo an odd p of N limbs: addition without branches,
// Montgomery products, powers and inverses. R = 2^(32N) throughout.
//
// Contract of the whole file
//   modulus  m is a Modulus: words of p known to the compiler (static_modulus in
//            field.cuh) or held in registers (modulus below); p odd, 3 <= p
//   range    operands and results below p unless a function says otherwise
//   order    little-endian limbs
//   domain   `mont_` in a name: operands stand for x R mod p; else plain
//   aliasing operands and results are values: r = f(r, r) is fine
//   carry    none enters or leaves
//   time     independent of data unless the name ends in _fast
//   scope    one thread
//   cost     in multiply-adds
//   source   Montgomery 1985; columns of double words as in the rows of
//            carry.cuh; inverses by Bernstein and Yang 2019 (divsteps)
#pragma once
#include <concepts>
#include "mp.cuh"

namespace pippin::mp {

// A Modulus gives the limbs of p by m[i], -1/p mod 2^32 by m.np0(), R^2 mod p by
// m.r2(), R mod p by m.one(), and the bits of p as a constant.
template <class M>
concept Modulus = requires(const M& m, int i) {
  { M::limbs + 0 } -> std::same_as<int>;
  { M::bits + 0 } -> std::same_as<int>;
  { m[i] } -> std::convertible_to<uint32_t>;
  { m.np0() } -> std::convertible_to<uint32_t>;
  { m.r2() } -> std::convertible_to<num<M::limbs>>;
  { m.one() } -> std::convertible_to<num<M::limbs>>;
};

// modulus is a Modulus known at run time: p < 2^Bits. With Bits < 32N the
// sums of two residues cannot overflow and the code for it is left out.
template <int N, int Bits = 32 * N>
struct modulus {
  static_assert(32 * (N - 1) < Bits && Bits <= 32 * N);
  static constexpr int limbs = N, bits = Bits;
  num<N> p, r_squared, r;
  uint32_t minus_inverse;
  PIPPIN_HD uint32_t operator[](int i) const { return p[i]; }
  PIPPIN_HD uint32_t np0() const { return minus_inverse; }
  PIPPIN_HD num<N> r2() const { return r_squared; }
  PIPPIN_HD num<N> one() const { return r; }
};

namespace detail {

// Whether the sum of two residues may exceed N limbs.
template <class M>
constexpr bool full = M::bits >= 32 * M::limbs;

// Whether the compiler knows that the lowest limb of p is 1, and whether rows drop the low word
// of the sum: m.shifted_down() then has the limbs of 2^-32 mod p.
template <class M>
constexpr bool lowest_one = requires { requires M::lowest_one; };
template <class M>
constexpr bool drops = requires { requires M::drops; };

template <class M>
PIPPIN_HD num<M::limbs> words(const M& m) {
  num<M::limbs> p;
  PIPPIN_UNROLL
  for (int i = 0; i < M::limbs; i++) p[i] = m[i];
  return p;
}

// a + carry R reduced once: a value below 2p to below p.
// Cost: 2N additions or selects.
template <Modulus M>
PIPPIN_HD num<M::limbs> reduce_once(const num<M::limbs>& a, uint32_t carry, const M& m) {
  num<M::limbs> t;
  const uint32_t borrow = carry::sub<M::limbs>(t.w, a, m);
  const bool keep = full<M> ? carry < borrow : borrow != 0;
  return select(keep, a, t);
}

// -1/x mod 2^32 for odd x, by Newton's method: each step doubles the number of right bits.
PIPPIN_HD uint32_t minus_inverse(uint32_t x) {
  uint32_t y = x;  // right to 3 bits, since x^2 = 1 mod 8
  PIPPIN_UNROLL
  for (int i = 0; i < 4; i++) y *= 2 - x * y;
  return 0u - y;
}

}  // namespace detail

// a + b mod p. Cost: 3N additions or selects.
template <Modulus M>
PIPPIN_HD num<M::limbs> mod_add(const num<M::limbs>& a, const num<M::limbs>& b, const M& m) {
  if constexpr (detail::full<M>) {
    const with_carry<M::limbs> s = add_carry(a, b);
    return detail::reduce_once(s.value, s.carry, m);
  } else {
    return detail::reduce_once(add(a, b), 0, m);
  }
}

// 2a mod p. Cost: as mod_add.
template <Modulus M>
PIPPIN_HD num<M::limbs> mod_dbl(const num<M::limbs>& a, const M& m) {
  return mod_add(a, a, m);
}

// a - b mod p. Cost: 3N additions or logic operations.
template <Modulus M>
PIPPIN_HD num<M::limbs> mod_sub(const num<M::limbs>& a, const num<M::limbs>& b, const M& m) {
  const with_carry<M::limbs> d = sub_borrow(a, b);
  const uint32_t mask = 0u - d.carry;
  num<M::limbs> back;
  PIPPIN_UNROLL
  for (int i = 0; i < M::limbs; i++) back[i] = m[i] & mask;
  return add(d.value, back);
}

// -a mod p, and -0 = 0. Cost: 2N additions or logic operations.
template <Modulus M>
PIPPIN_HD num<M::limbs> mod_neg(const num<M::limbs>& a, const M& m) {
  num<M::limbs> t;
  carry::sub_fit<M::limbs>(t.w, m, a);
  return select(is_zero(a), a, t);
}

// The modulus p, odd and at least 3, with its constants, by 64N doublings.
template <int Bits, int N>
PIPPIN_HD modulus<N, Bits> make_modulus(const num<N>& p) {
  modulus<N, Bits> m;
  m.p = p;
  m.minus_inverse = detail::minus_inverse(p[0]);
  num<N> x = from_word<N>(1);
  PIPPIN_LOOP
  for (int i = 0; i < 32 * N; i++) x = mod_dbl(x, m);
  m.r = x;
  PIPPIN_LOOP
  for (int i = 0; i < 32 * N; i++) x = mod_dbl(x, m);
  m.r_squared = x;
  return m;
}

namespace detail {

// The running sum of a Montgomery product, T = ev + od 2^32 + top 2^(32(N+1)), in double words
// at even and at odd limbs. E and O count the double words:
//
//      N = 4   ev: 01 23      od: 12 34     E = O = 2
//      N = 5   ev: 01 23 45   od: 12 34     E = 3, O = 2
//
// After each step the low word of ev[0] is zero, the sum moves down a word, and the two
// accumulators exchange their roles.
template <int N>
struct mont_sum {
  static constexpr int E = (N + 1) / 2, O = N / 2;
  static constexpr bool even = N % 2 == 0;
  uint64_t a[E], b[E];
  uint32_t top;
};

// T += q p for the q that clears the low word.
template <bool Full, int N, class M>
PIPPIN_HD void mont_clear(uint64_t* ev, uint64_t* od, uint32_t& top, const M& m) {
  using S = mont_sum<N>;
  const uint32_t q = ptx::mul_lo(ptx::lo32(ev[0]), m.np0());
  if constexpr (S::even) {
    if constexpr (Full) {
      top += carry::mad_row<S::O>(od, m, 1, q);
    } else {
      carry::mad_row_fit<S::O>(od, m, 1, q);
    }
    top += carry::mad_row_above<S::E, Full, lowest_one<M>>(ev, m, 0, q, od[S::O - 1]);
  } else {
    if constexpr (S::O > 0) top += carry::mad_row_above<S::O, Full>(od, m, 1, q, ev[S::E - 1]);
    if constexpr (Full) {
      top += carry::mad_row<S::E>(ev, m, 0, q);
    } else {
      carry::mad_row_fit<S::E>(ev, m, 0, q);
    }
  }
}

// T = T/2^32 + x y. The division is exact; it is the shift that the step before left to do.
template <bool Full, int N, class X>
PIPPIN_HD void mont_row(uint64_t* ev, uint64_t* od, uint32_t& top, const X& x, uint32_t y) {
  using S = mont_sum<N>;
  if constexpr (S::even) {
    const uint64_t tail = Full ? ptx::pack(0, top) : 0;
    top = carry::shift_row<S::O, true, Full>(ev[0], od, x, 1, y, tail);
    top += carry::mad_row_above<S::E, Full>(ev, x, 0, y, od[S::O - 1]);
  } else {
    const uint32_t c = carry::shift_row<S::O, false, Full>(ev[0], od, x, 1, y, 0);
    ev[S::E - 1] = ptx::pack(0, Full ? top + c : c);
    if constexpr (Full) {
      top = carry::mad_row<S::E>(ev, x, 0, y);
    } else {
      carry::mad_row_fit<S::E>(ev, x, 0, y);
    }
  }
}

// T += w x for N limbs w, even N. Range: T stays below R 2^32.
template <int N, class W>
PIPPIN_HD void mont_add(uint64_t* ev, uint64_t* od, const W& w, uint32_t x) {
  using S = mont_sum<N>;
  carry::mad_row_fit<S::O>(od, w, 1, x);
  carry::mad_row_above<S::E, false>(ev, w, 0, x, od[S::O - 1]);
}

// T/2^32 as a number, with its carry: limbs 1..N of ev and od, plus `last` at limb N-1.
template <bool Full, int N>
PIPPIN_HD with_carry<N> mont_result(const uint64_t* ev, const uint64_t* od, uint32_t top,
                                    uint32_t last) {
  num<N> x, y;
  PIPPIN_UNROLL
  for (int j = 0; j < N; j++) {
    const bool beyond = j == N - 1;
    x[j] = N % 2 == 0 && beyond ? last : limb(ev, N % 2 == 0 && beyond ? 0 : j + 1);
    y[j] = N % 2 == 1 && beyond ? last : limb(od, N % 2 == 1 && beyond ? 0 : j);
  }
  with_carry<N> r;
  if constexpr (Full) {
    r.carry = top + carry::add<N>(r.value.w, x, y);
  } else {
    carry::add_fit<N>(r.value.w, x, y);
    r.carry = 0;
  }
  return r;
}

// The Montgomery product without the last subtraction: below p + a b / R.
// Full = false asks for a + p <= R.
//
// Where rows drop, the low word t of the sum is not cleared by a multiple of p: the shift drops
// it, and t 2^-32 mod p is added after that. No row then waits for a factor. The last two rows
// clear it, so that the result is below p + p / 2^31 + a b / R; a + 2p <= R.
template <bool Full, Modulus M>
PIPPIN_HD with_carry<M::limbs> mont_product(const num<M::limbs>& a, const num<M::limbs>& b,
                                            const M& m) {
  constexpr int N = M::limbs;
  using S = mont_sum<N>;
  S s;
  s.top = 0;
  s.b[0] = 0;
  carry::mul_row<S::E>(s.a, a, 0, b[0]);
  carry::mul_row<S::O>(s.b, a, 1, b[0]);
  static_assert(!drops<M> || (S::even && N >= 4 && !Full));
  if constexpr (!drops<M>) mont_clear<Full, N>(s.a, s.b, s.top, m);
  PIPPIN_UNROLL
  for (int i = 1; i < N; i++) {
    uint64_t* ev = i % 2 == 0 ? s.a : s.b;
    uint64_t* od = i % 2 == 0 ? s.b : s.a;
    const uint32_t low = ptx::lo32(od[0]);
    mont_row<Full, N>(ev, od, s.top, a, b[i]);
    if constexpr (drops<M>) {
      if (i <= N - 2) mont_add<N>(ev, od, m.shifted_down(), low);
    }
    if (!drops<M> || i >= N - 2) mont_clear<Full, N>(ev, od, s.top, m);
  }
  return N % 2 == 1 ? mont_result<Full, N>(s.a, s.b, s.top, 0)
                    : mont_result<Full, N>(s.b, s.a, s.top, 0);
}

// t / R mod p without the last subtraction, for t < 2^(64N): below p + t / R, plus 1. With each
// shift the running sum takes in one more limb of t. Where rows drop it is below p / 2^31 more,
// and 2p <= R.
template <bool Full, Modulus M>
PIPPIN_HD with_carry<M::limbs> mont_reduction(const num<2 * M::limbs>& t, const M& m) {
  constexpr int N = M::limbs;
  using S = mont_sum<N>;
  S s;
  s.top = 0;
  PIPPIN_UNROLL
  for (int k = 0; k < S::E; k++) {
    s.a[k] = ptx::pack(t[2 * k], 2 * k + 1 < N ? t[2 * k + 1] : 0);
    s.b[k] = 0;
  }
  static_assert(!drops<M> || (S::even && N >= 4 && !Full));
  if constexpr (!drops<M>) mont_clear<Full, N>(s.a, s.b, s.top, m);
  PIPPIN_UNROLL
  for (int i = 1; i < N; i++) {
    uint64_t* ev = i % 2 == 0 ? s.a : s.b;
    uint64_t* od = i % 2 == 0 ? s.b : s.a;
    const uint64_t tail = ptx::pack(t[N - 1 + i], Full ? s.top : 0);
    if constexpr (drops<M>) {
      if (i <= N - 2) {
        const uint32_t low = ptx::lo32(od[0]);
        carry::shift_row<S::O, true, false>(ev[0], od, m.shifted_down(), 1, low, tail);
        carry::mad_row_above<S::E, false>(ev, m.shifted_down(), 0, low, od[S::O - 1]);
        if (i == N - 2) mont_clear<Full, N>(ev, od, s.top, m);
        continue;
      }
    }
    const uint32_t q = ptx::mul_lo(ptx::lo32(ev[0]) + ptx::hi32(od[0]), m.np0());
    if constexpr (S::even) {
      s.top = carry::shift_row<S::O, true, Full>(ev[0], od, m, 1, q, tail);
      s.top += carry::mad_row_above<S::E, Full, lowest_one<M>>(ev, m, 0, q, od[S::O - 1]);
    } else {
      const uint32_t c = carry::shift_row<S::O, false, Full>(ev[0], od, m, 1, q, 0);
      ev[S::E - 1] = ptx::pack(ptx::lo32(tail), ptx::hi32(tail) + c);
      if constexpr (Full) {
        s.top = carry::mad_row<S::E>(ev, m, 0, q);
      } else {
        carry::mad_row_fit<S::E>(ev, m, 0, q);
      }
    }
  }
  return N % 2 == 1 ? mont_result<Full, N>(s.a, s.b, s.top, t[2 * N - 1])
                    : mont_result<Full, N>(s.b, s.a, s.top, t[2 * N - 1]);
}

}  // namespace detail

// a b / R mod p, without the last subtraction: the result is below p + a b / R.
// Range: a + p <= R and a b <= R^2 - R p. Cost: 2N^2 + N.
template <Modulus M>
PIPPIN_HD num<M::limbs> mont_mul_lazy(const num<M::limbs>& a, const num<M::limbs>& b, const M& m) {
  static_assert(!detail::full<M>, "a lazy product needs a spare bit above p");
  return detail::mont_product<false>(a, b, m).value;
}

// t / R mod p of a double-width t, without the last subtraction: the result is
// at most p + t / R. Range: p <= R/2, t <= R^2 - R p - R. Cost: N^2 + N.
template <Modulus M>
PIPPIN_HD num<M::limbs> mont_reduce_lazy(const num<2 * M::limbs>& t, const M& m) {
  static_assert(!detail::full<M>, "a lazy reduction needs a spare bit above p");
  return detail::mont_reduction<false>(t, m).value;
}

// a^2 / R mod p, without the last subtraction: at most p + a^2 / R.
// Range: a^2 <= R^2 - R p - R. Cost: 3N(N+1)/2.
template <Modulus M>
PIPPIN_HD num<M::limbs> mont_sqr_lazy(const num<M::limbs>& a, const M& m) {
  return mont_reduce_lazy(sqr(a), m);
}

// a b / R mod p. Range: a, b < p. Cost: 2N^2 + N.
template <Modulus M>
PIPPIN_HD num<M::limbs> mont_mul(const num<M::limbs>& a, const num<M::limbs>& b, const M& m) {
  const with_carry<M::limbs> r = detail::mont_product<detail::full<M>>(a, b, m);
  return detail::reduce_once(r.value, r.carry, m);
}

// t / R mod p of a double-width t < p R. Cost: N^2 + N.
template <Modulus M>
PIPPIN_HD num<M::limbs> mont_reduce(const num<2 * M::limbs>& t, const M& m) {
  const with_carry<M::limbs> r = detail::mont_reduction<detail::full<M>>(t, m);
  return detail::reduce_once(r.value, r.carry, m);
}

// a^2 / R mod p. Range: a < p. Cost: 3N(N+1)/2.
template <Modulus M>
PIPPIN_HD num<M::limbs> mont_sqr(const num<M::limbs>& a, const M& m) {
  return mont_reduce(sqr(a), m);
}

// a R mod p: into Montgomery form. Range: a < R, not only a < p.
// Cost: 2N^2 + N.
template <Modulus M>
PIPPIN_HD num<M::limbs> to_mont(const num<M::limbs>& a, const M& m) {
  return mont_mul(m.r2(), a, m);
}

// a / R mod p: out of Montgomery form. Range: a < R. Cost: N^2 + N.
template <Modulus M>
PIPPIN_HD num<M::limbs> from_mont(const num<M::limbs>& a, const M& m) {
  return mont_reduce(resize<2 * M::limbs>(a), m);
}

// a^e in Montgomery form, e of K limbs, a^0 = 1. Every bit costs a square, and a product whose
// result is either kept or dropped. Cost: 32K (3.5N^2 + 2.5N).
template <Modulus M, int K>
PIPPIN_HD num<M::limbs> mont_pow(const num<M::limbs>& a, num<K> e, const M& m) {
  num<M::limbs> r = m.one();
  PIPPIN_LOOP
  for (int i = 0; i < 32 * K; i++) {
    r = mont_sqr(r, m);
    r = select((int32_t)e[K - 1] < 0, mont_mul(r, a, m), r);
    e = shl1(e);
  }
  return r;
}

// mont_pow whose time depends on e: it computes no products for zero bits, and nothing for the
// zeros above the highest bit. Cost: about half of mont_pow.
template <Modulus M, int K>
PIPPIN_HD num<M::limbs> mont_pow_fast(const num<M::limbs>& a, num<K> e, const M& m) {
  num<M::limbs> r = m.one();
  bool started = false;
  PIPPIN_LOOP
  for (int i = 0; i < 32 * K; i++) {
    if (started) r = mont_sqr(r, m);
    if ((int32_t)e[K - 1] < 0) {
      r = started ? mont_mul(r, a, m) : a;
      started = true;
    }
    e = shl1(e);
  }
  return r;
}

namespace detail {

// Divsteps (delta, f, g) with f odd. delta is kept as its double, which is odd if delta begins
// as 1/2. A step gives
//   delta > 0 and g odd: (1 - delta, g, (g - f) / 2), else
//   (1 + delta, f, (g + (g mod 2) f) / 2)
// Steps are computed in batches. The 2x2 matrix of a batch depends only on the lowest bits of f
// and g, and is applied to the whole numbers once for each batch.

// 2^n times the transition matrix of n steps: f' = (u f + v g) / 2^n, g' = (q f + r g) / 2^n.
// |u| + |v| and |q| + |r| are at most 2^n; u and v are above -2^n, and q and r strictly between
// -2^n and 2^n.
struct transition {
  int32_t u, v, q, r;
};

// Steps whose matrix fits a word beside as many bits of f or g:
//
//      bit 31..22   21..11   10..0
//          f        u        v       row F
//          g        q        r       row G, q and r increased by 2^10 - 1
//
// A step is then one sum of words. Instead of halving g it doubles f, so step i looks at bit
// 22 + i; bits that leave the top are not needed any more. In G no field is negative, or it
// would borrow from the fields above it.
constexpr int group = 10;

// Steps <= 10 steps from delta2 = 2 delta on. f and g are the lowest words, f odd. Returns 2
// delta. Cost: 9 word operations for each step.
template <int Steps>
PIPPIN_HD int32_t divsteps_group(int32_t delta2, uint32_t f, uint32_t g, transition& t) {
  static_assert(Steps <= group);
  constexpr int width = group + 1, above = 2 * width;
  constexpr uint32_t field = (1u << width) - 1, zero = field >> 1, zeros = zero << width | zero, minus = 0u - 1;
  uint32_t F = (f << above) + (1u << width), G = (g << above) + zeros + 1;
  PIPPIN_UNROLL
  for (int i = 0; i < Steps; i++) {
    const bool odd = ptx::and_b32(G, 1u << (above + i)) != 0, swap = odd & (delta2 > 0);
    const uint32_t sign = select(swap, minus, 1);
    const uint32_t next = 2 * select(swap, G - zeros, F);
    G = ptx::mad_lo(F, select(odd, sign, 0), G);
    delta2 = (int32_t)ptx::mad_lo((uint32_t)delta2, sign, 2);
    F = next;
  }
  F += zeros;
  const auto value = [](uint32_t x) { return (int32_t)(x & field) - (int32_t)zero; };
  t = {value(F >> width), value(F), value(G >> width), value(G)};
  return delta2;
}

// Steps <= 30 steps, which need as many bits of f and g. Returns 2 delta.
template <int Steps>
PIPPIN_HD int32_t divsteps(int32_t delta2, uint32_t f, uint32_t g, transition& t) {
  constexpr int now = Steps < group ? Steps : group;
  transition a;
  delta2 = divsteps_group<now>(delta2, f, g, a);
  if constexpr (Steps == now) {
    t = a;
  } else {
    transition b;
    delta2 = divsteps<Steps - now>(delta2, (a.u * f + a.v * g) >> now, (a.q * f + a.r * g) >> now, b);
    t = {b.u * a.u + b.v * a.q, b.u * a.v + b.v * a.r, b.q * a.u + b.r * a.q, b.q * a.v + b.r * a.r};
  }
  return delta2;
}

// How many divsteps, from delta = 1 on, make g = 0 for operands below 2^bits.
// Source: Bernstein and Yang 2019, theorem 11.2.
PIPPIN_HD constexpr int divsteps_for(int bits) {
  return bits < 46 ? (49 * bits + 80) / 17 : (49 * bits + 57) / 17;
}

// The same from delta = 1/2 on, for 0 <= g <= f and at most most_half bits. Source: Wuille
// 2021, convex hulls of what divsteps reach; see docs/ranges.md.
constexpr int most_half = 768;
PIPPIN_HD constexpr int half_divsteps_for(int bits) { return (45907 * bits + 26313) / 19929; }

// A batch is as many steps as a limb of a signed number of 30-bit limbs has bits. After a batch
// the lowest limb of a number is zero, and is dropped. The limbs of x are in [0, 2^30), except
// the highest, which has the sign.
constexpr int batch = 30;
constexpr uint32_t batch_mask = (1u << batch) - 1;

// A number of N words in L limbs of 30 bits.
template <int L, int N>
PIPPIN_HD num<L> split(const num<N>& a) {
  static_assert(batch * L > 32 * N - batch);
  num<L> r;
  PIPPIN_UNROLL
  for (int i = 0; i < L; i++) {
    const int at = batch * i / 32, bit = batch * i % 32;
    const uint32_t low = at < N ? a[at < N ? at : 0] : 0, high = at + 1 < N ? a[at + 1 < N ? at + 1 : 0] : 0;
    r[i] = (uint32_t)(ptx::pack(low, high) >> bit) & batch_mask;
  }
  return r;
}

// The N lowest words, in two's complement, of a signed number of 30-bit limbs.
template <int N, int L>
PIPPIN_HD num<N> join(const num<L>& a) {
  num<N> r;
  PIPPIN_UNROLL
  for (int i = 0; i < N; i++) {
    const int at = 32 * i / batch, bit = 32 * i % batch;
    const int32_t low = (int32_t)a[at < L ? at : L - 1] >> (at < L ? bit : 31);
    r[i] = at + 1 < L ? (uint32_t)low | a[at + 1 < L ? at + 1 : 0] << (batch - bit) : (uint32_t)low;
  }
  return r;
}

// (a x + b y + k p) / 2^batch, exactly. What is added at a limb is below 2^60 + 2^61 + 2^32.
template <int L>
PIPPIN_HD num<L> combine(int32_t a, const num<L>& x, int32_t b, const num<L>& y, int32_t k, const num<L>& p) {
  num<L> r;
  int64_t acc = 0;
  PIPPIN_UNROLL
  for (int i = 0; i < L; i++) {
    acc += a * (int64_t)(int32_t)x[i] + b * (int64_t)(int32_t)y[i];
    acc += k * (int64_t)(int32_t)p[i];
    if (i > 0) r[i - (i > 0)] = (uint32_t)acc & batch_mask;
    acc >>= batch;
  }
  r[L - 1] = (uint32_t)acc;
  return r;
}

// (a x + b y) / 2^batch mod p, for x, y in (-2p, p) with the result in (-2p, p). A multiple k p
// makes the division exact; k also adds p for each negative operand.
template <int L, class M>
PIPPIN_HD num<L> combine_mod(int32_t a, const num<L>& x, int32_t b, const num<L>& y, const num<L>& p, const M& m) {
  int32_t k = (int32_t)(select(is_negative(x), (uint32_t)a, 0) + select(is_negative(y), (uint32_t)b, 0));
  const uint32_t low = (uint32_t)a * x[0] + (uint32_t)b * y[0];
  // low + k p = 0 mod 2^batch for the new k: subtract (low/p + k) mod 2^batch.
  k -= (int32_t)(((0u - m.np0()) * low + (uint32_t)k) & batch_mask);
  return combine(a, x, b, y, k, p);
}

// scale / x mod p. The invariants are d x = f scale and e x = g scale, up to sign and modulo p,
// from (f, d) = (p, 0) and (g, e) = (x, scale) until g = 0. The steps of a batch wait for each
// other and need only the lowest limbs of f and g. The other products of the batch before do
// not depend on them, and fill the time that they leave free.
template <Modulus M>
PIPPIN_HD num<M::limbs> divide(const num<M::limbs>& scale, const num<M::limbs>& x, const M& m) {
  constexpr int N = M::limbs, L = (M::bits + 2 + batch - 1) / batch;
  const num<L> p = split<L>(words(m));
  num<L> f = p, g = split<L>(x), d = zero<L>(), e = split<L>(scale);
  constexpr bool half = M::bits <= most_half;
  constexpr int rounds = ((half ? half_divsteps_for(M::bits) : divsteps_for(M::bits)) + batch - 1) / batch;
  int32_t delta2 = half ? 1 : 2;
  transition t = {1 << batch, 0, 0, 1 << batch};
  const auto apply = [&] {
    const num<L> f0 = f, d0 = d;
    f = combine(t.u, f0, t.v, g, 0, p);
    g = combine(t.q, f0, t.r, g, 0, p);
    d = combine_mod(t.u, d0, t.v, e, p, m);
    e = combine_mod(t.q, d0, t.r, e, p, m);
  };
  PIPPIN_LOOP
  for (int i = 0; i < rounds; i++) {
    apply();  // at first the identity
    delta2 = divsteps<batch>(delta2, f[0], g[0], t);
  }
  apply();
  // d is in (-2p, p), and f is 1 or -1. Add p if d is negative, apply f's sign, and add p again
  // if that is negative.
  const num<N + 1> q = resize<N + 1>(words(m));
  num<N + 1> s = join<N + 1>(d);
  s = select(is_negative(s), add(s, q), s);
  s = select(is_negative(f), neg(s), s);
  s = select(is_negative(s), add(s, q), s);
  return resize<N>(s);
}

}  // namespace detail

// 1/a mod p, plain domain, for gcd(a, p) = 1; 0 for a = 0. Range: a < p.
// Cost: half_divsteps_for(bits(p)) divsteps, and for each 30 of them 10 wide products
// for each 30 bits of p; 260 bits take 21 rounds.
template <Modulus M>
PIPPIN_HD num<M::limbs> inverse(const num<M::limbs>& a, const M& m) {
  return detail::divide(from_word<M::limbs>(1), a, m);
}

// 1/a in Montgomery form: (a R)^-1 R^2 = a^-1 R, one division. Cost: as inverse.
template <Modulus M>
PIPPIN_HD num<M::limbs> mont_inverse(const num<M::limbs>& a, const M& m) {
  return detail::divide(m.r2(), a, m);
}

}  // namespace pippin::mp
