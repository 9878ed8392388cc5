// Shared by the host parts: errors, events, turns.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>
#define CHECK(c)                                                                                        \
  do {                                                                                                  \
    const cudaError_t e = (c);                                                                          \
    if (e != cudaSuccess) { std::fprintf(stderr, "six: %s: %s\n", #c, cudaGetErrorString(e)); std::exit(1); } \
  } while (0)

namespace six {

__host__ __device__ inline uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

template <class T> T* take(uint64_t count) {
  T* p;
  CHECK(cudaMalloc(&p, count * sizeof(T)));
  CHECK(cudaMemset(p, 0, count * sizeof(T)));
  return p;
}

struct run {
  const char* name;
  std::function<void()> prepare, go;
};
// The median milliseconds of each run, in turns; the first turn is not counted.
inline std::vector<float> turns(const std::vector<run>& runs, int rounds) {
  cudaEvent_t from, to;
  CHECK(cudaEventCreate(&from));
  CHECK(cudaEventCreate(&to));
  std::vector<std::vector<float>> all(runs.size());
  for (int r = 0; r <= rounds; r++)
    for (size_t j = 0; j < runs.size(); j++) {
      const size_t i = r % 2 ? runs.size() - 1 - j : j;
      runs[i].prepare();
      CHECK(cudaEventRecord(from));
      runs[i].go();
      CHECK(cudaEventRecord(to));
      CHECK(cudaEventSynchronize(to));
      CHECK(cudaGetLastError());
      float ms;
      CHECK(cudaEventElapsedTime(&ms, from, to));
      if (r) all[i].push_back(ms);
    }
  std::vector<float> medians;
  for (auto& v : all) {
    std::sort(v.begin(), v.end());
    medians.push_back(v[v.size() / 2]);
  }
  return medians;
}

template <class K> void shape(const char* name, K kernel, int threads, size_t shared = 0) {
  cudaFuncAttributes a;
  int blocks;
  CHECK(cudaFuncGetAttributes(&a, kernel));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared));
  std::printf("  %-34s %3d registers, %zu bytes of stack, %d blocks of %d a multiprocessor\n", name, a.numRegs, a.localSizeBytes, blocks, threads);
}

}  // namespace six
