// fixed.cu: many multiples of one point, from a table of those that a window of a scalar
// can ask for. Compiled for one curve and group.
#include "group.cuh"

namespace pippin::grid {

// The table has for each window w of 2 h bits the points e 2^(2 h w) base, 0 < e <= 2^(2 h
// - 1). An entry is the sum of two seeds: those of w are k 2^(2 h w) base and k 2^(2 h w +
// h) base, k < 2^h each. A thread makes a seed: the last to be made takes as many
// doublings as a scalar has bits. seeds: Jacobian, [w][low or high][k].
PIPPIN_KERNEL((128), seeds)
(const uint32_t* base, uint32_t* to, uint64_t windows, uint64_t h) {
  using F = cold_field;
  const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= windows << (h + 1)) return;
  const uint64_t k = i & ((1 << h) - 1), part = i >> h;
  const affine<F> p = load_affine<F>(base);
  jacobian<F> q = to_jacobian(p);
#pragma unroll 1
  for (uint64_t d = 0; d < part * h; d++) q = dbl(q);
  jacobian<F> sum = jacobian_infinity<F>();
#pragma unroll 1
  for (uint64_t bit = h; bit-- > 0;) {
    sum = dbl(sum);
    if (k >> bit & 1) add_points_of(sum, q);
  }
  store_raw(to + i * jacobian_words, sum);
}

// to[i] is entry e = i mod 2^(2 h - 1) plus 1 of window w = i / 2^(2 h - 1), Jacobian.
PIPPIN_KERNEL((128), table)
(const uint32_t* seeds, uint32_t* to, uint64_t first, uint64_t count, uint64_t h) {
  using F = cold_field;
  const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const uint64_t log = 2 * h - 1, w = (first + i) >> log, e = ((first + i) & ((1ull << log) - 1)) + 1;
  const uint32_t* const low = seeds + ((w << (h + 1)) + (e & ((1 << h) - 1))) * jacobian_words;
  const uint32_t* const high = seeds + ((w << (h + 1)) + (1 << h) + (e >> h)) * jacobian_words;
  jacobian<F> sum = load_raw<F>(low);
  add_points_of(sum, load_raw<F>(high));
  store_raw(to + i * jacobian_words, sum);
}

// to[k] = scalar (first + k) mod count_of_scalars times the point whose table, affine, is
// given: Jacobian. Cost: windows (8M + 2S) + 2M + 2S.
PIPPIN_KERNEL((128, loop_blocks), fixed)
(const uint32_t* table, uint64_t windows, uint64_t h, const uint32_t* scalars, uint64_t all, uint32_t* to, uint64_t first,
 uint64_t count) {
  using F = hot_field;
  constexpr int N = scalar_field::words;
  const uint64_t k = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= count) return;
  mp::num<N> rest = scalar_field::to_integer(scalar_field::load(scalars + (first + k) % all * N));
  const uint32_t bits = (uint32_t)(2 * h), most = 1u << (bits - 1);
  xyzz<F> sum = xyzz_infinity<F>();
#pragma unroll 1
  for (uint64_t w = 0; w < windows; w++) {
    uint32_t digit = rest[0] & (2 * most - 1);
    rest = mp::shr(rest, bits);
    const bool minus = digit > most;
    if (minus) {
      digit = 2 * most - digit;
      rest = mp::add(rest, mp::from_word<N>(1));
    }
    if (digit == 0) continue;
    const affine<F> p = neg_if(minus, load_affine<F>(table + (w * most + digit - 1) * affine_words));
    add_in_loop(sum, p);
  }
  store_raw(to + k * jacobian_words, is_infinity(sum) ? jacobian_infinity<F>() : to_jacobian(sum));
}

}  // namespace pippin::grid
