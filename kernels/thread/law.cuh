// law.cuh: all that a kernel that adds up points must know of them. A law is a policy that the
// kernels of grid/msm take at compile time (group.cuh): points as they are stored, sums, the
// addition and its slow path, and how both lie in memory. xyzz_law is the law of short
// Weierstrass curves. edwards_law is that of their twisted Edwards form, for curves that have
// one.
//
// Contract of every law L, for a field F
//   range    L::point is a stored point on its way to an addition, L::sum a sum
//            of points; any two may be added. Memory of zeros is the empty sum
//   order    point_words, sum_words, result_words of 32 bits in memory; sums in
//            representatives that only kernels of this law read, points and
//            results as the host has them
//   aliasing add's operands are different objects
//   points   edwards_law is for points of odd order, the subgroup of order r: for
//            others it gives some point of the curve
//   scope    one thread
#pragma once
#include <concepts>

#include "edwards.cuh"
#include "outlined.cuh"

namespace pippin {

template <class L>
concept Law = requires(typename L::sum& s, const typename L::sum& t, const typename L::point& p,
                       uint32_t* dst, const uint32_t* src, bool minus) {
  { L::load(src) } -> std::same_as<typename L::point>;
  { L::neg_if(minus, p) } -> std::same_as<typename L::point>;  // minus ? -p : p
  { L::load_sum(src) } -> std::same_as<typename L::sum>;
  { L::store_sum(dst, t) };
  { L::store_result(dst, t) };
  { L::zero() } -> std::same_as<typename L::sum>;
  { L::add(s, p, [] {}) };            // s += p; calls its operand instead where s = p is too rare to be fast
  { L::add_equal(dst, src, minus) };  // then: stores the sum p + p of the point at src
  { L::add(s, t) } -> std::same_as<void>;
} && L::point_words > 0 && L::sum_words > 0 && L::result_words > 0;

// xyzz_law adds affine points to sums in XYZZ coordinates and gives Jacobian results. Slow is
// the same field, for the slow path. Cost: add takes 8M + 2S for a point, 12M + 2S for a sum.
template <Field F, Field Slow = F>
struct xyzz_law {
  using point = affine<F>;
  using sum = xyzz<F>;
  static constexpr int point_words = 2 * F::words, sum_words = 4 * F::words, result_words = 3 * F::words;

  PIPPIN_HD static point load(const uint32_t* src) { return load_affine<F>(src); }
  PIPPIN_HD static point neg_if(bool which, const point& p) { return pippin::neg_if(which, p); }
  PIPPIN_HD static sum load_sum(const uint32_t* src) { return load_xyzz<F>(src); }
  PIPPIN_HD static void store_sum(uint32_t* dst, const sum& s) { store_xyzz_raw(dst, s); }
  PIPPIN_HD static void store_result(uint32_t* dst, const sum& s) { store_jacobian(dst, to_jacobian(s)); }

  PIPPIN_HD static sum zero() { return xyzz_infinity<F>(); }
  template <class Equal>
  PIPPIN_HD static void add(sum& s, const point& p, const Equal& equal) {
    add_to(s, p, equal);
  }
  // It happens when a base repeats. Its operands go through memory, so that it costs the loop
  // around add no registers.
  PIPPIN_CALLED static void add_equal(uint32_t* dst, const uint32_t* src, bool minus) {
    store_xyzz_raw(dst, pippin::dbl(pippin::neg_if(minus, load_affine<Slow>(src))));
  }
  PIPPIN_HD static void add(sum& s, const sum& t) { s = pippin::add(s, t); }
};

// edwards_law adds points prepared as niels, canonical, to sums in extended coordinates and
// gives Jacobian results of the Weierstrass curve. Equal points need no special case.
// Cost: add takes 7M for a point, 9M for a sum.
template <class C, class Of = prime_field<typename C::fp>>
struct edwards_law {
  using E = edwards<C, Of>;
  using F = typename E::F;
  struct point {
    const uint32_t* src;
    bool minus;
  };
  using sum = extended<F>;
  static constexpr int point_words = 3 * F::words, sum_words = 4 * F::words, result_words = 3 * F::words;

  PIPPIN_HD static point load(const uint32_t* src) { return {src, false}; }
  PIPPIN_HD static point neg_if(bool which, const point& p) { return {p.src, which != p.minus}; }
  // z is 0 only in memory of zeros.
  PIPPIN_HD static sum load_sum(const uint32_t* src) {
    sum s = load_extended<F>(src);
    const bool none = mp::is_zero(s.z.v);
    s.y = F::select(none, F::one(), s.y);
    s.z = F::select(none, F::one(), s.z);
    return s;
  }
  PIPPIN_HD static void store_sum(uint32_t* dst, const sum& s) { store_extended_raw(dst, s); }
  PIPPIN_HD static void store_result(uint32_t* dst, const sum& s) {
    using Cold = edwards<C, outlined<prime_field<typename C::fp>>>;
    store_jacobian(dst, Cold::to_jacobian({s.x, s.y, s.t, s.z}));
  }

  PIPPIN_HD static sum zero() { return E::neutral(); }
  // In the negative, Y - X and Y + X are exchanged, and 2dXY becomes p - 2dXY. Coordinates are
  // loaded where they are needed, because the sum and a product leave few registers.
  template <class Equal>
  PIPPIN_HD static void add(sum& s, const point& p, const Equal&) {
    const int exchanged = p.minus ? F::words : 0;
    niels<F> q = {F::load(p.src + exchanged), F::load(p.src + F::words - exchanged), F::load(p.src + 2 * F::words)};
    mp::num<F::words> t;
    carry::sub_fit<F::words>(t.w, multiple<typename F::params, 1>{}, q.t2d.v);
    q.t2d.v = mp::select(p.minus, t, q.t2d.v);
    s = E::add(s, q);
  }
  PIPPIN_HD static void add_equal(uint32_t*, const uint32_t*, bool) {}  // never called
  PIPPIN_HD static void add(sum& s, const sum& t) { s = E::add(s, t); }
};

}  // namespace pippin
