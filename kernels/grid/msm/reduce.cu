// reduce.cu: from buckets to one point a set. Compiled for one curve and group.
//
//   fold          sums the slots of a split run, `width` to one, round by round
//   fold_finish   adds what is left to the run's bucket
//   reduce        the sums of neighbours, plain and weighted
//
// planes.cu goes on from there.
#include "sums.cuh"

namespace pippin::grid {

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

// Thread t of set y takes the buckets B_k from t 2^log_m on and leaves their sum
// in the place of the first and sum of (k+1) B_k in that of the second. log_m >= 1.
// Cost: two additions a bucket, one after the other.
PIPPIN_KERNEL((128), reduce)(uint32_t* buckets, uint64_t log_buckets, uint64_t log_m) {
  const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= 1ull << (log_buckets - log_m)) return;
  uint32_t* at = buckets + (((uint64_t)blockIdx.y << log_buckets) + (t << log_m)) * sum_words;
  // Each of the sums B_k + B_(k+1) + .., once.
  point_sum run = law::zero(), weighted = run;
#pragma unroll 1
  for (int64_t k = (1ll << log_m) - 1; k >= 0; k--) {
    add_into(run, law::load_sum(at + k * sum_words));
    add_into(weighted, run);
  }
  law::store_sum(at, run);
  law::store_sum(at + sum_words, weighted);
}

}  // namespace pippin::grid
