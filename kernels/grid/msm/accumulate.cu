// accumulate.cu: the hot phase. A thread adds up the points of one task.
// Compiled for one curve, group and law.
#include "group.cuh"
#if defined(PIPPIN_UNITS)
#include "units.cuh"
#endif

namespace pippin::grid {

// The law of the loop. Over Fp of 8 limbs and in Edwards form its products are loop_field's.
// Over 12 limbs an XYZZ sum would have 182 registers for 167 with them: a block less.
#if defined(PIPPIN_EDWARDS)
using loop_law = edwards_law<curve, loop_field<curve::fp>>;
#elif defined(PIPPIN_UNITS)
using loop_law = unit_law<loop_field<curve::fp>, cold_field>;
#else
using loop_law = std::conditional_t<(field::words <= 8), xyzz_law<loop_field<curve::fp>, cold_field>, hot_law>;
#endif

// Point number v of the points that a law adds up, as its load has it.
template <Law L>
__device__ __forceinline__ auto point_at(const uint32_t* points, uint32_t v) {
  if constexpr (requires { L::at(points, v); }) {
    return L::at(points, v);
  } else {
    return points + v * (uint64_t)L::point_words;
  }
}

// Adds `length` entries at values to the sum at out, or to zero where fresh.
// Cost: L's addition, an entry.
template <Law L>
__device__ __forceinline__ void accumulate_task(const uint32_t* values, uint32_t length, const uint32_t* points, uint32_t* out,
                                                bool fresh) {
  typename L::sum sum = fresh ? L::zero() : L::load_sum(out);
  uint32_t next = values[0];
#pragma unroll 1
  for (uint32_t i = 0; i < length; i++) {
    const uint32_t v = next;
    if (i + 1 < length) next = values[i + 1];
    const bool minus = (v & negative) != 0;
    const auto src = point_at<L>(points, v & ~negative);
    L::add(sum, L::neg_if(minus, L::load(src)), [&] {
      L::add_equal(out, src, minus);
      sum = L::load_sum(out);
    });
  }
  L::store_sum(out, sum);
}

// values: sorted entries of all sets. points: as the law has them, entry v is
// points[v]. A task adds to buckets[to], or sets slots[to] when its
// run was split; both are the law's sums.
PIPPIN_KERNEL((128), accumulate)
(const uint32_t* work, const uint32_t* tasks, const uint32_t* values, const uint32_t* points, uint32_t* buckets,
 uint32_t* slots) {
  const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= reinterpret_cast<const tally*>(work)->tasks) return;
  const task k = reinterpret_cast<const task*>(tasks)[t];
  const bool is_split = (k.length_split & negative) != 0;
  accumulate_task<loop_law>(values + k.start, k.length_split & ~negative, points,
                           (is_split ? slots : buckets) + k.to * (uint64_t)loop_law::sum_words, is_split);
}

}  // namespace pippin::grid
