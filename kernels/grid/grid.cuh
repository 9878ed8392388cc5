// grid.cuh: what every file of kernels/grid shares. A file is one phase of an
// MSM; its kernels are extern "C", and every parameter has 64 bits.
//
// Vocabulary
//   set      one set of buckets: a window of c bits of the scalars, or several
//            windows that share it because their points were multiplied
//            beforehand. A launch covers all sets; blockIdx.y is the set
//   entry    one non-zero digit of one scalar: a key, which is the bucket in
//            its set, and a value, which is the point with its sign
//   run      the entries of one bucket, consecutive once they are sorted
//   task     a piece of a run that one thread adds up, at most `piece` entries
//   slot     where the sum of a task goes whose bucket has more than one
//
// The kernels also compile for the host, where host/launch.h runs the threads
// of a block as fibers: nothing here uses more of CUDA than that file offers.
#pragma once
#include <cstdint>

#if !defined(__CUDACC__)
#include "host/launch.h"
#endif

// A kernel's symbol: pippin_<name>, or with the curve (and group) that the file
// is compiled for, as in pippin_bn254_g1_accumulate. bounds: (threads a block)
// or (threads a block, least blocks a multiprocessor). Nothing in these files is
// local to one of them: such symbols get random names, and a rebuild must give
// the same bytes.
#if defined(__CUDACC__)
#define PIPPIN_ENTRY(bounds, symbol) extern "C" __global__ void __launch_bounds__ bounds symbol
#else
#define PIPPIN_ENTRY(bounds, symbol) void host_##symbol  // host/launch.h exports it under its name
#endif
#define PIPPIN_ENTRY_OF(bounds, symbol) PIPPIN_ENTRY(bounds, symbol)
#define PIPPIN_PASTE(a, b) a##b
#define PIPPIN_JOIN(a, b) PIPPIN_PASTE(a, b)
#define PIPPIN_OF_CURVE(name) PIPPIN_JOIN(PIPPIN_JOIN(pippin_, PIPPIN_CURVE), _##name)
#define PIPPIN_OF_GROUP(name) \
  PIPPIN_JOIN(PIPPIN_JOIN(PIPPIN_JOIN(pippin_, PIPPIN_CURVE), PIPPIN_JOIN(_, PIPPIN_GROUP)), _##name)
#define PIPPIN_KERNEL(bounds, name) PIPPIN_ENTRY_OF(bounds, pippin_##name)
#define PIPPIN_CURVE_KERNEL(bounds, name) PIPPIN_ENTRY_OF(bounds, PIPPIN_OF_CURVE(name))
#define PIPPIN_GROUP_KERNEL(bounds, name) PIPPIN_ENTRY_OF(bounds, PIPPIN_OF_GROUP(name))

namespace pippin::grid {

constexpr uint32_t warp_size = 32, full_warp = 0xffffffffu;

// Entries.
constexpr uint32_t negative = 0x80000000u;  // in a value: the point's negative

// What the phases tell each other about tasks: words in memory, zero before.
struct plan {
  static constexpr uint32_t bins = 1024;  // the longest task, in entries
  uint32_t tasks, slots, splits, unused;
  uint32_t bin[bins];     // tasks of length i+1
  uint32_t cursor[bins];  // where the next task of length i+1 goes
};

// A task: entries start .. start+length of the sorted values go to bucket
// `to`, or to slot `to` when split.
struct task {
  uint32_t start, length_split, to;
};

// A run that became several tasks: their sums are slots first .. first+count.
struct split {
  uint32_t bucket, first, count;
};

// The sum of v over the lanes before this one, in a full warp; and over all.
__device__ __forceinline__ uint32_t warp_scan(uint32_t v, uint32_t lane, uint32_t& total) {
  uint32_t s = v;
  for (uint32_t d = 1; d < warp_size; d *= 2) {
    const uint32_t below = __shfl_up_sync(full_warp, s, d);
    if (lane >= d) s += below;
  }
  total = __shfl_sync(full_warp, s, warp_size - 1);
  return s - v;
}

// The sum of v over the threads before this one in a block of T threads, and
// over all. room is T/32 words of shared memory; two barriers.
template <uint32_t T>
__device__ __forceinline__ uint32_t block_scan(uint32_t v, uint32_t* room, uint32_t& total) {
  constexpr uint32_t warps = T / warp_size;
  const uint32_t lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
  uint32_t mine;
  uint32_t s = warp_scan(v, lane, mine);
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

}  // namespace pippin::grid
