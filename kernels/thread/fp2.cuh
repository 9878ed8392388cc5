// fp2.cuh: the quadratic extension Fp[u] with u^2 = -1 or -5, itself a Field.
//
// Contract of the whole file
//   range    a.c0 + a.c1 u, both coefficients elements of the base field F
//   order    in memory c0, then c1, as gnark-crypto's E2{A0, A1}
//   domain, aliasing, carry, time, scope: those of F
//   cost     M and S are a product and a square in F
#pragma once
#include "field.cuh"

namespace pippin {

template <Field F, int USquared>
struct fp2 {
  static_assert(USquared == -1 || USquared == -5);
  using base = F;
  static constexpr int words = 2 * F::words;
  struct elem {
    typename F::elem c0, c1;
  };

  // 0 and 1. Cost: none.
  PIPPIN_HD static elem zero() { return {F::zero(), F::zero()}; }
  PIPPIN_HD static elem one() { return {F::one(), F::zero()}; }

  // Sums and differences, by coefficient. Cost: twice F's.
  PIPPIN_HD static elem add(const elem& a, const elem& b) {
    return {F::add(a.c0, b.c0), F::add(a.c1, b.c1)};
  }
  PIPPIN_HD static elem sub(const elem& a, const elem& b) {
    return {F::sub(a.c0, b.c0), F::sub(a.c1, b.c1)};
  }
  PIPPIN_HD static elem neg(const elem& a) { return {F::neg(a.c0), F::neg(a.c1)}; }
  PIPPIN_HD static elem dbl(const elem& a) { return {F::dbl(a.c0), F::dbl(a.c1)}; }

  // -u^2 x, which is x or 5x. Cost: none or three additions in F.
  PIPPIN_HD static typename F::elem minus_u_squared(const typename F::elem& x) {
    if constexpr (USquared == -1) {
      return x;
    } else {
      return F::add(F::dbl(F::dbl(x)), x);
    }
  }

  // a b = (a0 b0 + u^2 a1 b1) + ((a0 + a1)(b0 + b1) - a0 b0 - a1 b1) u. It is computed as
  // mul_wide if there are registers for that beside those of a formula, else as three products.
  // The sums come first, so that their registers are free before the other products begin.
  // Cost: 5N^2 + 2N or 3M. Source: Karatsuba and Ofman 1962.
  PIPPIN_HD static elem mul(const elem& a, const elem& b) {
    if constexpr (is_short) return mul_wide(a, b);
    const auto cross = F::mul(F::add(a.c0, a.c1), F::add(b.c0, b.c1));
    const auto p0 = F::mul(a.c0, b.c0), rest = F::sub(cross, p0);
    const auto p1 = F::mul(a.c1, b.c1);
    return {F::sub(p0, minus_u_squared(p1)), F::sub(rest, p1)};
  }

  // mul with two reductions instead of three: the products are added up at their double width.
  // Cost: 5N^2 + 2N.
  PIPPIN_HD static elem mul_wide(const elem& a, const elem& b) {
    using C = typename F::params;
    const wide t = product(a, b);
    // It is a0 b1 + a1 b0, and so not negative.
    return {reduce_wide<share(-4 * USquared), C>(t.c0),
            reduce<2>(fe<C, 1 + share(8)>{mp::mont_reduce_lazy(t.c1, static_modulus<C>{})})};
  }

  // a b - c d, with two reductions, as many as mul has. Cost: 8N^2 + 2N or 6M.
  PIPPIN_HD static elem mul_sub(const elem& a, const elem& b, const elem& c, const elem& d) {
    if constexpr (is_short) {
      using C = typename F::params;
      const wide s = product(a, b), t = product(c, d);
      return {reduce_wide<share(4 - 4 * USquared), C>(mp::sub(s.c0, t.c0)), reduce_wide<share(8), C>(mp::sub(s.c1, t.c1))};
    } else {
      return sub(mul(a, b), mul(c, d));
    }
  }

  // a^2 = ((a0 + a1)(a0 + u^2 a1) - (1 + u^2) a0 a1) + 2 a0 a1 u. The last term of the first
  // coefficient is 0 for u^2 = -1 and +4 a0 a1 for u^2 = -5. Cost: 2M.
  PIPPIN_HD static elem sqr(const elem& a) {
    const auto c0 = F::mul(F::add(a.c0, a.c1), F::sub(a.c0, minus_u_squared(a.c1)));
    const auto twice = F::dbl(F::mul(a.c0, a.c1));
    if constexpr (USquared == -1) {
      return {c0, twice};
    } else {
      return {F::add(c0, F::dbl(twice)), twice};
    }
  }

  // (a0 - a1 u) / (a0^2 - u^2 a1^2): the conjugate over the norm.
  // Cost: 2S + 2M and F's inverse.
  PIPPIN_HD static elem inv(const elem& a) { return over_norm(a, F::inv(norm(a))); }

  // Comparisons of residues. Cost: twice F's.
  PIPPIN_HD static bool is_zero(const elem& a) { return F::is_zero(a.c0) && F::is_zero(a.c1); }
  PIPPIN_HD static bool eq(const elem& a, const elem& b) {
    return F::eq(a.c0, b.c0) && F::eq(a.c1, b.c1);
  }

  // which ? a : b. Cost: twice F's.
  PIPPIN_HD static elem select(bool which, const elem& a, const elem& b) {
    return {F::select(which, a.c0, b.c0), F::select(which, a.c1, b.c1)};
  }

  // gnark-crypto's layout, and the raw representative. Alignment: F's.
  PIPPIN_HD static elem load(const uint32_t* src) {
    return {F::load(src), F::load(src + F::words)};
  }
  PIPPIN_HD static elem load_raw(const uint32_t* src) {
    return {F::load_raw(src), F::load_raw(src + F::words)};
  }
  PIPPIN_HD static void store(uint32_t* dst, const elem& a) {
    F::store(dst, a.c0);
    F::store(dst + F::words, a.c1);
  }
  PIPPIN_HD static void store_raw(uint32_t* dst, const elem& a) {
    F::store_raw(dst, a.c0);
    F::store_raw(dst + F::words, a.c1);
  }

 private:
  // Whether products at their double width fit into the registers beside those of a formula.
  static constexpr bool is_short = F::words <= 8;

  // A product at its double width, in two's complement. c0 is from 4 u^2 p^2 to 4p^2, and c1
  // from 0 to 8p^2.
  struct wide {
    mp::num<2 * F::words> c0, c1;
  };
  PIPPIN_HD static wide product(const elem& a, const elem& b) {
    const auto p0 = mp::mul(a.c0.v, b.c0.v), p1 = mp::mul(a.c1.v, b.c1.v);
    const auto cross = mp::mul(mp::add(a.c0.v, a.c1.v), mp::add(b.c0.v, b.c1.v));
    return {mp::sub(p0, USquared == -1 ? p1 : mp::add(mp::shl(p1, 2), p1)), mp::sub(mp::sub(cross, p0), p1)};
  }
  // How many p R are at least n p^2.
  PIPPIN_HD static constexpr int share(int n) { return (n + F::params::headroom - 1) / F::params::headroom; }

  PIPPIN_HD static typename F::elem norm(const elem& a) {
    return F::add(F::sqr(a.c0), minus_u_squared(F::sqr(a.c1)));
  }
  PIPPIN_HD static elem over_norm(const elem& a, const typename F::elem& n) {
    return {F::mul(a.c0, n), F::neg(F::mul(a.c1, n))};
  }
};

}  // namespace pippin
