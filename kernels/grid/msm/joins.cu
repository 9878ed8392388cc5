// joins.cu: a step of planes.cu whose sums are few, by four lanes a sum, so that it ends
// sooner. Compiled for one curve and group.
#include "../../warp/quads.cuh"
#include "sums.cuh"

namespace pippin::grid {

#if defined(PIPPIN_EDWARDS)
using quad = warp::edwards_quad<curve>;
#else
using quad = warp::xyzz_quad<hot_field, cold_field>;
#endif

// What planes does, with quads in place of lanes: log_lanes is the logarithm of the quads
// of a group, which are of one warp.
// Cost: 2^log_each - 1 + log_lanes additions, one after the other.
PIPPIN_KERNEL((128), joins)
(const uint32_t* in, uint64_t set_stride, uint64_t node_stride, uint64_t log_nodes, uint64_t parts, uint64_t log_lanes,
 uint64_t log_each, uint64_t log_rows, flag last, uint32_t* out) {
  const uint64_t t = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) / 4, set = blockIdx.y;
  const uint32_t quads = 1u << log_lanes, lane = threadIdx.x % warp::size, in_group = lane / 4 % quads;
  const uint64_t log_joined = log_lanes + log_each, log_made = log_nodes - log_joined;
  const uint64_t made_parts = parts + log_joined, made = made_parts << log_made;
  const uint64_t group = t >> log_lanes, part = group >> log_made, node = down_columns(group - (part << log_made), log_made, log_rows);
  in += (set * set_stride + (node << log_joined) * node_stride) * sum_words;
  const bool is_plane = part >= parts;
  const uint64_t bit = is_plane ? part - parts : 0, count = group < made ? (1ull << log_joined) >> (is_plane ? 1 : 0) : 0;

  quad::elem sum = quad::zero(lane);
  const uint32_t each = 1u << log_each, steps = each + (uint32_t)log_lanes;
#pragma unroll 1
  for (uint32_t step = 0; step < steps; step++) {
    quad::elem more;
    if (step < each) {
      const uint64_t i = in_group + (uint64_t)step * quads, below = i & ((1ull << bit) - 1);
      const uint64_t of = is_plane ? (i - below) * 2 + (1ull << bit) + below : i;
      // Lanes that have none read what there is for all, since every lane takes part.
      more = quad::load(i < count ? in + (of * node_stride + (is_plane ? 0 : part)) * sum_words : in, lane);
      if (i >= count) more = quad::zero(lane);
    } else {
      const uint32_t d = quads >> (step - each + 1);
      more = warp::object_from(sum, in_group < d ? lane + 4 * d : lane);
      if (in_group >= d) more = quad::zero(lane);
    }
    sum = step == 0 ? more : quad::add(sum, more, lane);
  }
  const uint64_t at = (set << log_made) * made_parts + node * made_parts + part;
  if (last) {
    const point_sum s = quad::whole(sum, lane);
    if (group < made && in_group == 0 && lane % 4 == 0) law::store_result(out + at * law::result_words, s);
  } else if (group < made && in_group == 0) {
    hot_field::store_raw(out + at * sum_words + lane % 4 * field::words, sum);
  }
}

}  // namespace pippin::grid
