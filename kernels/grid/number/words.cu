// words.cu: what is done to the words of numbers one by one.
//
//   words_resize    copies, longer or shorter
//   words_compare   comparisons of parts of numbers
//   words_verdict   the first of several that tells
//   words_columns   sums of the words at one place in all numbers
//   words_split     these sums as two numbers, whose sum they are
//   words_below     refuses what is no modulus, or not below it
//
// Steps and `bad` are as in wide.cu.
#include "../../warp/lanes.cuh"
#include "layout.cuh"

namespace pippin::grid {

// r[i] = a[i], of a_words, cut to or filled up to `length` words.
PIPPIN_KERNEL((256), words_resize)(const uint32_t* a, uint64_t a_words, uint64_t a_step, uint32_t* r, uint64_t length, uint64_t n) {
  for (uint64_t at = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; at < n * length; at += (uint64_t)gridDim.x * blockDim.x) {
    const uint64_t i = at / length, k = at - i * length;
    r[at] = k < a_words ? a[i * a_step + k] : 0;
  }
}

// A warp a part of compare_tile length of each number, the last may be shorter: its
// verdict is 1 where a is above b, all ones where it is below, else 0. Those of a
// number follow one another.
PIPPIN_KERNEL((256), words_compare)
(const uint32_t* a, uint64_t a_step, const uint32_t* b, uint64_t b_step, uint64_t length, uint32_t* verdicts, uint64_t n) {
  const uint64_t parts = (length + compare_tile - 1) / compare_tile, warps = (uint64_t)gridDim.x * blockDim.x / warp::size;
  const uint32_t lane = threadIdx.x % warp::size;
  for (uint64_t at = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) / warp::size; at < n * parts; at += warps) {
    const uint64_t i = at / parts, first = (at - i * parts) * compare_tile;
    const uint64_t last = first + compare_tile < length ? first + compare_tile : length;
    uint32_t verdict = 0;
    // Rows of 32 length from the top: the highest that differ decide.
    for (uint64_t row = (last - first + warp::size - 1) / warp::size; verdict == 0 && row-- > 0;) {
      const uint64_t k = first + row * warp::size + lane;
      const uint32_t x = k < last ? a[i * a_step + k] : 0, y = k < last ? b[i * b_step + k] : 0;
      const uint32_t above = __ballot_sync(warp::all, x > y), below = __ballot_sync(warp::all, x < y);
      if (above != below) verdict = above > below ? 1 : 0xffffffffu;
    }
    if (lane == 0) verdicts[at] = verdict;
  }
}

// r[i] = the last of a number's verdicts, each `parts`, that is not 0. A warp a number.
PIPPIN_KERNEL((256), words_verdict)(const uint32_t* verdicts, uint64_t parts, uint32_t* r, uint64_t n) {
  const uint64_t warps = (uint64_t)gridDim.x * blockDim.x / warp::size;
  const uint32_t lane = threadIdx.x % warp::size;
  for (uint64_t i = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) / warp::size; i < n; i += warps) {
    uint32_t verdict = 0;
    for (uint64_t row = (parts + warp::size - 1) / warp::size; verdict == 0 && row-- > 0;) {
      const uint64_t k = row * warp::size + lane;
      const uint32_t v = k < parts ? verdicts[i * parts + k] : 0;
      const uint32_t above = __ballot_sync(warp::all, v == 1), below = __ballot_sync(warp::all, v > 1);
      if (above != below) verdict = above > below ? 1 : 0xffffffffu;
    }
    if (lane == 0) r[i] = verdict;
  }
}

// sums, of 64 bits, one for each of `length` words and each of `groups` groups, grow by
// the length of numbers group, group + groups, ..
PIPPIN_KERNEL((256), words_columns)(const uint32_t* a, uint64_t length, uint64_t n, uint64_t groups, uint32_t* sums) {
  uint64_t* const out = reinterpret_cast<uint64_t*>(sums);
  for (uint64_t at = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; at < groups * length; at += (uint64_t)gridDim.x * blockDim.x) {
    const uint64_t group = at / length, k = at - group * length;
    uint64_t s = out[at];
#pragma unroll 4
    for (uint64_t i = group; i < n; i += groups) s += a[i * length + k];
    out[at] = s;
  }
}

// low + high = the sum over all groups of columns, both of `out` length.
PIPPIN_KERNEL((256), words_split)(const uint32_t* sums, uint64_t length, uint64_t groups, uint32_t* low, uint32_t* high, uint64_t out) {
  const uint64_t* const in = reinterpret_cast<const uint64_t*>(sums);
  for (uint64_t k = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; k < out; k += (uint64_t)gridDim.x * blockDim.x) {
    uint64_t s = 0;
    if (k < length) {
      for (uint64_t g = 0; g < groups; g++) s += in[g * length + k];
    }
    low[k] = (uint32_t)s;
    if (k + 1 < out) high[k + 1] = (uint32_t)(s >> 32);
    if (k == 0) high[0] = 0;
  }
}

// Refuses moduli that are even or 1, and numbers a that are not below them. A thread a
// number; no branch depends on a.
PIPPIN_KERNEL((128), words_below)
(const uint32_t* a, uint64_t a_step, const uint32_t* moduli, uint64_t modulus_step, uint64_t length, uint64_t n, uint32_t* bad) {
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (uint64_t)gridDim.x * blockDim.x) {
    const uint32_t *const x = a + i * a_step, *const p = moduli + i * modulus_step;
    uint32_t borrow = 0, rest = p[0] ^ 1;
    for (uint64_t k = 0; k < length; k++) {
      const uint64_t d = (uint64_t)x[k] - p[k] - borrow;
      borrow = (uint32_t)(d >> 32) & 1;
      if (k > 0) rest |= p[k];
    }
    if (p[0] % 2 == 0) {
      atomicMin(bad + number_modulus_even, (uint32_t)i);
    } else if (rest == 0) {
      atomicMin(bad + number_modulus_one, (uint32_t)i);
    } else if (borrow == 0) {
      atomicMin(bad + number_a_not_below, (uint32_t)i);
    }
  }
}

}  // namespace pippin::grid
