// edwards.cuh: G1 of a curve y^2 = x^3 + 1 in twisted Edwards form
// -X^2 + Y^2 = 1 + d X^2 Y^2, for which an addition costs 7M (BLS12-377).
//
// Contract of the whole file
//   curve    C is a generated curve with te_ constants; F its base field, or that
//            field outlined
//   range    coordinates are F::elem, below 2p. Between the products of a sum
//            values are wider, as their types say, and never reduced: at most 8p.
//            The bounds of a product's operands may multiply to 152
//   points   of odd order (the subgroup of order r). For them the formulas are
//            complete: equal points, opposite points and the neutral element need
//            no special case. With points of even order a sum may be no point of
//            the curve; to_jacobian then gives infinity
//   neutral  (0, 1); as an affine point of the Weierstrass curve (0, 0)
//   domain   F's; aliasing operands and results are values; scope one thread
//   time     independent of data, but for branches on the neutral element in maps
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

template <class C, Field Of = prime_field<typename C::fp>>
struct edwards {
  using F = Of;
  using elem = typename F::elem;
  template <int M>
  using wide = fe<typename C::fp, M>;

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

  // What from_weierstrass divides by: y (u + 1), with u = s (x + 1). It is 1 at infinity, and
  // at points of even order that have no Edwards form. Cost: M.
  PIPPIN_HD static elem denominator(const affine<F>& p) {
    const elem d = F::mul(p.y, F::add(F::mul(scale(), F::add(p.x, F::one())), F::one()));
    return F::is_zero(d) ? F::one() : d;
  }

  // The Edwards form of a Weierstrass point, given inverse = 1/denominator(p): X = k
  // (x + 1) / y, Y = (u - 1) / (u + 1). It is the neutral element if there is none. Cost: 9M.
  PIPPIN_HD static niels<F> from_weierstrass(const affine<F>& p, const elem& inverse) {
    const elem x1 = F::add(p.x, F::one()), u = F::mul(scale(), x1), u1 = F::add(u, F::one());
    if (F::is_zero(p.y) || F::is_zero(u1)) return {F::one(), F::one(), F::zero()};
    const elem x = F::mul(F::mul(x_factor(), F::mul(x1, u1)), inverse);
    return prepared(x, F::mul(F::mul(F::sub(u, F::one()), p.y), inverse));
  }
  // The point (x, y), prepared. Cost: 2M.
  PIPPIN_HD static niels<F> prepared(const elem& x, const elem& y) {
    return {F::sub(y, x), F::add(y, x), F::mul(F::mul(x, y), two_d())};
  }

  // The Weierstrass point: u/s = (z + y) / (s (z - y)), x = u/s - 1 and
  // y = k (u/s) z / x. Cost: 7M + I.
  PIPPIN_HD static affine<F> to_weierstrass(const extended<F>& p) {
    if (F::is_zero(p.x)) return affine_infinity<F>();
    const elem plus = F::add(p.z, p.y);
    const elem i = F::inv(F::mul(F::mul(F::sub(p.z, p.y), p.x), scale()));
    const elem v = F::mul(plus, i);
    return {F::sub(F::mul(v, p.x), F::one()), F::mul(x_factor(), F::mul(v, p.z))};
  }

  // The same as a Jacobian point, on the common denominator w = s (z - y) x. It is infinity if
  // p is no point of the curve. Cost: 9M + 4S.
  PIPPIN_HD static jacobian<F> to_jacobian(const extended<F>& p) {
    const elem plus = F::add(p.z, p.y), v = F::mul(scale(), F::sub(p.z, p.y));
    const elem w = F::mul(v, p.x), ww = F::sqr(w);
    const elem x = F::mul(F::sub(plus, v), F::mul(w, p.x));
    const elem y = F::mul(F::mul(x_factor(), plus), F::mul(p.z, ww));
    const elem right = F::add(F::mul(F::sqr(x), x), F::mul(F::sqr(ww), ww));
    if (F::is_zero(w) || !F::eq(F::sqr(y), right)) return jacobian_infinity<F>();
    return {x, y, w};
  }

  // A prepared point as an extended one, with z = 4, from 2X and 2Y. Cost: M.
  PIPPIN_HD static extended<F> to_extended(const niels<F>& p) {
    const elem x = F::sub(p.plus, p.minus), y = F::add(p.plus, p.minus);
    return {F::dbl(x), F::dbl(y), F::mul(x, y), F::dbl(F::dbl(F::one()))};
  }

  // -p. Cost: one negation.
  PIPPIN_HD static niels<F> neg(const niels<F>& p) { return {p.plus, p.minus, F::neg(p.t2d)}; }
  PIPPIN_HD static extended<F> neg(const extended<F>& p) {
    return {F::neg(p.x), p.y, F::neg(p.t), p.z};
  }

  // a + b. Cost: 7M.
  PIPPIN_HD static extended<F> add(const extended<F>& a, const niels<F>& b) {
    return combine(F::product(sub_lazy(a.y, a.x), b.minus), F::product(add_lazy(a.y, a.x), b.plus),
                   F::mul(a.t, b.t2d), add_lazy(a.z, a.z));
  }

  // a + b. Cost: 9M.
  PIPPIN_HD static extended<F> add(const extended<F>& a, const extended<F>& b) {
    const elem zz = F::mul(a.z, b.z);
    return combine(F::product(sub_lazy(a.y, a.x), sub_lazy(b.y, b.x)),
                   F::product(add_lazy(a.y, a.x), add_lazy(b.y, b.x)),
                   F::mul(F::mul(a.t, two_d()), b.t), add_lazy(zz, zz));
  }

  // 2p, with the paper's E, F, G and H all negated. Cost: 4M + 4S.
  PIPPIN_HD static extended<F> dbl(const extended<F>& p) {
    const elem xx = F::sqr(p.x), yy = F::sqr(p.y), zz = F::sqr(p.z);
    const wide<4> h = add_lazy(xx, yy), g = sub_lazy(xx, yy);
    const wide<6> e = sub_lazy(h, sqr(add_lazy(p.x, p.y)));
    const wide<8> f = add_lazy(add_lazy(zz, zz), g);
    return {F::product(e, f), F::product(g, h), F::product(e, h), F::product(f, g)};
  }

 private:
  // The end of an addition, from the paper's A, B, C and D. Cost: 4M.
  PIPPIN_HD static extended<F> combine(const elem& a, const elem& b, const elem& c,
                                       const wide<4>& d) {
    const wide<4> e = sub_lazy(b, a), h = add_lazy(b, a);
    const wide<6> f = sub_lazy(d, c), g = add_lazy(d, c);
    // In this order each product is the last use of one factor.
    const elem x = F::product(e, f), t = F::product(e, h), y = F::product(g, h), z = F::product(f, g);
    return {x, y, t, z};
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
