// scan.cuh: sums over the threads of a block.
#pragma once
#include "../warp/lanes.cuh"

namespace pippin::block {

// The sum of v over the threads before this one in a block of T threads, and
// over all. Every thread calls.
//   memory   room: T/32 words of shared memory; free to be used again after the
//            block's next barrier
//   scope    one block of T threads in one dimension; two barriers
//   cost     a warp's scan and T/32 reads of shared memory
template <uint32_t T>
__device__ __forceinline__ uint32_t scan(uint32_t v, uint32_t* room, uint32_t& total) {
  constexpr uint32_t warps = T / warp::size;
  const uint32_t lane = threadIdx.x % warp::size, warp = threadIdx.x / warp::size;
  uint32_t mine;
  uint32_t s = warp::scan(v, lane, mine);
  __syncthreads();
  if (lane == 0) room[warp] = mine;
  __syncthreads();
  total = 0;
  for (uint32_t w = 0; w < warps; w++) {
    const uint32_t t = room[w];
    if (w < warp) s += t;
    total += t;
  }
  return s;
}

}  // namespace pippin::block
