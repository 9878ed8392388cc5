// lanes.cuh: what the 32 threads of a warp tell each other.
//
// Contract of the whole file
//   scope    one warp; every lane of it calls, with the same control flow
//   memory   none; shuffles and ballots order nothing else
#pragma once
#include <cstdint>

#if !defined(__CUDACC__)
#include "../host/launch.h"
#endif

namespace pippin::warp {

constexpr uint32_t size = 32, all = 0xffffffffu;

// The sum of v over the lanes before this one, and over all.
//
//   d = 1   0 1 2 3 ..      each lane adds what the lane d below it has,
//           |\|\|\|         where there is one; after 5 rounds lane i has
//   d = 2   0 1 2 3 ..      v_0 + .. + v_i
//
// Cost: 6 shuffles.
__device__ __forceinline__ uint32_t scan(uint32_t v, uint32_t lane, uint32_t& total) {
  uint32_t s = v;
  for (uint32_t d = 1; d < size; d *= 2) {
    const uint32_t below = __shfl_up_sync(all, s, d);
    if (lane >= d) s += below;
  }
  total = __shfl_sync(all, s, size - 1);
  return s - v;
}

}  // namespace pippin::warp
