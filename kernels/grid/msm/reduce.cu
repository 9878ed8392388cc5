// reduce.cu: from buckets to one point a set. Compiled for one curve and group.
//
//   fold          sums the slots of split runs, and adds them to the runs' buckets
//   reduce        the sums of neighbours, plain and weighted
//
// planes.cu goes on from there.
#include "sums.cuh"

namespace pippin::grid {

// A tree over the slots of each split, whose root goes to the run's bucket. A thread
// begins with two slots. Where two sums meet, whoever comes first leaves his and ends;
// the second adds it to his own and goes on, so that nobody waits and one launch is all.
// The sums of slots j .. j+d and j+d .. j+2d, d = 2, 4, .. and j a multiple of 2d, meet
// at slot j+d, which is where no others do.
// Cost: an addition for each doubling of the pieces, one after the other.
PIPPIN_KERNEL((128), fold)
(const uint32_t* work, const uint32_t* splits, uint32_t* owners, uint32_t* slots, uint32_t* buckets) {
  const uint64_t all = reinterpret_cast<const tally*>(work)->slots;
  for (uint64_t s = 2 * ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x); s < all; s += 2 * (uint64_t)gridDim.x * blockDim.x) {
    owner* const own = reinterpret_cast<owner*>(owners);
    const split of = reinterpret_cast<const split*>(splits)[own[s].split];
    uint32_t j = (uint32_t)s - of.first, d = 2;
    point_sum sum = law::load_sum(slots + s * sum_words);
    if (j + 1 < of.count) add_into(sum, law::load_sum(slots + (s + 1) * sum_words));
    for (; d < of.count; d *= 2) {
      const uint32_t right = j | d;
      if (right >= of.count) continue;  // there is no other
      law::store_sum(slots + ((uint64_t)of.first + j) * sum_words, sum);
      __threadfence();
      if (atomicAdd(&own[of.first + right].come, 1u) == 0) break;
      __threadfence();
      add_into(sum, law::load_sum(slots + ((uint64_t)of.first + (j ^ d)) * sum_words));
      j &= ~d;
    }
    if (d < of.count) continue;
    uint32_t* const bucket = buckets + of.bucket * sum_words;
    add_into(sum, law::load_sum(bucket));
    law::store_sum(bucket, sum);
  }
}

// Thread t of set y takes the buckets B_k from t 2^log_m on and leaves their sum
// in the place of the first and sum of (k+1) B_k in that of the second. log_m >= 1.
// With a radix of digits modulo six units, bucket b 2^bits + a-1 is that of a + b (1 + w): places
// outside of the hexagon are not read, and threads go down the columns.
// Cost: two additions a bucket, one after the other.
PIPPIN_KERNEL((128), reduce)(uint32_t* buckets, uint64_t log_buckets, uint64_t log_m, uint64_t radix) {
  const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  const uint64_t log_nodes = log_buckets - log_m, bits = log_buckets / 2;
  if (t >= 1ull << log_nodes) return;
  const uint64_t node = down_columns(t, log_nodes, radix ? bits : 0);
  uint32_t* at = buckets + (((uint64_t)blockIdx.y << log_buckets) + (node << log_m)) * sum_words;
  int64_t count = 1ll << log_m;
  if (in_rows && radix) {
    const int64_t m = (int64_t)radix, b = (int64_t)(node << log_m >> bits), before = (int64_t)(node << log_m & ((1ull << bits) - 1));
    const int64_t most = (m - b) / 2 < m - 2 * b ? (m - b) / 2 : m - 2 * b;  // 2a + b <= m, a + 2b <= m
    count = most - before < count ? most - before : count;
  }
  // Each of the sums B_k + B_(k+1) + .., once.
  point_sum run = law::zero(), weighted = run;
#pragma unroll 1
  for (int64_t k = count - 1; k >= 0; k--) {
    add_into(run, law::load_sum(at + k * sum_words));
    add_into(weighted, run);
  }
  law::store_sum(at, run);
  law::store_sum(at + sum_words, weighted);
}

}  // namespace pippin::grid
