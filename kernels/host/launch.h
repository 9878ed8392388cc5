// launch.h: as much of CUDA as the kernels use, for the host.
// A block's threads are fibers that run in turn; a barrier or a warp's exchange
// is where one gives way to the next. Blocks run one after the other, so that
// __shared__ is static. Slow, and exact: every lane reaches every exchange or
// the program stops.
//
// The script build compiles the kernels into a shared object for the fake driver of
// internal/cuda/driver/fakecuda, so that the whole backend is tested without a
// GPU.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "fakecuda.h"

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

// The dynamic shared memory of the block that runs. What a block leaves in it
// the next one finds, as on a GPU.
extern uint32_t* dynamic_shared;

// Runs f for every thread of a grid; with fibers when threads wait for each other.
void launch(const fakecuda_launch& l, bool fibers, const std::function<void()>& f);

// A kernel by its address: every parameter has 64 bits.
template <class... P, size_t... I>
void run(void (*kernel)(P...), std::index_sequence<I...>, bool fibers, const fakecuda_launch& l, void** params) {
  launch(l, fibers, [&] { kernel((P) * static_cast<uint64_t*>(params[I])...); });
}
template <class... P>
constexpr int params(void (*)(P...)) {
  return sizeof...(P);
}

}  // namespace pippin::host

// Exports a kernel as the fake driver wants it.
#define PIPPIN_EXPORT(symbol, fibers)                                                                      \
  extern "C" __attribute__((visibility("default"))) const int symbol##_params;                             \
  const int symbol##_params = pippin::host::params(host_##symbol);                                         \
  extern "C" __attribute__((visibility("default"))) void symbol(const fakecuda_launch* l, void** params) { \
    pippin::host::run(host_##symbol, std::make_index_sequence<(size_t)symbol##_params>(), fibers, *l, params); \
  }

inline void __syncthreads() { pippin::host::block_barrier(); }
inline void __threadfence() {}
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
