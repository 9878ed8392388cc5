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

// group is the threads of one number. Its row of shared memory, whose samples are
// `Stride` apart and which all its members read, has the second factor of a product.
template <int T, int L, int Stride, int Steps>
struct group {
  static_assert(T >= 1 && T <= 32 && (T & (T - 1)) == 0 && L >= 2 && L % Steps == 0);
  static constexpr int samples = T * L;
  uint32_t member, first;  // this lane's place, and the lane of member 0
  double* row;

  // slots are those of the block, L of Stride.
  __device__ __forceinline__ static group of(uint32_t thread, double* slots) {
    const uint32_t member = thread % T;
    return {member, thread % size - member, slots + (thread - member)};
  }

  // What a member has, member T being member 0. Cost: two shuffles, one for few bits.
  __device__ __forceinline__ uint32_t few_from(uint32_t v, uint32_t m) const { return T == 1 ? v : __shfl_sync(all, v, first + m % T); }
  __device__ __forceinline__ uint64_t from(uint64_t v, uint32_t m) const {
    return T == 1 ? v : ptx::pack(few_from(ptx::lo32(v), m), few_from(ptx::hi32(v), m));
  }
  __device__ __forceinline__ double from(double v, uint32_t m) const { return sampled::double_of(from(sampled::bits_of(v), m)); }

  // The row's sample k, and sample j of this member. All members have written when one
  // reads what is another's, and read before one writes again.
  __device__ __forceinline__ double& sample(uint32_t k) const { return row[k / T * Stride + k % T]; }
  __device__ __forceinline__ double& mine(uint32_t j) const { return sample(member * L + j); }
  __device__ __forceinline__ void modulus(double* p) const {
    PIPPIN_UNROLL
    for (int j = 0; j < L; j++) p[j] = row[(L + j) * Stride + member];
  }
  __device__ __forceinline__ void take_modulus(const double* p) const {
    PIPPIN_UNROLL
    for (int j = 0; j < L; j++) row[(L + j) * Stride + member] = p[j];
  }
  __device__ __forceinline__ static void settle() {
    if constexpr (T > 1) __syncwarp();
  }
  __device__ __forceinline__ void give(const double* b) const {
    settle();
    PIPPIN_UNROLL
    for (int j = 0; j < L; j++) mine(j) = b[j];
    settle();
  }

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

  // The multiple of p that clears the lowest column of all.
  __device__ __forceinline__ double clearing(uint64_t lowest, uint64_t np0) const {
    using namespace sampled;
    return from(from_integer(lowest * np0 & low_mask), 0);
  }

  // sums += q p, which clears the lowest column; then all columns move down by one: each
  // thread's lowest goes to the thread below as its highest, `top` being added, and that
  // of member 0, but for what it carries, is gone. With Row a b is added then. Sets q to
  // what clears the lowest column of that as soon as it is known, long before the rest;
  // returns what of a b the column above gets.
  //
  // Of member 0's lowest column only the carry is wanted, which is one if there is
  // anything to clear: where all threads are member 0 the lower half of p0 q is left out.
  template <bool Row>
  __device__ __forceinline__ uint64_t step(uint64_t* sums, uint64_t top, double& q, const double* p, uint64_t np0,
                                           const double* a, double b) const {
    using namespace sampled;
    const double by = q;
    uint64_t above, above_row = 0, carry, lowest = 0;
    if constexpr (T == 1) {
      above = product_high(p[0], by);
      carry = (sums[0] + low_mask) >> sample_bits;
    } else {
      const halves h = product(p[0], by);
      above = h.hi;
      lowest = sums[0] + h.lo;
      carry = member == 0 ? lowest >> sample_bits : 0;
    }
    const auto row = [&](int j) {
      if constexpr (Row) {
        const halves h = product(a[j], b);
        sums[j] += h.lo + above_row;
        above_row = h.hi;
      }
    };
    PIPPIN_UNROLL
    for (int j = 1; j < L; j++) {
      const halves h = product(p[j], by);
      sums[j - 1] = sums[j] + h.lo + above;
      above = h.hi;
      row(j - 1);
      if (j == 1) {
        sums[0] += carry;
        q = clearing(sums[0], np0);
      }
    }
    if constexpr (T > 1) {
      const uint64_t of_next = from(lowest, member + 1);
      top += member == T - 1 ? 0 : of_next;
    }
    sums[L - 1] = top + above;
    row(L - 1);
    return above_row;
  }

  // What column j of this member begins with in a product: column c of all is
  // added to by two rows for each step, until it is the lowest.
  __device__ __forceinline__ uint64_t begin(int j) const {
    using namespace sampled;
    return exponents(2 * j, 2 * j + (T == 1 ? 1 : 2)) + member * exponents(2 * L, 2 * L);
  }

  // What column j of this member begins with, and of this member's part of the upper
  // half, when a row is added for each step.
  __device__ __forceinline__ uint64_t begin_low(int j) const {
    using namespace sampled;
    return exponents(j, j + (T == 1 ? 0 : 1)) + member * exponents(L, L);
  }
  __device__ __forceinline__ uint64_t begin_high(int j) const {
    using namespace sampled;
    return exponents(samples - j, samples - j - 1) - member * exponents(L, L);
  }

  // a = a b / R mod p, below 2p, of the b in the row. np0 is -1/p mod 2^52.
  // Cost: 2 T L^2 products a thread, 4 T L shuffles.
  __device__ __forceinline__ void mul(double* a, uint64_t np0) const {
    using namespace sampled;
    double p[L];
    modulus(p);
    uint64_t sums[L];
    PIPPIN_UNROLL
    for (int j = 0; j < L; j++) sums[j] = begin(j);
    const uint64_t enters = member == T - 1 ? exponents(2, 0) + begin(L - 1) : 0;
    uint64_t top = add_row<L>(sums, a, sample(0));
    double q = clearing(sums[0], np0);
    // A step adds the next sample's row; the last has none.
    PIPPIN_LOOP
    for (int i = 1; i + Steps <= samples; i += Steps) {
      PIPPIN_UNROLL
      for (int s = 0; s < Steps; s++) top = step<true>(sums, top + enters, q, p, np0, a, sample(i + s));
    }
    PIPPIN_UNROLL
    for (int i = samples - (samples - 1) % Steps; i < samples; i++) top = step<true>(sums, top + enters, q, p, np0, a, sample(i));
    step<false>(sums, top + enters, q, p, np0, a, 0);
    PIPPIN_UNROLL
    for (int j = 0; j < L; j++) sums[j] -= begin(j);
    resolve(a, sums);
  }

  // a = a^2 / R mod p, below 2p. The row is overwritten.
  // Cost: L(L+1)/2 + L^2 products where a thread has a number.
  __device__ __forceinline__ void sqr(double* a, uint64_t np0) const {
    using namespace sampled;
    if constexpr (T == 1) {
      uint64_t sums[L];
      squares<L>::all(a, [](int c) { return c < L ? exponents(c, c) : exponents(2 * L - c, 2 * L - c - 1); },
                      [&]<int C>(uint64_t sum) {
                        if constexpr (C < L) {
                          sums[C] = sum;
                        } else {
                          sample(C - L) = double_of(sum);
                        }
                      },
                      std::make_integer_sequence<int, 2 * L>());
      double p[L];
      modulus(p);
      double q = clearing(sums[0], np0);
      PIPPIN_LOOP
      for (int i = 0; i < L; i += Steps) {
        PIPPIN_UNROLL
        for (int s = 0; s < Steps; s++) step<false>(sums, bits_of(sample(i + s)), q, p, np0, a, 0);
      }
      resolve(a, sums);
    } else if constexpr (T == 2) {
      // Blocks of L columns, 0 to 3, of (A + B X)^2: member m's square has blocks 2m and
      // 2m+1, and each has half of A B, which is twice in blocks 1 and 2: member 0 with
      // the lower half of B, member 1 with the upper. Member 0 wants blocks 0 and 2,
      // member 1 blocks 1 and 3.
      give(a);
      uint64_t cross[L + L / 2], sums[L], sent[L], kept[L / 2];
      {
        double half[L / 2], lower[L];
        PIPPIN_UNROLL
        for (int j = 0; j < L / 2; j++) half[j] = sample(L + j + member * (L / 2));
        PIPPIN_UNROLL
        for (int j = 0; j < L; j++) lower[j] = sample(j);
        products<L / 2, L>::all(cross, half, lower, std::make_integer_sequence<int, L + L / 2 - 1>());
      }
      settle();
      const bool upper = member == 1;
      PIPPIN_UNROLL
      for (int j = 0; j < L; j++) sent[j] = 2 * (upper ? cross[j + L / 2] : cross[j]);
      PIPPIN_UNROLL
      for (int j = 0; j < L / 2; j++) kept[j] = 2 * (upper ? cross[j] : cross[j + L]);
      squares<L>::all(a, [](int) { return 0; },
                      [&]<int C>(uint64_t sum) {
                        constexpr int j = C % L;
                        if constexpr (C < L) {
                          sums[j] = sum;
                          sent[j] += upper ? sum : 0;
                        } else {
                          mine(j) = double_of(sum + begin_high(j));
                          sent[j] += upper ? 0 : sum;
                        }
                      },
                      std::make_integer_sequence<int, 2 * L>());
      PIPPIN_UNROLL
      for (int j = 0; j < L; j++) {
        uint64_t got = from(sent[j], member + 1);
        if (upper == (j >= L / 2)) got += kept[j % (L / 2)];
        if (!upper) mine(j) = double_of(got + begin_high(j));
        sums[j] = (upper ? got : sums[j]) + begin_low(j);
      }
      settle();
      double p[L];
      modulus(p);
      double q = clearing(sums[0], np0);
      PIPPIN_LOOP
      for (int i = 0; i < samples; i += Steps) {
        PIPPIN_UNROLL
        for (int s = 0; s < Steps; s++) {
          const uint64_t high = bits_of(sample(i + s));
          step<false>(sums, member == T - 1 ? high : 0, q, p, np0, a, 0);
        }
      }
      resolve(a, sums);
    } else {
      give(a);
      mul(a, np0);
    }
  }
};

}  // namespace pippin::warp
