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
#include "group.cuh"

namespace pippin::grid {

using law = cold_law;
using point_sum = law::sum;
constexpr uint64_t sum_words = law::sum_words;

// Additions are functions of their own too, on sums in memory or registers as
// the compiler finds best.
PIPPIN_CALLED void add_into(point_sum& a, const point_sum& b) { law::add(a, b); }
PIPPIN_CALLED void double_in_place(point_sum& a) { law::dbl(a); }

// One round: of a split with n = ceil(count / done) slots left, slot j becomes
// the sum of slots j, j+m, j+2m, .. with m = ceil(n / width). A thread a slot.
PIPPIN_KERNEL((128), fold)
(const uint32_t* work, const uint32_t* splits, const uint32_t* owner, uint32_t* slots, uint64_t done, uint64_t width) {
  const uint64_t all = reinterpret_cast<const tally*>(work)->slots;
  for (uint64_t s = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; s < all; s += (uint64_t)gridDim.x * blockDim.x) {
    const uint32_t* of = splits + 3 * (uint64_t)owner[s];
    const uint64_t j = s - of[1], n = (of[2] + done - 1) / done, m = (n + width - 1) / width;
    if (j >= m || n == 1) continue;
    point_sum sum = law::load_sum(slots + s * sum_words);
    for (uint64_t k = j + m; k < n; k += m) add_into(sum, law::load_sum(slots + (of[1] + k) * sum_words));
    law::store_sum(slots + s * sum_words, sum);
  }
}

// A thread a split.
PIPPIN_KERNEL((128), fold_finish)
(const uint32_t* work, const uint32_t* splits, const uint32_t* slots, uint32_t* buckets) {
  const uint64_t all = reinterpret_cast<const tally*>(work)->splits;
  for (uint64_t s = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; s < all; s += (uint64_t)gridDim.x * blockDim.x) {
    uint32_t* bucket = buckets + splits[3 * s] * sum_words;
    point_sum sum = law::load_sum(bucket);
    add_into(sum, law::load_sum(slots + splits[3 * s + 1] * sum_words));
    law::store_sum(bucket, sum);
  }
}

// One level: thread t of set y takes the 2^log_m places from t 2^log_m on, a
// place being 2^log_stride points. log_stride = 0 is the first level.
PIPPIN_KERNEL((128), reduce)
(uint32_t* buckets, uint64_t log_buckets, uint64_t log_stride, uint64_t log_m) {
  const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= 1ull << (log_buckets - log_stride - log_m)) return;
  const uint64_t step = sum_words << log_stride;
  uint32_t* at = buckets + ((uint64_t)blockIdx.y << log_buckets) * sum_words + (t << log_m) * step;
  const bool first = log_stride == 0;

  // sum of k S_k: each of the sums S_k + S_(k+1) + .. for k >= 1, once; at the
  // first level for k >= 0, because weights begin at 1.
  point_sum run = law::zero(), weighted = run;
#pragma unroll 1
  for (int64_t k = (1ll << log_m) - 1; k >= 0; k--) {
    add_into(run, law::load_sum(at + k * step));
    if (k > 0 || first) add_into(weighted, run);
  }
  if (!first) {
#pragma unroll 1
    for (uint64_t d = 0; d < log_stride; d++) double_in_place(weighted);
#pragma unroll 1
    for (int64_t k = 0; k < 1ll << log_m; k++) add_into(weighted, law::load_sum(at + k * step + sum_words));
  }
  law::store_sum(at, run);
  law::store_sum(at + sum_words, weighted);
}

// sums: [set] in the law's layout of results, gnark-crypto's Jacobian one. After the last level.
PIPPIN_KERNEL((32), set_sums)
(const uint32_t* buckets, uint64_t log_buckets, uint64_t sets, uint32_t* sums) {
  const uint64_t set = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (set >= sets) return;
  law::store_result(sums + set * law::result_words, law::load_sum(buckets + ((set << log_buckets) + 1) * sum_words));
}

}  // namespace pippin::grid
