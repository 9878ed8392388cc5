// counters.cuh: counters that the threads of a warp add to at once.
// Contract: that of lanes.cuh, the counters' memory apart.
#pragma once
#include "lanes.cuh"

namespace pippin::warp {

// Adds one to counters[at] for every lane that takes part, and answers what the counter
// was before: different numbers for lanes with one counter. Where many lanes have one,
// as `agree` says, those that agree with lane 0 are one addition; it is as right, and
// slower, where they have not. All lanes of the warp have one `agree`.
// Cost: an addition in memory; with agree two shuffles and a ballot more.
__device__ __forceinline__ uint32_t take(uint32_t* counters, uint32_t at, bool takes_part, bool agree) {
  if (!agree) return takes_part ? atomicAdd(&counters[at], 1u) : 0;
  const uint32_t lane = threadIdx.x % size;
  const uint32_t mine = takes_part ? at : ~0u, lead = __shfl_sync(all, mine, 0);
  const uint32_t same = __ballot_sync(all, mine == lead);
  const bool led = mine == lead;
  uint32_t before = 0;
  if (takes_part && (!led || lane == 0)) before = atomicAdd(&counters[at], led ? (uint32_t)__popc(same) : 1u);
  const uint32_t first = __shfl_sync(all, before, 0);
  return led ? first + (uint32_t)__popc(same & ((1u << lane) - 1)) : before;
}

}  // namespace pippin::warp
