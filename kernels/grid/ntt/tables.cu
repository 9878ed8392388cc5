// tables.cu: what transforms read beside their vectors, and the reversal of a
// vector's order. Compiled for one curve's scalar field.
//
//   rows     the table of rows
//   powers   powers of a shift
//   shift_rows  rows with powers of a shift in them
//   reverse  elements of vectors to the places of reversed order, in place
#include "dft.cuh"
#include "field.cuh"
#include "layout.cuh"
#include "pass.cuh"

namespace pippin::grid {

using prime = prime_field<field>;
constexpr int words = field::limbs;

PIPPIN_HD mp::factor<words> factor(const prime::elem& a) {
  return mp::make_factor(reduce<1>(a).v, static_modulus<field>{});
}

// Row r: t^0 .. t^7 of node r << shift, and of a node that would be at an angle
// of 1/8 in the place after the last. A thread a row.
PIPPIN_KERNEL((128), rows)
(uint32_t* rows, uint64_t count, uint64_t shift) {
  const uint64_t r = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (r > count) return;
  // 2^28 times the angle of t.
  const uint32_t angle = r == count ? 1u << (most_log_n - 3) : ptx::reversed((uint32_t)(r << shift << log_row), most_log_n);
  prime::elem base, t = prime::one();
  PIPPIN_UNROLL
  for (int i = 0; i < words; i++) base.v[i] = roots::root(i);
  PIPPIN_LOOP
  for (uint32_t i = 0; i < most_log_n; i++) {
    if (angle >> i & 1) t = prime::mul(t, base);
    base = prime::sqr(base);
  }
  prime::elem power = prime::one();
  PIPPIN_LOOP
  for (uint32_t k = 0; k < 1 << log_row; k++) {
    store_factor(row_of<words>(rows, r) + k * factor_words<words>, factor(power));
    power = prime::mul(power, t);
  }
}

// The powers of *base below 2^log_low, and from there on those of its
// 2^log_low-th power. A thread a power.
PIPPIN_KERNEL((128), powers)
(uint32_t* powers, const uint32_t* base) {
  const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= shift_powers) return;
  const uint32_t exponent = i < 1 << log_low ? (uint32_t)i : (uint32_t)(i - (1 << log_low)) << log_low;
  prime::elem b = prime::load(base), power = prime::one();
  PIPPIN_LOOP
  for (uint32_t e = exponent; e != 0; e >>= 1) {
    if (e & 1) power = prime::mul(power, b);
    b = prime::sqr(b);
  }
  prime::store(powers + i * words, power);
}

// Row 2^s + b of `to`: t^e of node b of a step s levels down, multiplied by the
// e 2^(log_n-s-3)-th power of a shift, whose tables `powers` made; for the inverse
// with the row after the last instead of node 0. A thread an element; rows has 2^log_rows rows and one.
PIPPIN_KERNEL((128), shift_rows)
(uint32_t* to, const uint32_t* rows, uint64_t log_rows, const uint32_t* powers, uint64_t log_n, flag inverse) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, row = i >> log_row, e = i & ((1u << log_row) - 1);
  if (row == 0 || row >= 1u << log_shift_rows) return;
  uint32_t s = 0;
  while (row >> s > 1) s++;
  const uint32_t b = row - (1u << s), from = inverse && b == 0 ? 1u << log_rows : b;
  const uint32_t exponent = (uint32_t)(((uint64_t)e << log_n) >> (s + log_row)) & ((1u << log_n) - 1);
  const uint32_t low = exponent & ((1u << log_low) - 1), top = exponent >> log_low;
  prime::elem x = prime::load(powers + low * words);
  x = prime::mul(x, prime::load(powers + ((1u << log_low) + top) * words));
  x = reduce<prime::bound>(mul(x, load_factor<words>(row_of<words>(rows, from) + e * factor_words<words>)));
  store_factor(row_of<words>(to, row) + e * factor_words<words>, factor(x));
}

// Vectors of 2^log_n elements each, `all` together, 8 <= log_n: element i and the
// one at i's bits reversed change places. A block has the elements whose first and
// last four bits are any and the others fixed, whose partners are another block's.
PIPPIN_KERNEL((256), reverse)
(uint32_t* data, uint64_t all, uint64_t log_n) {
  const uint32_t log_blocks = (uint32_t)log_n - 8;  // of a vector
  const uint64_t block = blockIdx.x;
  const uint64_t first = block >> log_blocks << log_n;
  if (first >= all) return;
  const uint32_t middle = (uint32_t)(block & ((1ull << log_blocks) - 1));
  const uint32_t i = (threadIdx.x >> 4) << (log_n - 4) | middle << 4 | (threadIdx.x & 15), j = ptx::reversed(i, (uint32_t)log_n);
  if (i >= j) return;
  uint32_t *x = data + (first + i) * words, *y = data + (first + j) * words;
  const mp::num<words> a = load_words<words>(x), b = load_words<words>(y);
  store_words(x, b);
  store_words(y, a);
}

}  // namespace pippin::grid
