// planes.cu: from the sums of neighbours to a few points a set, without a chain of
// additions. Compiled for one curve and group.
//
// The weighted sum of a set's buckets, sum of (i+1) B_i, is left in parts. A node
// stands for 2^k neighbours and has these sums over them, in this order:
//
//   0        plain      sum of B_i
//   1        weighted   sum of (i mod 2^m + 1) B_i, 2^m buckets being what reduce took
//   2 + j    plane j    sum of the B_i that have bit m+j of i set, m+j < k
//
// Neighbours 2^r together are a node again, whose sums are those of theirs, part by
// part, and r planes more: plane k-m+b is the sum of the plain parts of those whose
// number has bit b set. So every sum is a tree of its own, none waits for another,
// and the host ends with weighted + sum of 2^(m+j) plane j.
//
//   nodes   0     1     2     3        r = 2, of four nodes:
//   plain   p0  + p1  + p2  + p3       plain of the new one
//           .     p1  + .   + p3       plane of the low bit
//           .     .     p2  + p3       plane of the high bit
#include "../../warp/objects.cuh"
#include "sums.cuh"

namespace pippin::grid {

// in: [set][node][part], set_stride and node_stride sums apart, 2^log_nodes nodes of
// `parts` parts a set; out: [set][node][part] without gaps, or results of the law when
// last. A warp has parts of 2^(log_lanes + log_each) nodes to add up for each of its
// groups of 2^log_lanes lanes: 2^log_each one after the other, the rest as a tree. The nodes
// made are in 2^log_rows rows, or in none for 0.
// Cost: 2^log_each - 1 + log_lanes additions, one after the other.
PIPPIN_KERNEL((128), planes)
(const uint32_t* in, uint64_t set_stride, uint64_t node_stride, uint64_t log_nodes, uint64_t parts, uint64_t log_lanes,
 uint64_t log_each, uint64_t log_rows, flag last, uint32_t* out) {
  const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, set = blockIdx.y;
  const uint32_t lanes = 1u << log_lanes, lane = threadIdx.x % warp::size, in_group = lane % lanes;
  const uint64_t log_joined = log_lanes + log_each, log_made = log_nodes - log_joined;
  const uint64_t made_parts = parts + log_joined, made = made_parts << log_made;
  // Groups with one part follow one another: their lanes do the same.
  const uint64_t group = t >> log_lanes, part = group >> log_made, node = down_columns(group - (part << log_made), log_made, log_rows);

  point_sum sum = law::zero();
  if (group < made) {
    in += (set * set_stride + (node << log_joined) * node_stride) * sum_words;
    const bool is_plane = part >= parts;
    const uint64_t bit = is_plane ? part - parts : 0, count = (1ull << log_joined) >> (is_plane ? 1 : 0);
    for (uint64_t i = in_group; i < count; i += lanes) {
      // Of a new plane only the nodes whose bit is set.
      const uint64_t below = i & ((1ull << bit) - 1);
      const uint64_t of = is_plane ? (i - below) * 2 + (1ull << bit) + below : i;
      add_into(sum, law::load_sum(in + (of * node_stride + (is_plane ? 0 : part)) * sum_words));
    }
  }
  for (uint32_t d = lanes / 2; d > 0; d /= 2) {
    const point_sum above = warp::object_from(sum, in_group < d ? lane + d : lane);
    if (in_group < d) add_into(sum, above);
  }
  if (group >= made || in_group != 0) return;
  const uint64_t at = (set << log_made) * made_parts + node * made_parts + part;
  if (last) {
    law::store_result(out + at * law::result_words, sum);
  } else {
    law::store_sum(out + at * sum_words, sum);
  }
}

}  // namespace pippin::grid
