// elements.cuh: numbers of several words that the 32 threads of a warp tell each
// other. Contract: that of lanes.cuh.
#pragma once
#include "../thread/mp.cuh"
#include "lanes.cuh"

namespace pippin::warp {

// What `lane` has as a. Cost: N shuffles.
template <int N>
__device__ __forceinline__ mp::num<N> from(const mp::num<N>& a, uint32_t lane) {
  mp::num<N> r;
  PIPPIN_UNROLL
  for (int i = 0; i < N; i++) r[i] = __shfl_sync(all, a[i], lane);
  return r;
}

}  // namespace pippin::warp
