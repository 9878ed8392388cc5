// measure.cuh: what throughput and tables share: operations on one thread's numbers,
// chains of them in which every result is an operand of the next operation, and how
// such a chain is timed and checked.
#pragma once
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../../thread/mont.cuh"

#if !defined(PIPPIN_SOURCE_DIGEST)
#define PIPPIN_SOURCE_DIGEST "unknown"
#endif

namespace pippin::throughput {

using mp::num;

static void must(cudaError_t e, const char* call) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "throughput: %s: %s\n", call, cudaGetErrorString(e));
  std::exit(1);
}

// pair is the state of a chain: two numbers, for most operations the operands.
template <int N>
struct pair {
  num<N> x, y;
};

// Parameters of an operation that needs none.
struct none {};

// The operations. Each has its state, its parameters (a modulus known at run
// time comes from the constant bank), and a step that does one operation.
template <int N>
struct add_op {
  using state = pair<N>;
  using params = none;
  PIPPIN_HD static state step(const state& s, const params&) { return {s.y, mp::add(s.x, s.y)}; }
};

// The chains of products keep the low half, odd from odd operands, and let one
// word of the high half in, so that no part of the product is unused.
template <int N>
PIPPIN_HD num<N> fold(const num<2 * N>& t) {
  num<N> r = mp::resize<N>(t);
  r[N - 1] ^= t[2 * N - 1];
  r[0] |= 1;
  return r;
}
template <int N>
struct mul_op {
  using state = pair<N>;
  using params = none;
  PIPPIN_HD static state step(const state& s, const params&) {
    return {s.y, fold<N>(mp::mul(s.x, s.y))};
  }
};
template <int N>
struct karatsuba_op {
  using state = pair<N>;
  using params = none;
  PIPPIN_HD static state step(const state& s, const params&) {
    return {s.y, fold<N>(mp::mul_karatsuba(s.x, s.y))};
  }
};

// The steps of a turn of a chain's loop: Op::turn of an operation that is so short that
// the loop and the exchange of its operands would be measured too.
template <class Op>
constexpr int turn = 1;
template <class Op>
  requires requires { Op::turn; }
constexpr int turn<Op> = Op::turn;

template <class Op>
__global__ void chain(typename Op::state* states, const typename Op::params params, int steps) {
  const uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
  typename Op::state s = states[i];
  int k = 0;
#pragma unroll 1
  for (; k + turn<Op> <= steps; k += turn<Op>) {
#pragma unroll
    for (int e = 0; e < turn<Op>; e++) s = Op::step(s, params);
  }
#pragma unroll 1
  for (; turn<Op> > 1 && k < steps; k++) s = Op::step(s, params);
  states[i] = s;
}

// measurement is the best of a chain's runs.
struct measurement {
  std::string op, modulus;
  int bits, regs, local, block, blocks_per_sm;
  double gops, ms;
  int steps;
};

static bool all_right = true;

// A simple generator; the host needs no better one.
static uint32_t next_random() {
  static uint64_t s = 0x9e3779b97f4a7c15u;
  s ^= s << 13;
  s ^= s >> 7;
  s ^= s << 17;
  return (uint32_t)(s >> 16);
}

template <class Op>
static double time_once(typename Op::state* d, const typename Op::params& p, int steps, int grid,
                        int block) {
  cudaEvent_t a, b;
  must(cudaEventCreate(&a), "event");
  must(cudaEventCreate(&b), "event");
  must(cudaEventRecord(a), "record");
  chain<Op><<<grid, block>>>(d, p, steps);
  must(cudaEventRecord(b), "record");
  must(cudaEventSynchronize(b), "synchronize");
  must(cudaGetLastError(), "chain");
  float ms;
  must(cudaEventElapsedTime(&ms, a, b), "elapsed");
  cudaEventDestroy(a);
  cudaEventDestroy(b);
  return ms;
}

// Measures Op, of one thread, from random states that init makes, over block sizes, and keeps the
// best; the answers of a first short run are compared with the host's.
template <class Op, class Init>
static measurement best_of(const char* op, int bits, const char* modulus, const typename Op::params& p,
                           const Init& init) {
  using state = typename Op::state;
  cudaFuncAttributes attributes;
  must(cudaFuncGetAttributes(&attributes, chain<Op>), "attributes");
  cudaDeviceProp device;
  must(cudaGetDeviceProperties(&device, 0), "properties");
  const int sms = device.multiProcessorCount;
  const size_t most = (size_t)sms * 2048;
  std::vector<state> first(most), last(most);
  std::vector<state> seeds(64);
  for (state& s : seeds) s = init();
  for (size_t i = 0; i < most; i++) first[i] = seeds[i % 64];
  state* d;
  must(cudaMalloc(&d, most * sizeof(state)), "malloc");
  measurement best = {op, modulus, bits, attributes.numRegs, (int)attributes.localSizeBytes,
                      0, 0, 0, 0, 0};
  bool checked = false;
  for (int block : {64, 128, 256, 512, 768, 1024}) {
    int per_sm = 0;
    if (block > attributes.maxThreadsPerBlock) continue;
    must(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, chain<Op>, block, 0), "occupancy");
    if (per_sm == 0) continue;
    const int grid = sms * per_sm;
    if (!checked) {
      must(cudaMemcpy(d, first.data(), most * sizeof(state), cudaMemcpyHostToDevice), "copy");
      // Odd, so that a chain that swaps its operands shows both.
      const int steps = 257;
      time_once<Op>(d, p, steps, grid, block);
      must(cudaMemcpy(last.data(), d, most * sizeof(state), cudaMemcpyDeviceToHost), "copy");
      for (size_t i : {(size_t)0, (size_t)1, (size_t)(grid * block - 1)}) {
        state s = first[i];
        for (int k = 0; k < steps; k++) s = Op::step(s, p);
        if (std::memcmp(&s, &last[i], sizeof s) != 0) {
          std::fprintf(stderr, "throughput: %s %d %s: thread %zu differs from the host\n", op, bits,
                       modulus, i);
          all_right = false;
        }
      }
      checked = true;
    }
    // About 8 ms a run: from a short one.
    const double probe_ms = time_once<Op>(d, p, 200, grid, block);
    const int steps = std::max(200, (int)(200 * 8 / std::max(probe_ms, 0.01)));
    double ms = 1e9;
    for (int run = 0; run < 5; run++) ms = std::min(ms, time_once<Op>(d, p, steps, grid, block));
    const double gops = (double)grid * block * steps / ms / 1e6;
    if (gops > best.gops) {
      best.gops = gops;
      best.ms = ms;
      best.block = block;
      best.blocks_per_sm = per_sm;
      best.steps = steps;
    }
  }
  must(cudaFree(d), "free");
  std::fprintf(stderr, "%-14s %5d %-14s %8.2f G/s  %3d regs %5d local  %d x %d\n", op, bits, modulus,
               best.gops, best.regs, best.local, best.blocks_per_sm, best.block);
  return best;
}

template <int N>
static num<N> random_num(int bits) {
  num<N> r;
  for (int i = 0; i < N; i++) r[i] = next_random();
  if (bits % 32 != 0) r[N - 1] &= (1u << bits % 32) - 1;
  return r;
}

// The beginning of a record, up to its first run.
static void print_machine() {
  cudaDeviceProp d;
  int driver = 0;
  must(cudaGetDeviceProperties(&d, 0), "properties");
  must(cudaDriverGetVersion(&driver), "driver version");
  std::printf("{\n  \"machine\": {\"gpu\": \"%s\", \"sms\": %d, \"cuda_driver\": \"%d.%d\", ", d.name,
              d.multiProcessorCount, driver / 1000, driver % 1000 / 10);
  std::printf("\"toolkit\": \"%d.%d.%d\", \"sources\": \"%s\"},\n  \"runs\": [\n", __CUDACC_VER_MAJOR__,
              __CUDACC_VER_MINOR__, __CUDACC_VER_BUILD__, PIPPIN_SOURCE_DIGEST);
}

}  // namespace pippin::throughput
