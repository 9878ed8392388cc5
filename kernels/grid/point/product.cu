// product.cu: products of points by scalars, the part of multiplications and transforms
// that takes the time. Compiled for one curve and group.
#include "group.cuh"

namespace pippin::grid {

// The products of a doubling, an addition and some more in place exceed the instruction cache from 12
// limbs on: on an H200 calls take 21 % less over Fp of BLS12, 39 over Fp2 of BN254.
using product_field = std::conditional_t<(words > 8), cold_field, field>;

// The multiples 1 to product_entries of (x, y), entry_elements each, as affine points of
// the isomorphic curve on which the last one's denominator is 1; returns that denominator.
// The group has no small order. Cost: 62M + 28S.
// Source: the effective affine points of bitcoin-core/secp256k1.
PIPPIN_CALLED cold_field::elem make_table(uint32_t* table, const affine<cold_field>& p) {
  using F = cold_field;
  constexpr int stride = entry_elements * words;
  affine<F> base = p;
  jacobian<F> q = {p.x, p.y, F::one()};
  typename F::elem grown = F::one();
#pragma unroll 1
  for (uint32_t e = 0; e < product_entries; e++) {
    if (e == 1) {
      grown = F::dbl(q.y);
      q = dbl(q);
    } else if (e > 1) {
      const auto zz = F::sqr(q.z);
      const auto h = F::sub(F::mul(base.x, zz), q.x);
      const auto r = F::sub(F::mul(base.y, F::mul(zz, q.z)), q.y);
      q = detail::add_jacobian_tail<F>(q.x, q.y, h, r, q.z);
      grown = h;
    }
    F::store_raw(table + e * stride, q.x);
    F::store_raw(table + e * stride + words, q.y);
    F::store_raw(table + e * stride + 2 * words, grown);
  }
  typename F::elem ratio = F::one();
#pragma unroll 1
  for (uint32_t e = product_entries - 1; e > 0; e--) {
    ratio = F::mul(ratio, F::load_raw(table + e * stride + 2 * words));
    const auto square = F::sqr(ratio);
    uint32_t* const at = table + (e - 1) * stride;
    F::store_raw(at, F::mul(F::load_raw(at), square));
    F::store_raw(at + words, F::mul(F::load_raw(at + words), F::mul(square, ratio)));
  }
  return q.z;
}

// to[k] = digits * from[k], Jacobian. digits are recode's, `each` bits a place, of
// `scalars` scalars; beta is what the endomorphism multiplies x by; tables: room for
// every thread of the grid. from: Jacobian if projective, else affine.
//
// With half = 0 product k < count is of point (first + k) mod points and scalar
// (first_scalar + k) mod scalars, of reversed bits if log_reversed is not 0. Else they are those of a
// level of a transform in place, to being from: of `blocks` nodes of 2 half points, the
// points half + j of each, 0 < j < half, times scalar j step; product k is of node k mod
// blocks, so that lanes have one scalar where they can.
PIPPIN_KERNEL((128, loop_blocks), product)
(const uint32_t* from, uint64_t points, flag projective, uint32_t* to, const uint32_t* digits, uint64_t scalars,
 uint64_t places, uint64_t each, const uint32_t* beta, uint32_t* tables, uint64_t first, uint64_t first_scalar,
 uint64_t count, uint64_t log_reversed, uint64_t half, uint64_t blocks, uint64_t step) {
  using F = product_field;
  constexpr int stride = entry_elements * words;
  const uint64_t thread = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, threads = (uint64_t)gridDim.x * blockDim.x;
  uint32_t* const table = tables + thread * product_entries * stride;
#pragma unroll 1
  for (uint64_t k = thread; k < count; k += threads) {
    uint64_t at, by, out = k;
    if (half == 0) {
      at = (first + k) % points;
      by = (first_scalar + k) % scalars;
      if (log_reversed > 0) by = ptx::reversed((uint32_t)by, (uint32_t)log_reversed);
    } else {
      const uint64_t j = 1 + k / blocks;
      at = out = k % blocks * 2 * half + half + j;
      by = j * step;
    }
    bool none;
    typename F::elem z;
    {
      const uint32_t* const src = from + at * (projective ? jacobian_words : affine_words);
      const affine<cold_field> p = {F::load_raw(src), F::load_raw(src + words)};
      z = projective ? F::load_raw(src + 2 * words) : F::one();
      none = projective ? F::is_zero(z) : is_infinity(p);
      if (!none) z = F::mul(z, make_table(table, p));
    }
    jacobian<F> q = jacobian_infinity<F>();
    if (!none) {
      const int8_t* digit_at = reinterpret_cast<const int8_t*>(digits) + 2 * places * scalars + by;
#pragma unroll 1
      for (uint64_t place = places; place-- > 0;) {
        if (place + 1 < places) {
#pragma unroll 1
          for (uint64_t d = 0; d < each; d++) q = dbl(q);
        }
        digit_at -= 2 * scalars;
#pragma unroll 1
        for (int part = 0; part < 2; part++) {
          const int digit = digit_at[part * scalars];
          if (digit == 0) continue;
          const uint32_t* const entry = table + ((digit < 0 ? -digit : digit) - 1) * stride;
          affine<F> p = {F::load_raw(entry), F::load_raw(entry + words)};
          p = neg_if(digit < 0, p);
          if (part == 1) p.x = F::mul(p.x, F::load_raw(beta));
          add_in_loop(q, p);
        }
      }
      q.z = F::mul(q.z, z);
    }
    store_raw(to + out * jacobian_words, q);
  }
}

}  // namespace pippin::grid
