// What the programs in this folder have in common: each computes with one other library
// as msm bench peers asks for it.
//
//   PROGRAM POINTS SCALARS N MULTIPLES    MSMs: files of points and of scalars
//   PROGRAM VECTOR ANSWER N ORDER         transforms: files of elements
//
// Numbers are little-endian. Points are affine, coordinates in Montgomery form, as
// gnark-crypto has them in memory; scalars are plain; elements are in Montgomery form.
// When everything is on the card a program writes "ready" and a note. After each line that
// it reads it computes once and writes the milliseconds with the answer in hexadecimal: a
// point as in the file, or the root of unity of a transform whose answer is in the file.
// What it cannot do it says on standard error, and ends with 1.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <cuda_runtime.h>

#define CUDA(call) peer::check(call, #call)

namespace peer {

[[noreturn]] inline void fail(const std::string& what) {
  fprintf(stderr, "%s\n", what.c_str());
  _exit(1);
}

inline void check(cudaError_t e, const char* call) {
  if (e != cudaSuccess) fail(std::string(call) + ": " + cudaGetErrorString(e));
}

// file maps so many bytes of a file, to read them or to write them.
inline void* file(const char* path, size_t bytes, bool write = false) {
  int f = open(path, write ? O_RDWR : O_RDONLY);
  if (f < 0) fail(std::string("cannot open ") + path);
  void* at = mmap(nullptr, bytes, write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, f, 0);
  if (at == MAP_FAILED) fail(std::string("cannot map ") + path);
  close(f);
  return at;
}

// pinned returns a copy of a file in memory that the card reads directly.
inline void* pinned(const char* path, size_t bytes) {
  void* at;
  CUDA(cudaMallocHost(&at, bytes));
  memcpy(at, file(path, bytes), bytes);
  return at;
}

// keep_pool has the card's memory pool keep what is given back to it: a library that takes
// memory in every call gets it at once.
inline void keep_pool() {
  cudaMemPool_t pool;
  uint64_t all = ~0ull;
  CUDA(cudaDeviceGetDefaultMemPool(&pool, 0));
  CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
}

// shared splits the indices from 0 to n among the processors.
inline void shared(size_t n, const std::function<void(size_t from, size_t to)>& work) {
  size_t threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> all;
  for (size_t t = 0; t < threads; t++) all.emplace_back(work, n * t / threads, n * (t + 1) / threads);
  for (auto& t : all) t.join();
}

inline double milliseconds() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// timed returns the milliseconds of a call that ends when its answer is there, on a card
// that has nothing else to do.
inline double timed(const std::function<void()>& call) {
  CUDA(cudaDeviceSynchronize());
  double start = milliseconds();
  call();
  return milliseconds() - start;
}

// out is where answers go.
inline FILE* out = stdout;

// aside has what the library prints on standard output go to standard error.
inline void aside() {
  out = fdopen(dup(1), "w");
  dup2(2, 1);
}

// serve computes once for every line that it reads. run returns the milliseconds and
// writes the answer, which is so many bytes.
inline void serve(const std::string& note, size_t bytes, const std::function<double(uint8_t* answer)>& run) {
  fprintf(out, "ready %s\n", note.c_str());
  fflush(out);
  std::vector<uint8_t> answer(bytes);
  char line[16];
  while (fgets(line, sizeof line, stdin)) {
    memset(answer.data(), 0, bytes);
    fprintf(out, "%.6f ", run(answer.data()));
    for (uint8_t b : answer) fprintf(out, "%02x", b);
    fprintf(out, "\n");
    fflush(out);
  }
  _exit(0); // libraries that tidy up at the end sometimes do not end
}

} // namespace peer
