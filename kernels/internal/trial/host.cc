// Prints raw scalars and their digits by windows.cuh, compiled for the host, for host.py.
#include <cstdio>
#include <cstdlib>
#include "host/launch.h"
#include "windows.cuh"
dim3 threadIdx, blockIdx, blockDim, gridDim;
namespace pippin::host { void block_barrier() {} uint32_t warp_exchange(uint32_t v, uint32_t) { return v; } uint32_t warp_ballot(bool v) { return v; } }
using namespace pippin;
template <int Log> void go(const six::radix& of, const uint32_t* raw, uint64_t n) {
  grid::six_shape s = {of, of.m <= 2048 ? 10u : 11u};
  grid::each_six<Log>(n, n + 3, s, [&](uint64_t i) { return load_words<8>(raw + 8 * i); },
    [&](bool is, bool minus, uint32_t power, uint32_t bucket, uint32_t row, uint32_t k) {
      if (is) std::printf("%u %lu %u %d %u %u\n", of.m, (unsigned long)k, row, minus, power, bucket);
    });
}
int main() { threadIdx.x = blockIdx.x = 0;
  static uint32_t raw[8 * 4096]; uint64_t n = 0; char line[100];
  while (std::fgets(line, 100, stdin)) { for (int j = 0; j < 8; j++) { char w[9] = {}; for (int i = 0; i < 8; i++) w[i] = line[8 * (7 - j) + i]; raw[8 * n + j] = std::strtoul(w, 0, 16); } n++; }
  go<11>(six::radices[0], raw, n); go<0>(six::radices[1], raw, n); go<0>(six::radices[2], raw, n); go<0>(six::radices[0], raw, n);
}
