// launch.h: as much of CUDA as the kernels of this folder use, for the host.
// A block's threads are fibers that run in turn; a barrier or a warp's exchange
// is where one gives way to the next. Blocks run one after the other, so that
// __shared__ is static. Slow, and exact: every lane reaches every exchange or
// the program stops.
#pragma once
#include <cstdint>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)

struct dim3 {
  uint32_t x = 1, y = 1, z = 1;
};
extern dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace pippin::host {

// Waits for all threads of the block that have not returned.
void block_barrier();
// Gives v to the warp and returns what `lane` gave; bits of all lanes' v != 0.
uint32_t warp_exchange(uint32_t v, uint32_t lane);
uint32_t warp_ballot(bool v);

}  // namespace pippin::host

inline void __syncthreads() { pippin::host::block_barrier(); }
inline void __syncwarp() { pippin::host::warp_ballot(true); }
inline uint32_t __ballot_sync(uint32_t, bool v) { return pippin::host::warp_ballot(v); }
inline uint32_t __shfl_sync(uint32_t, uint32_t v, uint32_t lane) { return pippin::host::warp_exchange(v, lane); }
inline uint32_t __shfl_up_sync(uint32_t, uint32_t v, uint32_t d) {
  const uint32_t lane = threadIdx.x % 32;
  return pippin::host::warp_exchange(v, lane >= d ? lane - d : lane);
}
inline int __popc(uint32_t v) { return __builtin_popcount(v); }
inline int __ffs(uint32_t v) { return __builtin_ffs((int)v); }
inline uint32_t atomicAdd(uint32_t* p, uint32_t v) {
  const uint32_t old = *p;
  *p += v;
  return old;
}
inline uint32_t atomicMin(uint32_t* p, uint32_t v) {
  const uint32_t old = *p;
  if (v < old) *p = v;
  return old;
}
