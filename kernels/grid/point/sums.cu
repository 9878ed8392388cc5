// sums.cu: sums of points, and points between work memory and spaces. Compiled for one
// curve and group.
#include "group.cuh"

namespace pippin::grid {

// to[k] = the sum over the items of point (first + k) mod count of each, or its negative:
// Jacobian. Items: the address of affine points, their count, and 1 to subtract.
PIPPIN_KERNEL((128), add_ranges)
(const uint32_t* items, uint64_t n, uint32_t* to, uint64_t first, uint64_t count) {
  using F = cold_field;
  const uint64_t k = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= count) return;
  jacobian<F> sum = jacobian_infinity<F>();
#pragma unroll 1
  for (uint64_t i = 0; i < n; i++) {
    const uint32_t* const item = items + i * item_words;
    const uint32_t* const src = reinterpret_cast<const uint32_t*>((uint64_t)item[1] << 32 | item[0]);
    add_points_of(sum, to_jacobian(neg_if(item[3] != 0, load_affine<F>(src + (first + k) % item[2] * affine_words))));
  }
  store_raw(to + k * jacobian_words, sum);
}

// to[row parts + k] = the sum of the points of a row whose place is k mod parts. Rows
// have `terms` points of from, from `first` on and mod `points`: Jacobian if projective,
// else affine.
PIPPIN_KERNEL((128), sum_rows)
(const uint32_t* from, uint64_t points, flag projective, uint32_t* to, uint64_t first, uint64_t rows, uint64_t terms,
 uint64_t parts) {
  using F = cold_field;
  const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * parts) return;
  const uint64_t row = i / parts;
  jacobian<F> sum = jacobian_infinity<F>();
#pragma unroll 1
  for (uint64_t k = i % parts; k < terms; k += parts) {
    const uint64_t at = (first + row * terms + k) % points;
    if (projective) {
      add_points_of(sum, load_raw<F>(from + at * jacobian_words));
    } else {
      add_points_of(sum, to_jacobian(load_affine<F>(from + at * affine_words)));
    }
  }
  store_raw(to + i * jacobian_words, sum);
}

// to[i] = from[i], affine; of rows of 2^log_reversed points in reversed order where that
// is not 0. A thread takes `each` points, which share an inversion; they are the grid's
// threads apart. scratch: an element of the coordinates' field a point. Cost: 6M + S a
// point, and an inversion a thread.
PIPPIN_KERNEL((128), normalise)
(const uint32_t* from, uint32_t* to, uint64_t n, uint64_t each, uint64_t log_reversed, uint32_t* scratch) {
  using F = cold_field;
  const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, threads = (n + each - 1) / each;
  if (t >= threads) return;
  typename F::elem product = F::one();
  uint64_t i = t;
#pragma unroll 1
  for (; i < n; i += threads) {
    const auto z = F::load_raw(from + i * jacobian_words + 2 * words);
    F::store_raw(scratch + i * words, product);
    if (!F::is_zero(z)) product = F::mul(product, z);
  }
  typename F::elem inverse = F::inv(product);
#pragma unroll 1
  while (i > t) {
    i -= threads;
    const jacobian<F> p = load_raw<F>(from + i * jacobian_words);
    affine<F> result = affine_infinity<F>();
    if (!is_infinity(p)) {
      const auto one_over_z = F::mul(inverse, F::load_raw(scratch + i * words)), square = F::sqr(one_over_z);
      inverse = F::mul(inverse, p.z);
      result = {F::mul(p.x, square), F::mul(p.y, F::mul(square, one_over_z))};
    }
    uint64_t at = i;
    if (log_reversed > 0) {
      const uint64_t place = i & ((1ull << log_reversed) - 1);
      at = i - place + ptx::reversed((uint32_t)place, (uint32_t)log_reversed);
    }
    store_affine(to + at * affine_words, result);
  }
}

// to, Jacobian rows of 2^log points, from rows of `given` affine points: the others are
// infinity.
PIPPIN_KERNEL((128), spread)
(const uint32_t* from, uint64_t given, uint32_t* to, uint64_t log, uint64_t n) {
  using F = cold_field;
  const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uint64_t row = i >> log, place = i & ((1ull << log) - 1);
  jacobian<F> p = jacobian_infinity<F>();
  if (place < given) p = to_jacobian(load_affine<F>(from + (row * given + place) * affine_words));
  store_raw(to + i * jacobian_words, p);
}

// A level of a transform, without its products: of each of the pairs of points that are
// `half` apart in nodes of 2 half, a + b and a - b. Cost: 24M + 8S.
PIPPIN_KERNEL((128), combine)
(uint32_t* data, uint64_t half, uint64_t pairs) {
  using F = cold_field;
  const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pairs) return;
  uint32_t* const left = data + (i / half * 2 * half + i % half) * jacobian_words;
  uint32_t* const right = left + half * jacobian_words;
  const jacobian<F> a = load_raw<F>(left), b = load_raw<F>(right);
  jacobian<F> sum = a;
  add_points_of(sum, b);
  store_raw(left, sum);
  sum = a;
  add_points_of(sum, neg(b));
  store_raw(right, sum);
}

}  // namespace pippin::grid
