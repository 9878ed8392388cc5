// table.cuh: what programs share that print one table, a JSON record of the op "table":
// lines of it, the best time of a launch, and how an answer that differs ends them.
#pragma once
#include "measure.cuh"

namespace pippin::throughput {

static const char* table;
static bool first_line = true;
static int sms;

// x is the place on the table's axis: bits, or threads in all.
static void line(const std::string& method, int bits, double x, double gops, double ms, int regs, int local, int grid, int block) {
  std::printf("%s    {\"op\": \"table\", \"table\": \"%s\", \"method\": \"%s\", "
              "\"bits\": %d, \"x\": %.0f, \"gops\": %.6f, \"min_ms\": %.5f, ",
              first_line ? "" : ",\n", table,
              method.c_str(), bits, x, gops, ms);
  std::printf("\"regs\": %d, \"local_bytes\": %d, \"grid\": %d, \"block\": %d, \"checked\": true}", regs, local, grid, block);
  first_line = false;
}

template <class T>
static T* to_device(const std::vector<T>& v) {
  T* d;
  must(cudaMalloc(&d, v.size() * sizeof(T)), "malloc");
  must(cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice), "copy");
  return d;
}

// The best of several runs of f, in milliseconds.
template <class F>
static double best_ms(const F& f) {
  cudaEvent_t a, b;
  must(cudaEventCreate(&a), "event");
  must(cudaEventCreate(&b), "event");
  float best = 1e9f;
  for (int i = 0; i < 7; i++) {
    must(cudaEventRecord(a), "record");
    f();
    must(cudaEventRecord(b), "record");
    must(cudaEventSynchronize(b), "synchronize");
    must(cudaGetLastError(), "launch");
    float ms;
    must(cudaEventElapsedTime(&ms, a, b), "elapsed");
    best = std::min(best, ms);
  }
  cudaEventDestroy(a);
  cudaEventDestroy(b);
  return best;
}

static void check(bool right, const char* method, int bits) {
  if (right) return;
  std::fprintf(stderr, "tables: %s, %s, %d bits: differs from the host\n", table, method, bits);
  all_right = false;
}

// Begins the record of a table.
static void begin(const std::string& which) {
  table = which.c_str();
  cudaDeviceProp device;
  must(cudaGetDeviceProperties(&device, 0), "properties");
  sms = device.multiProcessorCount;
  print_machine();
}

}  // namespace pippin::throughput
