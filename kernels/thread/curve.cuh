// curve.cuh: points of y^2 = x^3 + b over a Field F, in affine, XYZZ and Jacobian
// coordinates. Every function is complete: equal points, opposite points and
// infinity give the right sum.
//
// Contract of the whole file
//   range    coordinates are F::elem; points lie on the curve
//   order    in memory the coordinates in the order of the struct, F::words each
//   domain   F's (Montgomery form for prime_field)
//   infinity affine (0, 0), which is on none of the curves; XYZZ with zz = 0;
//            Jacobian with z = 0. The other coordinates then mean nothing
//   aliasing operands and results are values
//   time     branches on infinity and on equal x, rare on random input
//   scope    one thread
//   cost     M and S are a product and a square in F; I an inverse
//   source   XYZZ: Sutherland's formulas in the Explicit-Formulas Database
//            (g1p-shortw-xyzz), a = 0; Jacobian: EFD (g1p-shortw-jacobian-0)
#pragma once
#include "fp2.cuh"

namespace pippin {

// affine is a point (x, y).
template <Field F>
struct affine {
  typename F::elem x, y;
};

// xyzz is the point (x/zz, y/zzz) with zz^3 = zzz^2.
template <Field F>
struct xyzz {
  typename F::elem x, y, zz, zzz;
};

// jacobian is the point (x/z^2, y/z^3).
template <Field F>
struct jacobian {
  typename F::elem x, y, z;
};

// The point at infinity. Cost: none.
template <Field F>
PIPPIN_HD affine<F> affine_infinity() {
  return {F::zero(), F::zero()};
}
template <Field F>
PIPPIN_HD xyzz<F> xyzz_infinity() {
  return {F::zero(), F::zero(), F::zero(), F::zero()};
}
template <Field F>
PIPPIN_HD jacobian<F> jacobian_infinity() {
  return {F::one(), F::one(), F::zero()};
}

// Whether p is the point at infinity. Cost: comparisons.
template <Field F>
PIPPIN_HD bool is_infinity(const affine<F>& p) {
  return F::is_zero(p.x) && F::is_zero(p.y);
}
template <Field F>
PIPPIN_HD bool is_infinity(const xyzz<F>& p) {
  return F::is_zero(p.zz);
}
template <Field F>
PIPPIN_HD bool is_infinity(const jacobian<F>& p) {
  return F::is_zero(p.z);
}

// Whether p is infinity or satisfies y^2 = x^3 + b. Cost: M + 2S.
template <Field F>
PIPPIN_HD bool is_on_curve(const affine<F>& p, const typename F::elem& b) {
  return is_infinity(p) || F::eq(F::sqr(p.y), F::add(F::mul(F::sqr(p.x), p.x), b));
}

// -p. Cost: one negation.
template <Field F>
PIPPIN_HD affine<F> neg(const affine<F>& p) {
  return {p.x, F::neg(p.y)};
}
template <Field F>
PIPPIN_HD xyzz<F> neg(const xyzz<F>& p) {
  return {p.x, F::neg(p.y), p.zz, p.zzz};
}
template <Field F>
PIPPIN_HD jacobian<F> neg(const jacobian<F>& p) {
  return {p.x, F::neg(p.y), p.z};
}

// which ? -p : p, the step of a signed digit. Cost: one negation, a select.
template <Field F>
PIPPIN_HD affine<F> neg_if(bool which, const affine<F>& p) {
  return {p.x, F::select(which, F::neg(p.y), p.y)};
}

// p in other coordinates. Cost: none, 0, or as said.
template <Field F>
PIPPIN_HD xyzz<F> to_xyzz(const affine<F>& p) {
  const typename F::elem z = F::select(is_infinity(p), F::zero(), F::one());
  return {p.x, p.y, z, z};
}
template <Field F>
PIPPIN_HD jacobian<F> to_jacobian(const affine<F>& p) {
  return is_infinity(p) ? jacobian_infinity<F>() : jacobian<F>{p.x, p.y, F::one()};
}
// In Jacobian coordinates with z = zzz: x' = x zz^2, y' = y zzz^2. Cost: 2M + 2S.
template <Field F>
PIPPIN_HD jacobian<F> to_jacobian(const xyzz<F>& p) {
  return {F::mul(p.x, F::sqr(p.zz)), F::mul(p.y, F::sqr(p.zzz)), p.zzz};
}
// With 1/zz = (zz/zzz)^2. Infinity becomes (0, 0), because inv gives 0 for 0. Cost: 3M + S + I.
template <Field F>
PIPPIN_HD affine<F> to_affine(const xyzz<F>& p) {
  const auto i = F::inv(p.zzz);
  return {F::mul(p.x, F::sqr(F::mul(p.zz, i))), F::mul(p.y, i)};
}
// Cost: 3M + S + I.
template <Field F>
PIPPIN_HD affine<F> to_affine(const jacobian<F>& p) {
  const auto i = F::inv(p.z), i2 = F::sqr(i);
  return {F::mul(p.x, i2), F::mul(p.y, F::mul(i2, i))};
}

// 2p of an affine point. Cost: 3M + 3S.
template <Field F>
PIPPIN_HD xyzz<F> dbl(const affine<F>& p) {
  const auto u = F::dbl(p.y), v = F::sqr(u), w = F::mul(u, v), s = F::mul(p.x, v);
  const auto xx = F::sqr(p.x), m = F::add(F::dbl(xx), xx);
  const auto x = F::sub(F::sqr(m), F::dbl(s));
  return {x, F::mul_sub(m, F::sub(s, x), w, p.y), v, w};
}

// 2p. Cost: 6M + 3S.
template <Field F>
PIPPIN_HD xyzz<F> dbl(const xyzz<F>& p) {
  const xyzz<F> r = dbl(affine<F>{p.x, p.y});
  return {r.x, r.y, F::mul(r.zz, p.zz), F::mul(r.zzz, p.zzz)};
}

namespace detail {
// The end of an addition, from q = x1 h^2, y1, h^3 and r = y2 - y1. x1 and y1 are the first
// point's on the common denominator, and h = x2 - x1. Cost: 2M + S.
template <Field F>
PIPPIN_HD affine<F> chord_sum(const typename F::elem& q, const typename F::elem& y1,
                              const typename F::elem& hhh, const typename F::elem& r) {
  const auto x = F::sub(F::sub(F::sqr(r), hhh), F::dbl(q));
  return {x, F::mul_sub(r, F::sub(q, x), y1, hhh)};
}

// The XYZZ sum from the same values; zz and zzz are the common denominators. The products are
// in an order in which each can take the place of an operand that is no longer needed; the
// compiler keeps that order. Cost: 6M + 2S.
template <Field F>
PIPPIN_HD xyzz<F> add_tail(const typename F::elem& x1, const typename F::elem& y1,
                           const typename F::elem& h, const typename F::elem& r,
                           const typename F::elem& zz, const typename F::elem& zzz) {
  const auto hh = F::sqr(h), new_zz = F::mul(zz, hh), q = F::mul(x1, hh);
  const auto hhh = F::mul(h, hh), new_zzz = F::mul(zzz, hhh);
  const affine<F> s = chord_sum<F>(q, y1, hhh, r);
  return {s.x, s.y, new_zz, new_zzz};
}
}  // namespace detail

// a += b, the step of a bucket sum. If a = b it calls equal() and leaves a to it, so that a
// loop may have a slow path for this case. Cost: 8M + 2S.
template <Field F, class Equal>
PIPPIN_HD void add_to(xyzz<F>& a, const affine<F>& b, const Equal& equal) {
  if (is_infinity(b)) return;
  if (is_infinity(a)) {
    a = {b.x, b.y, F::one(), F::one()};
    return;
  }
  const auto h = F::sub(F::mul(b.x, a.zz), a.x), r = F::sub(F::mul(b.y, a.zzz), a.y);
  if (F::is_zero(h)) {
    if (F::is_zero(r)) {
      equal();
    } else {
      a = xyzz_infinity<F>();
    }
    return;
  }
  a = detail::add_tail<F>(a.x, a.y, h, r, a.zz, a.zzz);
}

// a + b. Cost: 8M + 2S. If a = b it doubles b and not a: to double a, with its denominators,
// would need the most registers of all.
template <Field F>
PIPPIN_HD xyzz<F> add(const xyzz<F>& a, const affine<F>& b) {
  xyzz<F> sum = a;
  add_to(sum, b, [&] { sum = dbl(b); });
  return sum;
}

// a + b. If a = b it doubles. Cost: 12M + 2S.
template <Field F>
PIPPIN_HD xyzz<F> add(const xyzz<F>& a, const xyzz<F>& b) {
  if (is_infinity(b)) return a;
  if (is_infinity(a)) return b;
  const auto x1 = F::mul(a.x, b.zz), y1 = F::mul(a.y, b.zzz);
  const auto h = F::sub(F::mul(b.x, a.zz), x1), r = F::sub(F::mul(b.y, a.zzz), y1);
  if (F::is_zero(h)) return F::is_zero(r) ? dbl(a) : xyzz_infinity<F>();
  return detail::add_tail<F>(x1, y1, h, r, F::mul(a.zz, b.zz), F::mul(a.zzz, b.zzz));
}

// 2p. Cost: 2M + 5S. Source: EFD dbl-2009-l.
template <Field F>
PIPPIN_HD jacobian<F> dbl(const jacobian<F>& p) {
  const auto xx = F::sqr(p.x), yy = F::sqr(p.y), yyyy = F::sqr(yy);
  const auto s = F::dbl(F::sub(F::sub(F::sqr(F::add(p.x, yy)), xx), yyyy));
  const auto m = F::add(F::dbl(xx), xx);
  const auto x = F::sub(F::sqr(m), F::dbl(s));
  const auto y = F::sub(F::mul(m, F::sub(s, x)), F::dbl(F::dbl(F::dbl(yyyy))));
  return {x, y, F::dbl(F::mul(p.y, p.z))};
}

namespace detail {
// The Jacobian sum from the same values; z is the product of the denominators. Cost: 5M + 2S.
template <Field F>
PIPPIN_HD jacobian<F> add_jacobian_tail(const typename F::elem& x1, const typename F::elem& y1,
                                        const typename F::elem& h, const typename F::elem& r,
                                        const typename F::elem& z) {
  const auto hh = F::sqr(h), q = F::mul(x1, hh), hhh = F::mul(h, hh);
  const affine<F> s = chord_sum<F>(q, y1, hhh, r);
  return {s.x, s.y, F::mul(z, h)};
}
}  // namespace detail

// a + b. If a = b it doubles. Cost: 8M + 3S. Source: EFD madd-2004-hmv.
template <Field F>
PIPPIN_HD jacobian<F> add(const jacobian<F>& a, const affine<F>& b) {
  if (is_infinity(b)) return a;
  if (is_infinity(a)) return {b.x, b.y, F::one()};
  const auto zz = F::sqr(a.z);
  const auto h = F::sub(F::mul(b.x, zz), a.x);
  const auto r = F::sub(F::mul(b.y, F::mul(zz, a.z)), a.y);
  if (F::is_zero(h)) return F::is_zero(r) ? dbl(a) : jacobian_infinity<F>();
  return detail::add_jacobian_tail<F>(a.x, a.y, h, r, a.z);
}

// a + b. If a = b it doubles. Cost: 12M + 4S. Source: EFD add-1998-cmo-2.
template <Field F>
PIPPIN_HD jacobian<F> add(const jacobian<F>& a, const jacobian<F>& b) {
  if (is_infinity(b)) return a;
  if (is_infinity(a)) return b;
  const auto za = F::sqr(a.z), zb = F::sqr(b.z);
  const auto x1 = F::mul(a.x, zb), y1 = F::mul(a.y, F::mul(zb, b.z));
  const auto h = F::sub(F::mul(b.x, za), x1), r = F::sub(F::mul(b.y, F::mul(za, a.z)), y1);
  if (F::is_zero(h)) return F::is_zero(r) ? dbl(a) : jacobian_infinity<F>();
  return detail::add_jacobian_tail<F>(x1, y1, h, r, F::mul(a.z, b.z));
}

// Whether a and b are the same point. Cost: 4M at most.
template <Field F>
PIPPIN_HD bool eq(const affine<F>& a, const affine<F>& b) {
  return F::eq(a.x, b.x) && F::eq(a.y, b.y);
}
template <Field F>
PIPPIN_HD bool eq(const xyzz<F>& a, const xyzz<F>& b) {
  if (is_infinity(a) || is_infinity(b)) return is_infinity(a) && is_infinity(b);
  return F::eq(F::mul(a.x, b.zz), F::mul(b.x, a.zz)) &&
         F::eq(F::mul(a.y, b.zzz), F::mul(b.y, a.zzz));
}

// Affine additions with a shared inverse. chord_denominator is what a + b divides by:
// x_b - x_a, or 2 y_a if the points are equal, or 1 if nothing is divided (one is infinity, or
// b = -a). It is never 0. add_with takes its inverse. Cost: comparisons and an addition.
template <Field F>
PIPPIN_HD typename F::elem chord_denominator(const affine<F>& a, const affine<F>& b) {
  if (is_infinity(a) || is_infinity(b)) return F::one();
  const auto dx = F::sub(b.x, a.x);
  if (!F::is_zero(dx)) return dx;
  return F::is_zero(F::add(a.y, b.y)) ? F::one() : F::dbl(a.y);
}

// a + b, given inverse = 1/chord_denominator(a, b). Cost: 2M + S, and another S to double.
template <Field F>
PIPPIN_HD affine<F> add_with(const affine<F>& a, const affine<F>& b,
                             const typename F::elem& inverse) {
  if (is_infinity(a)) return b;
  if (is_infinity(b)) return a;
  auto rise = F::sub(b.y, a.y);
  if (F::is_zero(F::sub(b.x, a.x))) {
    if (F::is_zero(F::add(a.y, b.y))) return affine_infinity<F>();
    const auto xx = F::sqr(a.x);
    rise = F::add(F::dbl(xx), xx);
  }
  const auto slope = F::mul(rise, inverse);
  const auto x = F::sub(F::sub(F::sqr(slope), a.x), b.x);
  return {x, F::sub(F::mul(slope, F::sub(a.x, x)), a.y)};
}

// Replaces x[i] by 1/x[i] for i < K with one inverse. No x[i] may be 0. Cost: 3(K-1) M + I.
// Source: Montgomery 1987.
template <Field F, int K>
PIPPIN_HD void batch_inverse(typename F::elem (&x)[K]) {
  typename F::elem prefix[K];
  prefix[0] = x[0];
  PIPPIN_UNROLL
  for (int i = 1; i < K; i++) prefix[i] = F::mul(prefix[i - 1], x[i]);
  typename F::elem rest = F::inv(prefix[K - 1]);
  PIPPIN_UNROLL
  for (int i = K - 1; i > 0; i--) {
    const typename F::elem next = F::mul(rest, x[i]);
    x[i] = F::mul(rest, prefix[i - 1]);
    rest = next;
  }
  x[0] = rest;
}

// Points in memory, gnark-crypto's G1Affine and G2Affine: 2 F::words words.
// Alignment: F's. Cost: the words.
template <Field F>
PIPPIN_HD affine<F> load_affine(const uint32_t* src) {
  return {F::load(src), F::load(src + F::words)};
}
template <Field F>
PIPPIN_HD void store_affine(uint32_t* dst, const affine<F>& p) {
  F::store(dst, p.x);
  F::store(dst + F::words, p.y);
}

// Intermediate sums in memory, 4 F::words words. raw keeps the representatives, and kernels of
// one backend exchange it. store writes canonical ones, the layout of gnark-crypto's extended
// Jacobian coordinates.
template <Field F>
PIPPIN_HD xyzz<F> load_xyzz(const uint32_t* src) {
  constexpr int w = F::words;
  return {F::load_raw(src), F::load_raw(src + w), F::load_raw(src + 2 * w),
          F::load_raw(src + 3 * w)};
}
template <Field F>
PIPPIN_HD void store_xyzz_raw(uint32_t* dst, const xyzz<F>& p) {
  constexpr int w = F::words;
  F::store_raw(dst, p.x);
  F::store_raw(dst + w, p.y);
  F::store_raw(dst + 2 * w, p.zz);
  F::store_raw(dst + 3 * w, p.zzz);
}
template <Field F>
PIPPIN_HD void store_xyzz(uint32_t* dst, const xyzz<F>& p) {
  constexpr int w = F::words;
  F::store(dst, p.x);
  F::store(dst + w, p.y);
  F::store(dst + 2 * w, p.zz);
  F::store(dst + 3 * w, p.zzz);
}

// Jacobian points in memory, gnark-crypto's G1Jac and G2Jac: 3 F::words words.
template <Field F>
PIPPIN_HD jacobian<F> load_jacobian(const uint32_t* src) {
  return {F::load(src), F::load(src + F::words), F::load(src + 2 * F::words)};
}
template <Field F>
PIPPIN_HD void store_jacobian(uint32_t* dst, const jacobian<F>& p) {
  F::store(dst, p.x);
  F::store(dst + F::words, p.y);
  F::store(dst + 2 * F::words, p.z);
}

// The groups of a generated curve C of kernels/curves.
namespace detail {
template <class C, int USquared = C::u_squared>
struct twist_field {
  using type = fp2<prime_field<typename C::fp>, USquared>;
};
template <class C>
struct twist_field<C, 0> {
  using type = prime_field<typename C::fp>;
};
// An element whose limbs a function gives.
template <class F, class W>
PIPPIN_HD typename F::elem constant(const W& limb) {
  typename F::elem r;
  PIPPIN_UNROLL
  for (int i = 0; i < F::words; i++) r.v[i] = limb(i);
  return r;
}
}  // namespace detail

// g1<C> and g2<C>: the field of the coordinates, the field of the scalars, the coefficient b
// and gnark-crypto's generator.
template <class C>
struct g1 {
  using curve = C;
  using field = prime_field<typename C::fp>;
  using scalar = prime_field<typename C::fr>;
  PIPPIN_HD static typename field::elem b() {
    return detail::constant<field>([](int i) { return C::g1_b(i); });
  }
  PIPPIN_HD static affine<field> generator() {
    return {detail::constant<field>([](int i) { return C::g1_x(i); }),
            detail::constant<field>([](int i) { return C::g1_y(i); })};
  }
};
template <class C>
struct g2 {
  using curve = C;
  using field = typename detail::twist_field<C>::type;
  using scalar = prime_field<typename C::fr>;
  PIPPIN_HD static typename field::elem b() {
    if constexpr (C::u_squared == 0) {
      return detail::constant<field>([](int i) { return C::g2_b(i); });
    } else {
      using base = typename field::base;
      return {detail::constant<base>([](int i) { return C::g2_b_0(i); }),
              detail::constant<base>([](int i) { return C::g2_b_1(i); })};
    }
  }
  PIPPIN_HD static affine<field> generator() {
    if constexpr (C::u_squared == 0) {
      return {detail::constant<field>([](int i) { return C::g2_x(i); }),
              detail::constant<field>([](int i) { return C::g2_y(i); })};
    } else {
      using base = typename field::base;
      return {{detail::constant<base>([](int i) { return C::g2_x_0(i); }),
               detail::constant<base>([](int i) { return C::g2_x_1(i); })},
              {detail::constant<base>([](int i) { return C::g2_y_0(i); }),
               detail::constant<base>([](int i) { return C::g2_y_1(i); })}};
    }
  }
};

}  // namespace pippin
