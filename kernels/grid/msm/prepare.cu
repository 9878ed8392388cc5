// prepare.cu: bases, and multiples of them, in twisted Edwards form, as edwards_law
// adds them up: made once for many MSMs. Compiled for a curve whose G1 has that form.
#include "group.cuh"

namespace pippin::grid {

using hot_map = edwards<curve>;
using map = edwards<curve, cold_field>;
using element = cold_field::elem;

// Calls finish(i, 1/denominator) for the points i < n of a thread, which are the
// grid's threads apart, each <= prepare_most of them; begin(i) gives its denominator,
// again(i) the same once more. Cost: 3M and a share of an inverse, for each.
template <class Begin, class Again, class Finish>
__device__ __forceinline__ void with_inverses(uint64_t n, uint64_t each, const Begin& begin, const Again& again,
                                              const Finish& finish) {
  const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, threads = (n + each - 1) / each;
  if (t >= threads) return;
  element before[prepare_most];  // products of the denominators before each
  element all = cold_field::one();
  uint32_t count = 0;
#pragma unroll 1
  for (uint64_t i = t; i < n; i += threads) {
    before[count++] = all;
    all = cold_field::mul(all, begin(i));
  }
  all = cold_field::inv(all);
#pragma unroll 1
  while (count > 0) {
    const uint64_t i = t + --count * threads;
    const element inverse = cold_field::mul(all, before[count]);
    all = cold_field::mul(all, again(i));
    finish(i, inverse);
  }
}

// to[i] = from[i]: affine points in gnark-crypto's layout, prepared. Points of even
// order that have no Edwards form become the neutral element. A thread takes `each`.
PIPPIN_KERNEL((128), prepare)
(const uint32_t* from, uint32_t* to, uint64_t n, uint64_t each) {
  constexpr int w = cold_field::words;
  const auto point = [&](uint64_t i) { return load_affine<cold_field>(from + i * point_elements * w); };
  const auto denominator = [&](uint64_t i) { return map::denominator(point(i)); };
  with_inverses(n, each, denominator, denominator, [&](uint64_t i, const element& inverse) {
    store_niels(to + i * edwards_elements * w, map::from_weierstrass(point(i), inverse));
  });
}

// x, y and z of a + b, by products that are calls. Cost: 6M.
__device__ __forceinline__ extended<field> plus(const extended<field>& a, const niels<cold_field>& b) {
  using F = cold_field;
  const element l = F::mul(F::sub(a.y, a.x), b.minus), r = F::mul(F::add(a.y, a.x), b.plus), c = F::mul(a.t, b.t2d), d = F::dbl(a.z);
  const element e = F::sub(r, l), h = F::add(r, l), f = F::sub(d, c), g = F::add(d, c);
  return {F::mul(e, f), F::mul(g, h), F::zero(), F::mul(f, g)};
}

// Rows of multiples of n prepared points, as kernel `multiples` of multiples.cu makes them:
// from is row 1, to is row `digit`, row y of the grid makes row d = digit + y: 2^doublings times
// row d/2 or, where d is odd, the sum of rows d/2 and d/2 + 1. Until the end a row has its
// points' x, y and z. Cost: doublings (4M + 4S) + 10M a point, 16M where d is odd, and an
// inversion a thread.
PIPPIN_KERNEL((128), prepared_multiples)
(const uint32_t* from, uint32_t* to, uint64_t n, uint64_t doublings, uint64_t each, uint64_t digit, uint64_t apart) {
  constexpr int w = cold_field::words;
  const uint64_t d = digit + blockIdx.y;
  const uint32_t* const half = from + (d / 2 - 1) * apart * edwards_elements * w;
  to += blockIdx.y * apart * edwards_elements * w;
  const auto z_of = [&](uint64_t i) { return cold_field::load_raw(to + i * edwards_elements * w + 2 * w); };
  with_inverses(
      n, each,
      [&](uint64_t i) {
        auto p = hot_map::to_extended(load_niels<field>(half + i * edwards_elements * w));
        if (d % 2 != 0) {
          p = plus(p, load_niels<cold_field>(half + (apart + i) * edwards_elements * w));
        } else {
#pragma unroll 1
          for (uint64_t k = 0; k < doublings; k++) p = hot_map::dbl(p);
        }
        // Not 0, but where a point of even order has left the curve.
        if (field::is_zero(p.z)) p = hot_map::neutral();
        store_niels(to + i * edwards_elements * w, niels<field>{p.x, p.y, p.z});
        return z_of(i);
      },
      z_of,
      [&](uint64_t i, const element& inverse) {
        uint32_t* at = to + i * edwards_elements * w;
        store_niels(at, map::prepared(cold_field::mul(cold_field::load_raw(at), inverse),
                                      cold_field::mul(cold_field::load_raw(at + w), inverse)));
      });
}

}  // namespace pippin::grid
