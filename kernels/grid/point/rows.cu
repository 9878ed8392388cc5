// rows.cu: sums of products by points that many rows share, from a table of multiples of
// each. The doublings are those of a row, not of a product. Compiled for one curve and
// group.
// Source: Straus 1964.
#include "../../warp/quads.cuh"
#include "group.cuh"

namespace pippin::grid {

constexpr int row_sum_words = sum_elements * words;

// What waits for products one after the other is computed by four lanes a sum.
using quad = warp::xyzz_quad<cold_field, cold_field>;

// to[k entries + e - 1] = e points[k], 0 < e <= entries: Jacobian. A thread makes `each` of a
// point, a divisor of entries, and first the multiple before them, by its bits. The group has no
// small order. Cost: 8M + 3S each, and log2(entries) (10M + 8S) at most.
PIPPIN_KERNEL((128), row_multiples)
(const uint32_t* points, uint64_t n, uint32_t* to, uint64_t entries, uint64_t each) {
  using F = cold_field;
  const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, k = t / (entries / each);
  if (k >= n) return;
  const uint32_t before = (uint32_t)(t % (entries / each) * each);
  const affine<F> p = load_affine<F>(points + k * affine_words);
  const bool none = is_infinity(p);
  jacobian<F> sum = jacobian_infinity<F>();
  to += (k * entries + before) * jacobian_words;
  uint32_t bits = 0;
  while (!none && before >> bits != 0) bits++;
#pragma unroll 1
  for (uint32_t step = 0; step < bits + each; step++) {
    if (step < bits) sum = dbl(sum);
    if (!none && (step >= bits || (before >> (bits - 1 - step) & 1) != 0)) add_in_loop(sum, p);
    if (step >= bits) store_raw(to + (step - bits) * jacobian_words, sum);
  }
}

// The sums of a row's points by one digit of each scalar: to[(row windows + v) parts +
// part] = the sum over i mod parts = part, i < terms, of digit v of scalar (first_scalar +
// row terms + i) mod scalars times point (first + row terms + i) mod points, XYZZ. Window 2
// place + half is of digits that are 2^(bits place) times k1 or k2, see recode: beta is what
// x is multiplied by for k2.
// table: `entries` multiples of each point, affine, from 1 on. digits: recode's. Threads
// beside each other have rows that are `period` apart, a divisor of rows: so they read the
// same part of the table where the points of a row come again after so many.
// Cost: terms (8M + 2S).
PIPPIN_KERNEL((128, loop_blocks), row_windows)
(const uint32_t* table, uint64_t entries, uint64_t points, uint32_t* to, const uint32_t* digits, uint64_t scalars,
 uint64_t windows, const uint32_t* beta, uint64_t first, uint64_t first_scalar, uint64_t rows, uint64_t terms,
 uint64_t parts, uint64_t period) {
  using F = hot_field;
  const uint64_t k = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= rows * windows * parts) return;
  const uint64_t copies = rows / period, rank = k % rows, part = k / rows % parts, v = k / rows / parts;
  const uint64_t row = rank % copies * period + rank / copies;
  const int8_t* const digit_at = reinterpret_cast<const int8_t*>(digits) + v * scalars;
  uint64_t at = (first + row * terms + part) % points, by = (first_scalar + row * terms + part) % scalars;
  const uint64_t step = parts % points, scalar_step = parts % scalars;
  xyzz<F> sum = xyzz_infinity<F>();
#pragma unroll 1
  for (uint64_t i = part; i < terms; i += parts) {
    const int digit = digit_at[by];
    const uint32_t* const entry = table + (at * entries + (digit < 0 ? -digit : digit) - 1) * affine_words;
    at += step;
    if (at >= points) at -= points;
    by += scalar_step;
    if (by >= scalars) by -= scalars;
    if (digit != 0) add_in_loop(sum, neg_if(digit < 0, load_affine<F>(entry)));
  }
  if (v % 2 == 1) sum.x = F::mul(sum.x, F::load_raw(beta));
  store_xyzz_raw(to + ((row * windows + v) * parts + part) * row_sum_words, sum);
}

// to[i] = the sum over k < terms of 2^(bits k) times sum i terms + k: XYZZ, Jacobian if last.
// Cost: 4M a term, 3M a bit, one after the other; M if last.
PIPPIN_KERNEL((128), join_sums)
(const uint32_t* from, uint64_t terms, uint64_t bits, flag last, uint32_t* to, uint64_t count) {
  const uint64_t i = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) / 4;
  const uint32_t lane = threadIdx.x % warp::size, elements = last ? jacobian_elements : sum_elements;
  // Lanes that have none add up what others do, since every lane takes part.
  from += (i < count ? i : 0) * terms * row_sum_words;
  quad::elem sum = quad::load(from + (terms - 1) * row_sum_words, lane);
#pragma unroll 1
  for (uint64_t k = terms - 1; k-- > 0;) {
#pragma unroll 1
    for (uint64_t d = 0; d < bits; d++) sum = quad::dbl(sum, lane);
    sum = quad::add(sum, quad::load(from + k * row_sum_words, lane), lane);
  }
  if (last) sum = quad::to_jacobian(sum, lane);
  if (i < count && lane % 4 < elements) cold_field::store_raw(to + (i * elements + lane % 4) * words, sum);
}

}  // namespace pippin::grid
