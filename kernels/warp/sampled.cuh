// sampled.cuh: Montgomery products of numbers in samples of 52 bits, T threads of a
// warp a number, L samples a thread. Contract: that of lanes.cuh and of
// thread/sampled.cuh, and
//   range    numbers below 2p, p odd and below R/4, R = 2^(52 T L)
//   order    member m of a group has the samples m L .. m L + L-1
//   source   seed 002, section II, figures 8 to 10, with these differences: the
//            exponents that a product's last columns never get are taken back at the
//            end, so that every step is the same; a column gets an upper and a lower
//            half in one addition
#pragma once
#include "../thread/sampled.cuh"
#include "lanes.cuh"

namespace pippin::warp {

// group is the threads of one number.
template <int T, int L>
struct group {
  static_assert(T >= 1 && T <= 32 && (T & (T - 1)) == 0 && L >= 2);
  static constexpr int samples = T * L;
  uint32_t member, first;  // this lane's place, and the lane of member 0

  __device__ __forceinline__ static group of(uint32_t lane) { return {lane % T, lane - lane % T}; }

  // What a member has, member T being member 0. Cost: two shuffles, one for few bits.
  __device__ __forceinline__ uint32_t few_from(uint32_t v, uint32_t m) const { return T == 1 ? v : __shfl_sync(all, v, first + m % T); }
  __device__ __forceinline__ uint64_t from(uint64_t v, uint32_t m) const {
    return T == 1 ? v : ptx::pack(few_from(ptx::lo32(v), m), few_from(ptx::hi32(v), m));
  }
  __device__ __forceinline__ double from(double v, uint32_t m) const { return sampled::double_of(from(sampled::bits_of(v), m)); }

  // Columns to samples: the carries of a thread's columns, and one to the next
  // thread, whose lowest sample is cut once more so that what is handed to its second
  // is one bit at most: 2^52 is a sample too. No carry leaves the last thread.
  __device__ __forceinline__ void resolve(double* r, uint64_t* sums) const {
    using namespace sampled;
    PIPPIN_UNROLL
    for (int j = 1; j < L; j++) {
      sums[j] += sums[j - 1] >> sample_bits;
      sums[j - 1] &= low_mask;
    }
    if constexpr (T > 1) {
      sums[0] += few_from((uint32_t)(sums[L - 1] >> sample_bits), member + T - 1);
      sums[L - 1] &= low_mask;
      sums[1] += sums[0] >> sample_bits;
      sums[0] &= low_mask;
    }
    PIPPIN_UNROLL
    for (int j = 0; j < L; j++) r[j] = from_integer(sums[j]);
  }

  // r = a b / R mod p, below 2p; r may be a or b. np0 is -1/p mod 2^52.
  //
  // A step adds one sample of b times a and q p, q clearing the lowest column, and
  // moves all columns down by one: each thread's lowest goes to the thread below as
  // its highest, but for what it carries, which goes to its own next.
  // Cost: 2 T L^2 products a thread, and 6 T L shuffles.
  __device__ __forceinline__ void mul(double* r, const double* a, const double* b, const double* p, double np0) const {
    using namespace sampled;
    uint64_t sums[L + 1];
    PIPPIN_UNROLL
    for (int j = 0; j < L; j++) sums[j] = exponents(2 * j, 2 * j + 2);
    PIPPIN_LOOP
    for (uint32_t owner = 0; owner < T; owner++) {
      PIPPIN_UNROLL
      for (int i = 0; i < L; i++) {
        sums[L] = exponents(2 * L, 2 * L);
        add_row<L>(sums, a, from(b[i], owner));
        const double q = product_low(from_integer(sums[0] & low_mask), np0);
        add_row<L>(sums, p, from(q, 0));
        // Of member 0 the lowest column is zero now: nothing enters the last thread.
        const uint64_t in = T == 1 ? 0 : from(sums[0] & low_mask, member + 1);
        const uint64_t carry = sums[0] >> sample_bits;
        PIPPIN_UNROLL
        for (int j = 0; j < L; j++) sums[j] = sums[j + 1];
        sums[0] += carry;
        sums[L - 1] += in;
      }
    }
    PIPPIN_UNROLL
    for (int j = 0; j < L; j++) sums[j] -= exponents(2 * j, 2 * j + 2);
    resolve(r, sums);
  }
};

}  // namespace pippin::warp
