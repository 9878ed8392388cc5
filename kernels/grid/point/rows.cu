// rows.cu: sums of products by points that many rows share, from a table of multiples of
// each. The doublings are those of a row, not of a product. Compiled for one curve and
// group.
// Source: Straus 1964.
#include "group.cuh"

namespace pippin::grid {

// to[k entries + e - 1] = e points[k], 0 < e <= entries: Jacobian. The group has no small
// order. Cost: 8M + 3S each.
PIPPIN_KERNEL((128), row_multiples)
(const uint32_t* points, uint64_t n, uint32_t* to, uint64_t entries) {
  using F = cold_field;
  const uint64_t k = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= n) return;
  const affine<F> p = load_affine<F>(points + k * affine_words);
  const bool none = is_infinity(p);
  jacobian<F> sum = jacobian_infinity<F>();
#pragma unroll 1
  for (uint64_t e = 0; e < entries; e++) {
    if (!none) add_in_loop(sum, p);
    store_raw(to + (k * entries + e) * jacobian_words, sum);
  }
}

// The sums of a row's points by one digit of each scalar: to[(row windows + v) parts +
// part] = the sum over i mod parts = part, i < terms, of digit v of scalar (first_scalar +
// row terms + i) mod scalars times point (first + row terms + i) mod points, Jacobian.
// table: `entries` multiples of each point, affine, from 1 on. digits: recode's. Threads
// beside each other have rows that are `period` apart, a divisor of rows: so they read the
// same part of the table where the points of a row come again after so many.
// Cost: terms (8M + 3S).
PIPPIN_KERNEL((128, loop_blocks), row_windows)
(const uint32_t* table, uint64_t entries, uint64_t points, uint32_t* to, const uint32_t* digits, uint64_t scalars,
 uint64_t windows, uint64_t first, uint64_t first_scalar, uint64_t rows, uint64_t terms, uint64_t parts,
 uint64_t period) {
  using F = hot_field;
  const uint64_t k = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= rows * windows * parts) return;
  const uint64_t copies = rows / period, rank = k % rows, part = k / rows % parts, v = k / rows / parts;
  const uint64_t row = rank % copies * period + rank / copies;
  const int8_t* const digit_at = reinterpret_cast<const int8_t*>(digits) + v * scalars;
  uint64_t at = (first + row * terms + part) % points, by = (first_scalar + row * terms + part) % scalars;
  const uint64_t step = parts % points, scalar_step = parts % scalars;
  jacobian<F> sum = jacobian_infinity<F>();
#pragma unroll 1
  for (uint64_t i = part; i < terms; i += parts) {
    const int digit = digit_at[by];
    const uint32_t* const entry = table + (at * entries + (digit < 0 ? -digit : digit) - 1) * affine_words;
    at += step;
    if (at >= points) at -= points;
    by += scalar_step;
    if (by >= scalars) by -= scalars;
    if (digit == 0) continue;
    const affine<F> p = load_affine<F>(entry);
    if (!is_infinity(p)) add_in_loop(sum, neg_if(digit < 0, p));
  }
  store_raw(to + ((row * windows + v) * parts + part) * jacobian_words, sum);
}

// to[row] = the sum of its windows, Jacobian. Window 2 place + half is of digits that are
// 2^(bits place) times k1 or k2, see recode. Cost: a doubling a bit, 13M + 4S a window.
PIPPIN_KERNEL((128), join_windows)
(const uint32_t* from, uint64_t windows, uint64_t bits, const uint32_t* beta, uint32_t* to, uint64_t rows) {
  using F = cold_field;
  const uint64_t row = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  jacobian<F> sum = jacobian_infinity<F>();
#pragma unroll 1
  for (uint64_t v = windows; v-- > 0;) {
    if (v % 2 == 1) {
#pragma unroll 1
      for (uint64_t d = 0; d < bits; d++) sum = dbl(sum);
    }
    jacobian<F> p = load_raw<F>(from + (row * windows + v) * jacobian_words);
    if (v % 2 == 1) p.x = F::mul(p.x, F::load_raw(beta));
    add_points_of(sum, p);
  }
  store_raw(to + row * jacobian_words, sum);
}

}  // namespace pippin::grid
