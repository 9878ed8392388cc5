// group.cuh: the curve and group that a file is compiled for, by
// -DPIPPIN_CURVE=bn254 -DPIPPIN_GROUP=g1, and sums of points in loops.
#pragma once
#include "../../thread/curve.cuh"
#include "../../thread/outlined.cuh"
#include "../curve.cuh"
#include "layout.cuh"

#include PIPPIN_HEADER(PIPPIN_CURVE)

namespace pippin::grid {

using curve = curves::PIPPIN_CURVE;
using scalar_field = prime_field<curve::fr>;

#if defined(PIPPIN_GROUP)
using group = PIPPIN_GROUP<curve>;
using field = group::field;

// For code that is not hot: products are calls.
using cold_field = outlined<field>;
// For loops: products in place as long as they fit the instruction cache.
using hot_field = std::conditional_t<(field::words > 16), cold_field, field>;

constexpr int words = field::words, affine_words = 2 * words, jacobian_words = 3 * words;
// Blocks of a loop over points that a multiprocessor has at least.
constexpr uint32_t loop_blocks = words <= 8 ? 4 : words <= 12 ? 3 : 2;

template <class F>
__device__ __forceinline__ jacobian<F> load_raw(const uint32_t* src) {
  return {F::load_raw(src), F::load_raw(src + words), F::load_raw(src + 2 * words)};
}
template <class F>
__device__ __forceinline__ void store_raw(uint32_t* dst, const jacobian<F>& p) {
  F::store_raw(dst, p.x);
  F::store_raw(dst + words, p.y);
  F::store_raw(dst + 2 * words, p.z);
}

// The double of an affine point, through memory: for the slow path of a loop.
PIPPIN_CALLED void double_of(jacobian<cold_field>& r, const affine<cold_field>& p) {
  r = dbl(jacobian<cold_field>{p.x, p.y, cold_field::one()});
}
PIPPIN_CALLED void double_of(xyzz<cold_field>& r, const affine<cold_field>& p) { r = dbl(p); }

// a += b, b not infinity. Equal points, opposite points and a = infinity are right.
// Cost: 8M + 3S.
template <class F>
__device__ __forceinline__ void add_in_loop(jacobian<F>& a, const affine<F>& b) {
  if (is_infinity(a)) {
    a = {b.x, b.y, F::one()};
    return;
  }
  const auto zz = F::sqr(a.z);
  const auto h = F::sub(F::mul(b.x, zz), a.x);
  const auto r = F::sub(F::mul(b.y, F::mul(zz, a.z)), a.y);
  if (F::is_zero(h)) {
    if (F::is_zero(r)) {
      const affine<cold_field> p = {b.x, b.y};
      jacobian<cold_field> twice;
      double_of(twice, p);
      a = {twice.x, twice.y, twice.z};
    } else {
      a = jacobian_infinity<F>();
    }
    return;
  }
  a = detail::add_jacobian_tail<F>(a.x, a.y, h, r, a.z);
}

// a += b. Cost: 8M + 2S.
template <class F>
__device__ __forceinline__ void add_in_loop(xyzz<F>& a, const affine<F>& b) {
  add_to(a, b, [&] {
    const affine<cold_field> same = {b.x, b.y};
    xyzz<cold_field> twice;
    double_of(twice, same);
    a = {twice.x, twice.y, twice.zz, twice.zzz};
  });
}

// a + b, complete, as a call. Cost: 12M + 4S.
PIPPIN_CALLED void add_points_of(jacobian<cold_field>& a, const jacobian<cold_field>& b) { a = add(a, b); }
#endif

}  // namespace pippin::grid
