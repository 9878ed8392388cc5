// kernel.cuh: how a kernel is declared, for every folder of kernels/grid.
//
// A kernel is extern "C" in namespace pippin::grid, and its parameters are
// pointers, uint64_t or flag, 64 bits each: kernelgen makes a Go struct of them.
// Kernels also compile for the host, where host/launch.h runs the threads of a
// block as fibers: nothing here uses more of CUDA than that file offers.
#pragma once
#include <cstdint>

#if !defined(__CUDACC__)
#include "../host/launch.h"
#endif

// PIPPIN_KERNEL(bounds, name) begins a kernel; bounds are (threads a block) or
// (threads a block, least blocks a multiprocessor). Its symbol is pippin_<name>,
// or with what the file is compiled for, -DPIPPIN_FOR=bn254_g1, as in
// pippin_bn254_g1_accumulate. Nothing in these files is local to one of them:
// such symbols get random names, and a rebuild must give the same bytes.
#if defined(__CUDACC__)
#define PIPPIN_ENTRY(bounds, symbol) extern "C" __global__ void __launch_bounds__ bounds symbol
#else
#define PIPPIN_ENTRY(bounds, symbol) void host_##symbol  // host/launch.h exports it under its name
#endif
#define PIPPIN_ENTRY_OF(bounds, symbol) PIPPIN_ENTRY(bounds, symbol)
#define PIPPIN_PASTE(a, b) a##b
#define PIPPIN_JOIN(a, b) PIPPIN_PASTE(a, b)
#if defined(PIPPIN_FOR)
#define PIPPIN_SYMBOL(name) PIPPIN_JOIN(PIPPIN_JOIN(pippin_, PIPPIN_FOR), _##name)
#else
#define PIPPIN_SYMBOL(name) pippin_##name
#endif
#define PIPPIN_KERNEL(bounds, name) PIPPIN_ENTRY_OF(bounds, PIPPIN_SYMBOL(name))

// PIPPIN_KERNEL_SHARED begins a kernel with dynamic shared memory, which
// PIPPIN_DYNAMIC_SHARED(name) declares in it, as words; the launch says how many.
#define PIPPIN_KERNEL_SHARED(bounds, name) PIPPIN_KERNEL(bounds, name)
#if defined(__CUDACC__)
#define PIPPIN_DYNAMIC_SHARED(name) extern __shared__ uint32_t name[]
#else
#define PIPPIN_DYNAMIC_SHARED(name) uint32_t* const name = pippin::host::dynamic_shared
#endif

namespace pippin::grid {

// A parameter that is 0 or 1; a bool in Go.
using flag = uint64_t;

}  // namespace pippin::grid
