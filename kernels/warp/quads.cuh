// quads.cuh: sums of points by four lanes, a coordinate to each. Products of a formula
// that do not wait for each other are computed side by side: an addition waits for 4 of
// its 14 products, in Edwards form for 3 of 9. It takes somewhat more of the multipliers
// than an addition in one thread, so it is for trees that have fewer sums than the device
// has threads.
//
// Contract of the whole file
//   scope    one warp; every lane of it calls, with the same control flow. Lanes 4q to
//            4q + 3 are a quad
//   range    a lane has coordinate lane % 4 of a sum of the law, in the order of memory;
//            any two sums may be added
//   time     as the law's: a branch on equal points, rare on random input
//   source   that of the law's formulas, see thread/curve.cuh and thread/edwards.cuh
#pragma once
#include "../thread/law.cuh"
#include "objects.cuh"

namespace pippin::warp {

// xyzz_quad has sums of xyzz_law: x, y, zz, zzz. Cold is the same field for the slow path.
template <Field F, Field Cold>
struct xyzz_quad {
  using elem = typename F::elem;

  // The coordinate of the sum of none. Cost: none.
  static __device__ __forceinline__ elem zero(uint32_t) { return F::zero(); }

  // A coordinate in memory. Cost: the words.
  static __device__ __forceinline__ elem load(const uint32_t* sum, uint32_t lane) { return F::load_raw(sum + lane % 4 * F::words); }

  // a + b. Cost: 4M, one after the other.
  //
  //   lane     0             1             2            3
  //   t        x_a zz_b      y_a zzz_b     zz_a x_b     zzz_a y_b
  //   d        h = t2 - t0   r = t3 - t1   h            r
  //   u        h^2           r^2           zz_a zz_b    zzz_a zzz_b
  //   v        q = t0 u0     h^3           zz           h^3
  //   w        t1 v1         r (q - x)     .            zzz            x = u1 - v1 - 2q
  static __device__ __forceinline__ elem add(const elem& a, const elem& b, uint32_t lane) {
    const uint32_t k = lane % 4, quad = lane - k;
    const bool odd = (k & 1) != 0, high = (k & 2) != 0;
    const elem t = F::mul(a, object_from(b, lane ^ 2)), t_across = object_from(t, lane ^ 2);
    const elem d = F::sub(F::select(high, t, t_across), F::select(high, t_across, t));
    const uint32_t no_a = __ballot_sync(all, F::is_zero(a)) >> (quad + 2), no_b = __ballot_sync(all, F::is_zero(b)) >> (quad + 2);
    const uint32_t same = __ballot_sync(all, F::is_zero(d)) >> quad;
    const bool equal = (no_a & 1) == 0 && (no_b & 1) == 0 && (same & 3) == 3;

    const elem u = F::mul(F::select(high, a, d), F::select(high, b, d));
    const elem d_beside = object_from(d, lane ^ 1);
    const elem v = F::mul(F::select(odd, d_beside, F::select(high, u, t)), object_from(u, quad));
    const elem q = object_from(v, quad), x = F::sub(F::sub(u, v), F::dbl(q));
    const elem t_beside = object_from(t, lane ^ 1), v_beside = object_from(v, lane ^ 1);
    const elem left = F::select(high, u, F::select(odd, d, t_beside));
    const elem right = F::select(high, v, F::select(odd, F::sub(q, x), v_beside));
    const elem w = F::mul(left, right), w_beside = object_from(w, lane ^ 1), x_beside = object_from(x, lane ^ 1);
    elem sum = F::select(high, F::select(odd, w, v), F::select(odd, F::sub(w, w_beside), x_beside));
    sum = F::select((no_b & 1) != 0, a, sum);
    sum = F::select((no_a & 1) != 0, b, sum);
    // A branch of the whole warp.
    if (__ballot_sync(all, equal) != 0) sum = F::select(equal, doubled(a, lane), sum);
    return sum;
  }

  // 2 a. Cost: 3M, one after the other.
  //
  //   lane     0            1            2         3
  //   t        x^2          v = (2y)^2   .         .
  //   u        m^2          w = 2y v     zz v      s = x v      m = 3 t0
  //   v        m (s - x)    w y          .         zzz w        x = u0 - 2s, y = v0 - v1
  static __device__ __forceinline__ elem dbl(const elem& a, uint32_t lane) {
    const uint32_t quad = lane - lane % 4;
    const bool odd = (lane & 1) != 0, high = (lane & 2) != 0;
    const elem twice = F::dbl(a), t = F::sqr(F::select(odd, twice, a));
    const elem v = object_from(t, quad + 1), x = object_from(a, quad), m = F::add(F::dbl(t), t);
    const elem u = F::mul(F::select(high, F::select(odd, x, a), F::select(odd, twice, m)), F::select(high || odd, v, m));
    const elem s = object_from(u, quad + 3), w = object_from(u, quad + 1), new_x = F::sub(u, F::dbl(s));
    const elem r = F::mul(F::select(odd, a, m), F::select(odd, w, F::sub(s, new_x))), other = object_from(r, quad);
    return F::select(high, F::select(odd, r, u), F::select(odd, F::sub(other, r), new_x));
  }

  // The Jacobian coordinates of a sum, with z = zz: x zz, y zzz, zz; lane 3 has none. Cost: M.
  static __device__ __forceinline__ elem to_jacobian(const elem& a, uint32_t lane) {
    return F::select((lane & 2) != 0, a, F::mul(a, object_from(a, lane ^ 2)));
  }

  // All coordinates of a sum. Cost: 4 elements of shuffles.
  static __device__ __forceinline__ xyzz<Cold> whole(const elem& a, uint32_t lane) {
    const uint32_t quad = lane - lane % 4;
    return {object_from(a, quad), object_from(a, quad + 1), object_from(a, quad + 2), object_from(a, quad + 3)};
  }

 private:
  // It happens when sums repeat, and every lane computes all of it.
  PIPPIN_CALLED static elem doubled(const elem a, uint32_t lane) {
    const xyzz<Cold> s = pippin::dbl(whole(a, lane));
    const uint32_t k = lane % 4;
    return F::select((k & 2) != 0, F::select((k & 1) != 0, s.zzz, s.zz), F::select((k & 1) != 0, s.y, s.x));
  }
};

// edwards_quad has sums of edwards_law: x, y, t, z.
template <class C>
struct edwards_quad {
  using E = edwards<C>;
  using F = typename E::F;
  using elem = typename F::elem;

  static __device__ __forceinline__ elem zero(uint32_t lane) { return F::select((lane & 1) != 0, F::one(), F::zero()); }

  // z is never 0 but in memory of zeros.
  static __device__ __forceinline__ elem load(const uint32_t* sum, uint32_t lane) {
    const elem a = F::load_raw(sum + lane % 4 * F::words);
    const uint32_t none = __ballot_sync(all, mp::is_zero(a.v)) >> (lane - lane % 4 + 3);
    return F::select((none & 1) != 0, zero(lane), a);
  }

  // a + b. Cost: 3M, one after the other.
  //
  //   lane     0                     1                     2            3
  //   u        (y_a-x_a) (y_b-x_b)   (y_a+x_a) (y_b+x_b)   t_a t_b      z_a z_b
  //   v        A = u                 B = u                 C = 2d u     D = 2u
  //   s        e = B - A             h = B + A             f = D - C    g = D + C
  //            e f                   h g                   e h          g f
  static __device__ __forceinline__ elem add(const elem& a, const elem& b, uint32_t lane) {
    const uint32_t k = lane % 4;
    const bool odd = (k & 1) != 0, high = (k & 2) != 0;
    const auto turned = [&](const elem& c) {
      const elem beside = object_from(c, lane ^ 1);
      return F::select(high, c, F::select(odd, F::add(c, beside), F::sub(beside, c)));
    };
    const elem u = F::mul(turned(a), turned(b));
    const elem c = F::mul(u, E::two_d());
    const elem v = F::select(high, F::select(odd, F::dbl(u), c), u), v_beside = object_from(v, lane ^ 1);
    const elem s = F::select(odd, F::add(v, v_beside), F::sub(v_beside, v));
    const elem across = object_from(s, lane ^ 2), before = object_from(s, k > 0 ? lane - 1 : lane);
    return F::mul(F::select(high && !odd, across, s), F::select(high, before, across));
  }

  static __device__ __forceinline__ extended<F> whole(const elem& a, uint32_t lane) {
    const uint32_t quad = lane - lane % 4;
    return {object_from(a, quad), object_from(a, quad + 1), object_from(a, quad + 2), object_from(a, quad + 3)};
  }
};

}  // namespace pippin::warp
