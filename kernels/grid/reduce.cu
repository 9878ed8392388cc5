// reduce.cu: from buckets to one point a set. Compiled for one curve and group.
//
//   fold          sums the slots of a split run, `width` to one, round by round
//   fold_finish   adds what is left to the run's bucket
//   reduce        one level of the weighted sum of a set's buckets
//   set_sums      the result of each set
//
// The weighted sum of buckets B_0 .. B_(n-1), sum of (i+1) B_i, is taken in
// levels. A thread takes m neighbours and leaves two points in the place of the
// first two: their plain sum S and their weighted sum T. The next level takes
// every m-th place: with S_k and T_k of what was k-th,
//
//   sum of (i+1) B_i = sum of T_k + m * sum of k S_k,
//
// so a thread of level l, over the places that are `stride` apart, leaves
// T = sum of T_k + stride * sum of (k mod m) S_k and S = sum of S_k.
#include "grid.cuh"
#include "curve.cuh"
#include "outlined.cuh"

namespace pippin::grid {

using cold = outlined<field>;
using point = xyzz<cold>;
constexpr uint64_t point_words = 4 * cold::words;

// Additions are functions of their own too, on points in memory or registers as
// the compiler finds best.
PIPPIN_CALLED void add_into(point& a, const point& b) { a = add(a, b); }
PIPPIN_CALLED void double_in_place(point& a) { a = dbl(a); }

}  // namespace pippin::grid

// One round: of a split with n = ceil(count / done) slots left, slot j becomes
// the sum of slots j, j+m, j+2m, .. with m = ceil(n / width). A thread a slot.
PIPPIN_GROUP_KERNEL((128), fold)
(const uint32_t* work, const uint32_t* splits, const uint32_t* owner, uint32_t* slots, uint64_t done, uint64_t width) {
  using namespace pippin;
  using namespace pippin::grid;
  const uint64_t all = reinterpret_cast<const plan*>(work)->slots;
  for (uint64_t s = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; s < all; s += (uint64_t)gridDim.x * blockDim.x) {
    const uint32_t* of = splits + 3 * (uint64_t)owner[s];
    const uint64_t j = s - of[1], n = (of[2] + done - 1) / done, m = (n + width - 1) / width;
    if (j >= m || n == 1) continue;
    point sum = load_xyzz<cold>(slots + s * point_words);
    for (uint64_t k = j + m; k < n; k += m) add_into(sum, load_xyzz<cold>(slots + (of[1] + k) * point_words));
    store_xyzz_raw(slots + s * point_words, sum);
  }
}

// A thread a split.
PIPPIN_GROUP_KERNEL((128), fold_finish)
(const uint32_t* work, const uint32_t* splits, const uint32_t* slots, uint32_t* buckets) {
  using namespace pippin;
  using namespace pippin::grid;
  const uint64_t all = reinterpret_cast<const plan*>(work)->splits;
  for (uint64_t s = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; s < all; s += (uint64_t)gridDim.x * blockDim.x) {
    uint32_t* bucket = buckets + splits[3 * s] * point_words;
    point sum = load_xyzz<cold>(bucket);
    add_into(sum, load_xyzz<cold>(slots + splits[3 * s + 1] * point_words));
    store_xyzz_raw(bucket, sum);
  }
}

// One level: thread t of set y takes the 2^log_m places from t 2^log_m on, a
// place being 2^log_stride points. log_stride = 0 is the first level.
PIPPIN_GROUP_KERNEL((128), reduce)
(uint32_t* buckets, uint64_t log_buckets, uint64_t log_stride, uint64_t log_m) {
  using namespace pippin;
  using namespace pippin::grid;
  const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= 1ull << (log_buckets - log_stride - log_m)) return;
  const uint64_t step = point_words << log_stride;
  uint32_t* at = buckets + ((uint64_t)blockIdx.y << log_buckets) * point_words + (t << log_m) * step;
  const bool first = log_stride == 0;

  // sum of k S_k: each of the sums S_k + S_(k+1) + .. for k >= 1, once; at the
  // first level for k >= 0, because weights begin at 1.
  point run = xyzz_infinity<cold>(), weighted = run;
#pragma unroll 1
  for (int64_t k = (1ll << log_m) - 1; k >= 0; k--) {
    add_into(run, load_xyzz<cold>(at + k * step));
    if (k > 0 || first) add_into(weighted, run);
  }
  if (!first) {
#pragma unroll 1
    for (uint64_t d = 0; d < log_stride; d++) double_in_place(weighted);
#pragma unroll 1
    for (int64_t k = 0; k < 1ll << log_m; k++) add_into(weighted, load_xyzz<cold>(at + k * step + point_words));
  }
  store_xyzz_raw(at, run);
  store_xyzz_raw(at + point_words, weighted);
}

// sums: [set] in gnark-crypto's Jacobian layout. After the last level.
PIPPIN_GROUP_KERNEL((32), set_sums)
(const uint32_t* buckets, uint64_t log_buckets, uint64_t sets, uint32_t* sums) {
  using namespace pippin;
  using namespace pippin::grid;
  const uint64_t set = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (set >= sets) return;
  const point p = load_xyzz<cold>(buckets + ((set << log_buckets) + 1) * point_words);
  store_jacobian(sums + set * 3 * cold::words, to_jacobian(p));
}
