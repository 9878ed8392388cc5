// sliced.cuh: polynomials over GF(2) in slices: 32 of them in a warp, bit by bit.
// Contract: that of lanes.cuh, and
//   chunk    32 polynomials of degree below 32 W: row i has the coefficient of x^i of
//            each, polynomial j in bit j; lane l has the rows l, l+32, .., W in all
//   range    any words
//   time     no branch and no index depends on data
//   source   seed 001, sections 6 and 7: pairs of coefficients k and k + n, of which
//            all lanes do the same, with operands in other lanes' registers
#pragma once
#include "lanes.cuh"

namespace pippin::warp {

// What lane `l` has of v, any l modulo 32.
__device__ __forceinline__ uint32_t from_lane(uint32_t v, uint32_t l) { return __shfl_sync(all, v, l % size); }

// A matrix of bits on its side: bit j of lane i becomes bit i of lane j. So elements,
// one a lane, become rows, and rows elements again.
//
//   d = 16   [ a b ]    [ a c ]    then the same in each quarter with d = 8, .. 1
//            [ c d ] -> [ b d ]
//
// Cost: 5 shuffles.
__device__ __forceinline__ uint32_t transposed(uint32_t v, uint32_t lane) {
  constexpr uint32_t first_of[5] = {0x0000ffffu, 0x00ff00ffu, 0x0f0f0f0fu, 0x33333333u, 0x55555555u};
#pragma unroll
  for (uint32_t k = 0; k < 5; k++) {
    const uint32_t d = 16 >> k;
    const uint32_t theirs = from_lane(v, lane ^ d);
    const bool second = (lane & d) != 0;
    const uint32_t kept = second ? ~first_of[k] : first_of[k];
    v = (v & kept) | ((second ? theirs >> d : theirs << d) & ~kept);
  }
  return v;
}

// c = a b, chunks of W and W rows, 2W of the product.
//
// Row k of the product is the sum of a_i b_(k-i). At step i all lanes have the rows
// i + 32u of a, and of b those that lie i lanes below, around the warp's end:
//
//   lane l    a_(i+32u) b_((l-i) mod 32 + 32v)    is of row l + 32(u+v) while i <= l,
//                                                 of the row 32 further up after that
//
// so that the sums of one u + v as they are after step l are the lower row's part, and
// what is added to them later is the upper row's.
// Cost: 64 W shuffles, 32 W^2 products of rows.
template <int W>
__device__ __forceinline__ void sliced_product(uint32_t* c, const uint32_t* a, const uint32_t* b, uint32_t lane) {
  uint32_t sums[2 * W - 1] = {}, low[2 * W - 1] = {}, turned[W];
#pragma unroll
  for (int v = 0; v < W; v++) turned[v] = b[v];
#pragma unroll(W <= 2 ? 32 : 4)
  for (uint32_t i = 0; i < size; i++) {
#pragma unroll
    for (int u = 0; u < W; u++) {
      const uint32_t row = from_lane(a[u], i);
#pragma unroll
      for (int v = 0; v < W; v++) sums[u + v] ^= row & turned[v];
    }
#pragma unroll
    for (int s = 0; s < 2 * W - 1; s++) low[s] = i == lane ? sums[s] : low[s];
#pragma unroll
    for (int v = 0; v < W; v++) turned[v] = from_lane(turned[v], lane + size - 1);
  }
#pragma unroll
  for (int s = 0; s < 2 * W; s++) c[s] = (s < 2 * W - 1 ? low[s] : 0) ^ (s > 0 ? sums[s - 1] ^ low[s - 1] : 0);
}

// r = c modulo x^(32W) + x^k3 + x^k2 + x^k1 + 1, 32 > k3 > k2 > k1. With c = l + h x^n it
// is l + (h + o)(x^k3 + .. + 1), o what h x^k3 + h x^k2 + h x^k1 overflows n rows by:
// below row k3, see thread/binary.cuh.
// Cost: 3 W shuffles, 6 for W = 1.
template <int W, int k3, int k2, int k1>
__device__ __forceinline__ void sliced_reduce(uint32_t* r, const uint32_t* c, uint32_t lane) {
  constexpr uint32_t k[3] = {k3, k2, k1};
  uint32_t below[3], h = c[2 * W - 1], overflow = 0;
#pragma unroll
  for (int j = 0; j < 3; j++) {
    const uint32_t turned = from_lane(h, lane + size - k[j]);  // all lanes give
    overflow ^= lane < k[j] ? turned : 0;
  }
#pragma unroll
  for (int w = 0; w < W; w++) {
    h = c[W + w] ^ (w == 0 ? overflow : 0);
    r[w] = c[w] ^ h;
#pragma unroll
    for (int j = 0; j < 3; j++) {
      const uint32_t turned = from_lane(h, lane + size - k[j]);
      r[w] ^= lane >= k[j] ? turned : w > 0 ? below[j] : 0;
      below[j] = turned;
    }
  }
}

}  // namespace pippin::warp
