// windows.cuh: the signed digits of scalars, a window of bits each.
#pragma once
#include "group.cuh"

namespace pippin::grid {

// How scalars are cut into digits, and digits into buckets.
struct digit_shape {
  uint32_t c, windows, sets;
};

// Calls f(is, minus, bucket, row, k) for all digits of scalar k of the block's tile, a
// warp's lanes together: digit w is in set w % sets, in its row w / sets, and bucket is
// counted over all sets of one MSM. A digit of 0 is none. raw(i) is scalar i of the MSM.
//
// A scalar s > (r-1)/2 is taken as -(r-s), so that s and -s, both frequent in witnesses,
// are small and need one bit less. With s below r/2, the digits d_w of c bits satisfy
// s = sum of d_w 2^(cw) and |d_w| <= 2^(c-1); the last window takes what is left
// and must be wide enough for it, which the caller knows.
template <class Raw, class F>
__device__ __forceinline__ void each_digit(uint64_t n, uint32_t each, digit_shape shape, const Raw& raw, const F& f) {
  using fr = prime_field<curve::fr>;
  constexpr int N = fr::words;
  const static_modulus<fr::params> r;
  const uint32_t c = shape.c, half = 1u << (c - 1), mask = (half << 1) - 1;
  for (uint32_t k = threadIdx.x; k < each; k += blockDim.x) {
    const uint64_t i = (uint64_t)blockIdx.x * each + k;
    mp::num<N> s = {}, other;
    if (i < n) s = mp::from_mont(raw(i), r);
    carry::sub_fit<N>(other.w, r, s);
    const bool flip = carry::less<N>(other, s) != 0;
    s = mp::select(flip, other, s);

    uint32_t carried = 0, w = 0, set = 0, row = 0;
    const auto next = [&](uint32_t bits) {
      const uint32_t d = (bits & mask) + carried;
      carried = w + 1 < shape.windows && d > half;
      const uint32_t size = carried ? mask + 1 - d : d;
      f(size != 0, flip != (carried != 0), (set << (c - 1)) + size - 1, row, k);
      w++;
      if (++set == shape.sets) {
        set = 0;
        row++;
      }
    };
    // Bits wait in a pair of words until there are c of them: no index into s depends
    // on c.
    uint64_t waiting = 0;
    uint32_t count = 0;
    PIPPIN_UNROLL
    for (int j = 0; j < N; j++) {
      waiting |= (uint64_t)s[j] << count;
      count += 32;
      PIPPIN_LOOP
      while (count >= c && w < shape.windows) {
        next((uint32_t)waiting);
        waiting >>= c;
        count -= c;
      }
    }
    PIPPIN_LOOP
    while (w < shape.windows) {
      next((uint32_t)waiting);
      waiting >>= c;
    }
  }
}

}  // namespace pippin::grid
