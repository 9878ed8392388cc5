// edwards.cuh: G1 of a curve y^2 = x^3 + 1 in twisted Edwards form
// -X^2 + Y^2 = 1 + d X^2 Y^2, for which an addition costs 7M (BLS12-377).
//
// Contract of the whole file
//   curve    C is a generated curve with te_ constants; F its base field
//   range    coordinates are F::elem; points of the subgroup of order r, for
//            which the formulas are complete: equal and opposite points and the
//            neutral element need no case of their own. Points of even order
//            have no such promise
//   neutral  (0, 1); as an affine point of the Weierstrass curve (0, 0)
//   domain   F's; aliasing operands and results are values; scope one thread
//   time     independent of data, but for to_weierstrass's inverse
//   cost     M and S are a product and a square in F; I an inverse
//   source   Hisil, Wong, Carter and Dawson 2008, with a = -1; the map from
//            Bernstein, Birkner, Joye, Lange and Peters 2008
#pragma once
#include "curve.cuh"

namespace pippin {

// niels is an affine point prepared for additions: Y - X, Y + X, 2 d X Y.
template <Field F>
struct niels {
  typename F::elem minus, plus, t2d;
};

// extended is the point (x/z, y/z) with t = x y / z.
template <Field F>
struct extended {
  typename F::elem x, y, t, z;
};

template <class C>
struct edwards {
  using F = prime_field<typename C::fp>;
  using elem = typename F::elem;

  // The constants of the map and of the curve, in Montgomery form. Cost: none.
  PIPPIN_HD static elem scale() {
    return detail::constant<F>([](int i) { return C::te_scale(i); });
  }
  PIPPIN_HD static elem x_factor() {
    return detail::constant<F>([](int i) { return C::te_x(i); });
  }
  PIPPIN_HD static elem two_d() {
    return detail::constant<F>([](int i) { return C::te_2d(i); });
  }

  // The neutral element. Cost: none.
  PIPPIN_HD static extended<F> neutral() { return {F::zero(), F::one(), F::zero(), F::one()}; }

  // What the map divides by: with u = s (x + 1), y (u + 1); 1 at infinity.
  // Not 0 in the subgroup. Cost: M.
  PIPPIN_HD static elem denominator(const affine<F>& p) {
    if (is_infinity(p)) return F::one();
    return F::mul(p.y, F::add(F::mul(scale(), F::add(p.x, F::one())), F::one()));
  }

  // The Edwards form of a Weierstrass point, inverse being 1/denominator(p):
  // X = k (x + 1) / y, Y = (u - 1) / (u + 1). Cost: 8M.
  PIPPIN_HD static niels<F> from_weierstrass(const affine<F>& p, const elem& inverse) {
    if (is_infinity(p)) return {F::one(), F::one(), F::zero()};
    const elem x1 = F::add(p.x, F::one()), u = F::mul(scale(), x1);
    const elem x = F::mul(F::mul(x_factor(), F::mul(x1, F::add(u, F::one()))), inverse);
    const elem y = F::mul(F::mul(F::sub(u, F::one()), p.y), inverse);
    return {F::sub(y, x), F::add(y, x), F::mul(F::mul(x, y), two_d())};
  }

  // The Weierstrass point: u/s = (z + y) / (s (z - y)), x = u/s - 1 and
  // y = k (u/s) z / x. Cost: 8M + I.
  PIPPIN_HD static affine<F> to_weierstrass(const extended<F>& p) {
    if (F::is_zero(p.x)) return affine_infinity<F>();
    const elem plus = F::add(p.z, p.y);
    const elem i = F::inv_fast(F::mul(F::mul(F::sub(p.z, p.y), p.x), scale()));
    const elem v = F::mul(plus, i);
    return {F::sub(F::mul(v, p.x), F::one()), F::mul(x_factor(), F::mul(v, p.z))};
  }

  // -p. Cost: one negation.
  PIPPIN_HD static niels<F> neg(const niels<F>& p) { return {p.plus, p.minus, F::neg(p.t2d)}; }
  PIPPIN_HD static extended<F> neg(const extended<F>& p) {
    return {F::neg(p.x), p.y, F::neg(p.t), p.z};
  }

  // a + b. Cost: 7M.
  PIPPIN_HD static extended<F> add(const extended<F>& a, const niels<F>& b) {
    return combine(F::mul(F::sub(a.y, a.x), b.minus), F::mul(F::add(a.y, a.x), b.plus),
                   F::mul(a.t, b.t2d), F::dbl(a.z));
  }

  // a + b. Cost: 9M.
  PIPPIN_HD static extended<F> add(const extended<F>& a, const extended<F>& b) {
    return combine(F::mul(F::sub(a.y, a.x), F::sub(b.y, b.x)),
                   F::mul(F::add(a.y, a.x), F::add(b.y, b.x)),
                   F::mul(F::mul(a.t, two_d()), b.t), F::dbl(F::mul(a.z, b.z)));
  }

  // 2p. Cost: 4M + 4S.
  PIPPIN_HD static extended<F> dbl(const extended<F>& p) {
    const elem xx = F::sqr(p.x), yy = F::sqr(p.y), zz2 = F::dbl(F::sqr(p.z));
    const elem e = F::sub(F::sub(F::sqr(F::add(p.x, p.y)), xx), yy);
    const elem g = F::sub(yy, xx), h = F::neg(F::add(xx, yy)), f = F::sub(g, zz2);
    return {F::mul(e, f), F::mul(g, h), F::mul(e, h), F::mul(f, g)};
  }

 private:
  // The end of an addition from A, B, C and D of the paper. Cost: 4M.
  PIPPIN_HD static extended<F> combine(const elem& a, const elem& b, const elem& c,
                                       const elem& d) {
    const elem e = F::sub(b, a), f = F::sub(d, c), g = F::add(d, c), h = F::add(b, a);
    return {F::mul(e, f), F::mul(g, h), F::mul(e, h), F::mul(f, g)};
  }
};

// Prepared points in memory, 3 F::words words, canonical.
template <Field F>
PIPPIN_HD niels<F> load_niels(const uint32_t* src) {
  return {F::load(src), F::load(src + F::words), F::load(src + 2 * F::words)};
}
template <Field F>
PIPPIN_HD void store_niels(uint32_t* dst, const niels<F>& p) {
  F::store(dst, p.minus);
  F::store(dst + F::words, p.plus);
  F::store(dst + 2 * F::words, p.t2d);
}

// Intermediate sums in memory, 4 F::words words, raw representatives.
template <Field F>
PIPPIN_HD extended<F> load_extended(const uint32_t* src) {
  constexpr int w = F::words;
  return {F::load_raw(src), F::load_raw(src + w), F::load_raw(src + 2 * w),
          F::load_raw(src + 3 * w)};
}
template <Field F>
PIPPIN_HD void store_extended_raw(uint32_t* dst, const extended<F>& p) {
  constexpr int w = F::words;
  F::store_raw(dst, p.x);
  F::store_raw(dst + w, p.y);
  F::store_raw(dst + 2 * w, p.t);
  F::store_raw(dst + 3 * w, p.z);
}

}  // namespace pippin
