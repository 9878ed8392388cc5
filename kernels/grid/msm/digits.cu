// digits.cu: scalars to signed digits. Compiled for one curve.
#include "group.cuh"

namespace pippin::grid {

// scalars: n of them in gnark-crypto's layout. A scalar s > (r-1)/2 is taken as
// -(r-s), so that s and -s, both frequent in witnesses, are small and need one
// bit less. With s below r/2, the digits d_w of c bits satisfy
// s = sum of d_w 2^(cw) and |d_w| <= 2^(c-1); the last window takes what is left
// and must be wide enough for it, which the caller knows.
//
// Digit w goes to digits[(w % sets) * stride + (w / sets) * points + i]: the
// windows w, w+sets, .. share a set. Windows from `windows` up to a multiple of
// sets are written as 0.
//
// bad: the least index + base of a scalar that is not below r, when check.
//
// Row y of the grid is the y-th of several MSMs: its n scalars, its sets and its bad
// follow those of the one before.
PIPPIN_KERNEL((128), digits)
(const uint32_t* scalars, uint64_t n, uint64_t c, uint64_t windows, uint64_t sets, uint64_t stride, uint64_t points,
 int32_t* digits, flag check, uint32_t* bad, uint64_t base) {
  using F = prime_field<curve::fr>;
  constexpr int N = F::words;
  const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uint64_t msm = blockIdx.y;
  scalars += msm * n * N;
  digits += msm * sets * stride;
  bad += msm;
  const mp::num<N> raw = load_words<N>(scalars + i * N);
  const static_modulus<F::params> r;
  if (check && !carry::less<N>(raw, r)) atomicMin(bad, (uint32_t)(base + i));

  mp::num<N> s = mp::from_mont(raw, r), minus;
  carry::sub_fit<N>(minus.w, r, s);
  const bool flip = carry::less<N>(minus, s) != 0;
  s = mp::select(flip, minus, s);

  const uint32_t half = 1u << (c - 1), mask = (half << 1) - 1;
  const uint64_t ends = (windows + sets - 1) / sets * sets;
  uint32_t carried = 0;
  // The window's bits are taken from the bottom of s, which then moves down:
  // no index into s depends on c.
  for (uint64_t w = 0, set = 0, row = 0; w < ends; w++) {
    const uint32_t d = (s[0] & mask) + carried;
    const bool last = w + 1 >= windows;
    carried = !last && d > half;
    int32_t v = (int32_t)d - (carried ? (int32_t)(mask + 1) : 0);
    if (w >= windows) v = 0;
    digits[set * stride + row * points + i] = flip ? -v : v;
    PIPPIN_UNROLL
    for (int k = 0; k < N; k++) s[k] = ptx::funnel_r(s[k], k + 1 < N ? s[k + 1 < N ? k + 1 : k] : 0, (uint32_t)c);
    if (++set == sets) {
      set = 0;
      row++;
    }
  }
}

}  // namespace pippin::grid
