// probe.cuh: how a device function becomes an entry that a test can call. An
// operation is a struct with its words in and out and a function that does one
// item; the same source runs the items in a loop on the host, or as one kernel
// with a thread an item on the GPU.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../../thread/ptx.cuh"

namespace pippin::probe {

// entry is an operation of the table. run reads count items of `in` words each
// and writes count results of `out` words.
struct entry {
  const char* name;
  int in, out;
  void (*run)(uint32_t* out, const uint32_t* in, size_t count);
};

#if defined(__CUDACC__)

// Ends the program when a call of the runtime failed; a probe has no way on.
inline void must(cudaError_t e, const char* call) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "probe: %s: %s\n", call, cudaGetErrorString(e));
  std::exit(1);
}

// Items are packed; operations see theirs aligned for vector loads.
template <class Op>
__global__ void kernel(uint32_t* out, const uint32_t* in, uint64_t count) {
  const uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
  if (i >= count) return;
  alignas(16) uint32_t x[Op::in], r[Op::out];
  for (int k = 0; k < Op::in; k++) x[k] = in[i * Op::in + k];
  Op::apply(r, x);
  for (int k = 0; k < Op::out; k++) out[i * Op::out + k] = r[k];
}

template <class Op>
void run(uint32_t* out, const uint32_t* in, size_t count) {
  if (count == 0) return;
  uint32_t *din, *dout;
  const size_t in_bytes = count * Op::in * 4, out_bytes = count * Op::out * 4;
  must(cudaMalloc(&din, in_bytes), "cudaMalloc");
  must(cudaMalloc(&dout, out_bytes), "cudaMalloc");
  must(cudaMemcpy(din, in, in_bytes, cudaMemcpyHostToDevice), "copy in");
  must(cudaMemset(dout, 0xa5, out_bytes), "cudaMemset");
  kernel<Op><<<(unsigned)((count + 63) / 64), 64>>>(dout, din, count);
  must(cudaGetLastError(), "launch");
  must(cudaMemcpy(out, dout, out_bytes, cudaMemcpyDeviceToHost), "copy out");
  must(cudaFree(din), "cudaFree");
  must(cudaFree(dout), "cudaFree");
}

#else

template <class Op>
void run(uint32_t* out, const uint32_t* in, size_t count) {
  for (size_t i = 0; i < count; i++) Op::apply(out + i * Op::out, in + i * Op::in);
}

#endif

// The tables of the parts that this program is linked from.
using table = std::vector<entry>;

}  // namespace pippin::probe

// PROBE(op, arg) is the entry "op/arg" of the operation op<arg>.
#define PROBE(op, arg)                                                    \
  pippin::probe::entry {                                                  \
#op "/" #arg, pippin::probe::op<pippin::probe::arg>::in,              \
        pippin::probe::op<pippin::probe::arg>::out,                       \
        pippin::probe::run<pippin::probe::op<pippin::probe::arg>>         \
  }

// PROBE_N(op, n) is the same for a number as the argument.
#define PROBE_N(op, n)                                                    \
  pippin::probe::entry {                                                  \
#op "/" #n, pippin::probe::op<n>::in, pippin::probe::op<n>::out,      \
        pippin::probe::run<pippin::probe::op<n>>                          \
  }

// OP and OP_T define an operation on limbs of a number N or on a type T: words
// in, words out, and what it does with r (results) and x (operands).
#define OP(name, words_in, words_out, ...)                                \
  template <int N>                                                        \
  struct name {                                                           \
    static constexpr int in = words_in, out = words_out;                  \
    PIPPIN_HD static void apply(uint32_t* r, [[maybe_unused]] const uint32_t* x) { __VA_ARGS__ } \
  };
#define OP_T(name, words_in, words_out, ...)                              \
  template <class T>                                                      \
  struct name {                                                           \
    static constexpr int in = words_in, out = words_out;                  \
    PIPPIN_HD static void apply(uint32_t* r, [[maybe_unused]] const uint32_t* x) { __VA_ARGS__ } \
  };
