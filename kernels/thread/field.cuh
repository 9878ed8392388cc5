// field.cuh: prime fields with constants known to the compiler and with the range of a value in
// its type. It also has the narrow interface (concept Field) through which the curve formulas
// see a field of any representation.
//
// Contract of the whole file
//   modulus  C is a generated parameter struct of kernels/curves: an odd prime p
//            of C::limbs limbs, R = 2^(32 limbs), C::headroom = floor(R/p)
//   range    fe<C,M> holds a value v < M p, any of the representatives of a
//            residue; M p <= R. The compiler refuses what could overflow
//   order    little-endian limbs
//   domain   Montgomery form; load and store are gnark-crypto's memory layout:
//            canonical (below p), Montgomery form with the same R
//   aliasing operands and results are values
//   carry    none enters or leaves
//   time     independent of data unless the name ends in _fast
//   scope    one thread
//   cost     in multiply-adds, N = C::limbs
#pragma once
#include "mont.cuh"

namespace pippin {

// static_modulus makes a Modulus from a parameter struct. It holds no data.
template <class C>
struct static_modulus {
  static constexpr int limbs = C::limbs, bits = C::bits;
  PIPPIN_HD constexpr uint32_t operator[](int i) const { return C::p(i); }
  PIPPIN_HD constexpr uint32_t np0() const { return C::np0; }
  PIPPIN_HD mp::num<limbs> r2() const {
    mp::num<limbs> r;
    PIPPIN_UNROLL
    for (int i = 0; i < limbs; i++) r[i] = C::r2(i);
    return r;
  }
  PIPPIN_HD mp::num<limbs> one() const {
    mp::num<limbs> r;
    PIPPIN_UNROLL
    for (int i = 0; i < limbs; i++) r[i] = C::one(i);
    return r;
  }
};

// multiple<C,K> has the limbs of K p, K <= headroom.
template <class C, int K>
struct multiple {
  static_assert(1 <= K && K <= C::headroom, "K p must fit the limbs");
  struct words {
    uint32_t w[C::limbs];
  };
  PIPPIN_HD static constexpr words compute() {
    words r = {};
    uint64_t acc = 0;
    for (int i = 0; i < C::limbs; i++) {
      acc += (uint64_t)C::p(i) * K;
      r.w[i] = (uint32_t)acc;
      acc >>= 32;
    }
    return r;
  }
  PIPPIN_HD constexpr uint32_t operator[](int i) const {
    constexpr words k = compute();
    return k.w[i];
  }
};

// loop_modulus is static_modulus for loops whose time is that of their products. If the lowest
// limb of p is 1 it is not multiplied by. Otherwise rows drop low words.
template <class C>
struct loop_modulus : static_modulus<C> {
  static constexpr bool lowest_one = C::p(0) == 1, drops = !lowest_one;
  // 2^-32 mod p = ((-1/p mod 2^32) p + 1) / 2^32.
  struct inverse_word {
    struct words {
      uint32_t w[C::limbs];
    };
    PIPPIN_HD static constexpr words compute() {
      words r = {};
      uint64_t acc = 1;
      for (int i = 0; i < C::limbs; i++) {
        acc += (uint64_t)C::p(i) * C::np0;
        if (i > 0) r.w[i - 1] = (uint32_t)acc;
        acc >>= 32;
      }
      r.w[C::limbs - 1] = (uint32_t)acc;
      return r;
    }
    PIPPIN_HD constexpr uint32_t operator[](int i) const {
      constexpr words k = compute();
      return k.w[i];
    }
  };
  PIPPIN_HD constexpr inverse_word shifted_down() const { return {}; }
};

// fe is an element of the field of C, its value below M p.
template <class C, int M>
struct fe {
  static_assert(1 <= M && M <= C::headroom, "a value below M p must fit the limbs");
  static constexpr int bound = M;
  mp::num<C::limbs> v;
};

// The same value under a wider bound. Cost: none.
template <int T, class C, int M>
PIPPIN_HD fe<C, T> widen(const fe<C, M>& a) {
  static_assert(T >= M);
  return {a.v};
}

// The same residue below T p. It subtracts multiples of p if the value allows. Cost: 2N
// additions or selects for each halving from M to T.
template <int T, class C, int M>
PIPPIN_HD fe<C, T> reduce(const fe<C, M>& a) {
  if constexpr (M <= T) {
    return {a.v};
  } else {
    constexpr int half = (M + 1) / 2 > T ? (M + 1) / 2 : T;
    mp::num<C::limbs> t;
    const bool keep = carry::sub<C::limbs>(t.w, a.v, multiple<C, half>{}) != 0;
    return reduce<T>(fe<C, half>{mp::select(keep, a.v, t)});
  }
}

// a + b without reduction. Cost: N additions.
template <class C, int A, int B>
PIPPIN_HD fe<C, A + B> add_lazy(const fe<C, A>& a, const fe<C, B>& b) {
  return {mp::add(a.v, b.v)};
}

// a - b + B p without reduction. Cost: 2N additions.
template <class C, int A, int B>
PIPPIN_HD fe<C, A + B> sub_lazy(const fe<C, A>& a, const fe<C, B>& b) {
  mp::num<C::limbs> t;
  carry::add_fit<C::limbs>(t.w, a.v, multiple<C, B>{});
  return {mp::sub(t, b.v)};
}

// a - b below M p for a, b below M p. Cost: 3N additions or logic operations.
template <class C, int M>
PIPPIN_HD fe<C, M> sub(const fe<C, M>& a, const fe<C, M>& b) {
  const mp::with_carry<C::limbs> d = mp::sub_borrow(a.v, b.v);
  const uint32_t mask = 0u - d.carry;
  const multiple<C, M> p;
  mp::num<C::limbs> back;
  PIPPIN_UNROLL
  for (int i = 0; i < C::limbs; i++) back[i] = p[i] & mask;
  return {mp::add(d.value, back)};
}

// a b / R, below 2p. The running sum of the product stays below (a + p) 2^32, so the operand
// with the smaller bound goes first. Range: A B <= headroom. Cost: 2N^2 + N.
template <class C, int A, int B>
PIPPIN_HD fe<C, 2> mul(const fe<C, A>& a, const fe<C, B>& b) {
  static_assert(A * B <= C::headroom, "the product of these ranges is not below 2p");
  static_assert((A < B ? A : B) + 1 <= C::headroom, "the running sum would overflow");
  if constexpr (A <= B) {
    return {mp::mont_mul_lazy(a.v, b.v, static_modulus<C>{})};
  } else {
    return {mp::mont_mul_lazy(b.v, a.v, static_modulus<C>{})};
  }
}

// a^2 / R, below 2p. Range: A^2 <= headroom. Cost: 3N(N+1)/2.
template <class C, int A>
PIPPIN_HD fe<C, 2> sqr(const fe<C, A>& a) {
  static_assert(A * A <= C::headroom, "the square of this range is not below 2p");
  return {mp::mont_sqr_lazy(a.v, static_modulus<C>{})};
}

// t / R, below 2p, for -K p R <= t < K p R in two's complement. It is for sums of products at
// their double width. Cost: N^2 + N.
template <int K, class C>
PIPPIN_HD fe<C, 2> reduce_wide(const mp::num<2 * C::limbs>& t) {
  constexpr int N = C::limbs;
  static_assert(2 * K <= C::headroom, "the sign would be lost");
  const uint32_t mask = 0u - (t[2 * N - 1] >> 31);
  const multiple<C, K> p;
  mp::num<2 * N> back = {};
  PIPPIN_UNROLL
  for (int i = 0; i < N; i++) back[N + i] = p[i] & mask;
  return reduce<2>(fe<C, K + 1>{mp::mont_reduce_lazy(mp::add(t, back), static_modulus<C>{})});
}

// Whether a is 0 modulo p: whether it is one of 0, p, .., (M-1)p. Cost: M N logic operations.
template <class C, int M>
PIPPIN_HD bool is_zero(const fe<C, M>& a) {
  if constexpr (M == 1) {
    return mp::is_zero(a.v);
  } else {
    return mp::eq(a.v, multiple<C, M - 1>{}) || is_zero(fe<C, M - 1>{a.v});
  }
}

namespace detail {
// Whether memory is read 16 bytes at a time.
#if defined(__CUDA_ARCH__)
constexpr bool has_vectors = true;
#else
constexpr bool has_vectors = false;
#endif
}  // namespace detail

// Reads N little-endian words. Alignment: 16 bytes if N is a multiple of 4; then these are N/4
// vector loads. Cost: N words of memory.
template <int N>
PIPPIN_HD mp::num<N> load_words(const uint32_t* src) {
  mp::num<N> r;
  constexpr int vectors = detail::has_vectors ? N / 4 * (N % 4 == 0) : 0;
#if defined(__CUDA_ARCH__)
  PIPPIN_UNROLL
  for (int i = 0; i < 4 * vectors; i += 4) {
    const uint4 q = *reinterpret_cast<const uint4*>(src + i);
    r[i] = q.x;
    r[i + 1] = q.y;
    r[i + 2] = q.z;
    r[i + 3] = q.w;
  }
#endif
  PIPPIN_UNROLL
  for (int i = 4 * vectors; i < N; i++) r[i] = src[i];
  return r;
}

// Writes N little-endian words. Alignment and cost as load_words.
template <int N>
PIPPIN_HD void store_words(uint32_t* dst, const mp::num<N>& a) {
  constexpr int vectors = detail::has_vectors ? N / 4 * (N % 4 == 0) : 0;
#if defined(__CUDA_ARCH__)
  PIPPIN_UNROLL
  for (int i = 0; i < 4 * vectors; i += 4) {
    *reinterpret_cast<uint4*>(dst + i) = make_uint4(a[i], a[i + 1], a[i + 2], a[i + 3]);
  }
#endif
  PIPPIN_UNROLL
  for (int i = 4 * vectors; i < N; i++) dst[i] = a[i];
}

// Field is what a curve formula may ask of a field. F is a type without state. F::elem is a
// value in a range that every operation accepts and returns.
//   load    reads gnark-crypto's layout, F::words 32-bit words
//   store   writes it, canonical
//   load_raw, store_raw  keep the representative that the value has: for memory
//           that only the same field reads back
//   is_zero, eq  compare residues, not representatives
//   inv     1/a, and 0 for 0
template <class F>
concept Field = requires(const typename F::elem& a, const uint32_t* src, uint32_t* dst) {
  { F::words + 0 } -> std::same_as<int>;
  { F::zero() } -> std::same_as<typename F::elem>;
  { F::one() } -> std::same_as<typename F::elem>;
  { F::add(a, a) } -> std::same_as<typename F::elem>;
  { F::sub(a, a) } -> std::same_as<typename F::elem>;
  { F::neg(a) } -> std::same_as<typename F::elem>;
  { F::dbl(a) } -> std::same_as<typename F::elem>;
  { F::mul(a, a) } -> std::same_as<typename F::elem>;
  { F::sqr(a) } -> std::same_as<typename F::elem>;
  { F::mul_sub(a, a, a, a) } -> std::same_as<typename F::elem>;  // a b - c d
  { F::inv(a) } -> std::same_as<typename F::elem>;
  { F::is_zero(a) } -> std::same_as<bool>;
  { F::eq(a, a) } -> std::same_as<bool>;
  { F::select(true, a, a) } -> std::same_as<typename F::elem>;
  { F::load(src) } -> std::same_as<typename F::elem>;
  { F::load_raw(src) } -> std::same_as<typename F::elem>;
  F::store(dst, a);
  F::store_raw(dst, a);
};

// prime_field is the field of C in 32-bit limbs. If 4p <= R its elements are below 2p, so that
// products need no last subtraction. Otherwise they are below p (Fr of BLS12-381).
template <class C>
struct prime_field {
  using params = C;
  static constexpr int words = C::limbs;
  static constexpr int bound = C::headroom >= 4 ? 2 : 1;
  using elem = fe<C, bound>;

  // 0 and 1. Cost: none.
  PIPPIN_HD static elem zero() { return {mp::zero<words>()}; }
  PIPPIN_HD static elem one() { return {static_modulus<C>{}.one()}; }

  // Sums and differences. Cost: 3N additions, logic operations or selects.
  PIPPIN_HD static elem add(const elem& a, const elem& b) {
    return reduce<bound>(add_lazy(a, b));
  }
  PIPPIN_HD static elem sub(const elem& a, const elem& b) { return pippin::sub(a, b); }
  PIPPIN_HD static elem neg(const elem& a) { return pippin::sub(zero(), a); }
  PIPPIN_HD static elem dbl(const elem& a) { return add(a, a); }

  // Products. Cost: 2N^2 + N, and 3N(N+1)/2 for the square.
  PIPPIN_HD static elem mul(const elem& a, const elem& b) { return reduce<bound>(pippin::mul(a, b)); }
  PIPPIN_HD static elem sqr(const elem& a) { return reduce<bound>(pippin::sqr(a)); }

  // A product of wider ranges. Cost: 2N^2 + N.
  template <int A, int B>
  PIPPIN_HD static fe<C, 2> product(const fe<C, A>& a, const fe<C, B>& b) {
    return pippin::mul(a, b);
  }

  // a b - c d, with one reduction if two products fit. Cost: 3N^2 + N.
  PIPPIN_HD static elem mul_sub(const elem& a, const elem& b, const elem& c, const elem& d) {
    if constexpr (C::headroom >= 4) {
      return reduce_wide<1, C>(mp::sub(mp::mul(a.v, b.v), mp::mul(c.v, d.v)));
    } else {
      return sub(mul(a, b), mul(c, d));
    }
  }

  // 1/a, and 0 for 0. Cost: see mp::inverse.
  PIPPIN_HD static elem inv(const elem& a) {
    return {mp::mont_inverse(reduce<1>(a).v, static_modulus<C>{})};
  }

  // Comparisons of residues. Cost: bound N logic operations.
  PIPPIN_HD static bool is_zero(const elem& a) { return pippin::is_zero(a); }
  PIPPIN_HD static bool eq(const elem& a, const elem& b) { return is_zero(sub(a, b)); }

  // which ? a : b. Cost: N selects.
  PIPPIN_HD static elem select(bool which, const elem& a, const elem& b) {
    return {mp::select(which, a.v, b.v)};
  }

  // gnark-crypto's layout, and the raw representative. Alignment: load_words.
  PIPPIN_HD static elem load(const uint32_t* src) { return {load_words<words>(src)}; }
  PIPPIN_HD static elem load_raw(const uint32_t* src) { return {load_words<words>(src)}; }
  PIPPIN_HD static void store(uint32_t* dst, const elem& a) { store_words(dst, reduce<1>(a).v); }
  PIPPIN_HD static void store_raw(uint32_t* dst, const elem& a) { store_words(dst, a.v); }

  // The integer that a stands for, below p and out of Montgomery form. It is for the digits of
  // a scalar. Cost: N^2 + N.
  PIPPIN_HD static mp::num<words> to_integer(const elem& a) {
    return mp::from_mont(a.v, static_modulus<C>{});
  }
  // The element that stands for an integer below R. Cost: 2N^2 + N.
  PIPPIN_HD static elem from_integer(const mp::num<words>& a) {
    return {mp::to_mont(a, static_modulus<C>{})};
  }
};

// loop_field is prime_field with the products of loop_modulus, in other representatives. mul_sub
// is prime_field's: its ranges have no room for p / 2^31. Range: A B < headroom, H >= 5.
template <class C>
struct loop_field : prime_field<C> {
  using elem = typename prime_field<C>::elem;
  using modulus = loop_modulus<C>;
  static_assert(elem::bound * elem::bound < C::headroom && elem::bound + 2 <= C::headroom);

  // Cost: 2N^2, and N(N+1)/2 + N^2 for the square; N less of each where the lowest limb of p is 1.
  PIPPIN_HD static elem mul(const elem& a, const elem& b) { return product(a, b); }
  PIPPIN_HD static elem sqr(const elem& a) { return {mp::mont_sqr_lazy(a.v, modulus{})}; }
  template <int A, int B>
  PIPPIN_HD static fe<C, 2> product(const fe<C, A>& a, const fe<C, B>& b) {
    static_assert(A * B < C::headroom, "the product of these ranges is not below 2p");
    static_assert((A < B ? A : B) + 2 <= C::headroom, "the running sum would overflow");
    if constexpr (A <= B) {
      return {mp::mont_mul_lazy(a.v, b.v, modulus{})};
    } else {
      return {mp::mont_mul_lazy(b.v, a.v, modulus{})};
    }
  }
};

}  // namespace pippin
