// reference.cu: sums of short numbers by the method of seed 003, to be measured beside
// long_add.
#include "../../thread/ptx.cuh"
#include "../number/layout.cuh"

namespace pippin::grid {

// One block a number of `length` words, at most long_reference_words: r = a + b with
// seed 003's trick, to read and to compare with. A word's state is -1 when it hands
// a carry on, 1 when it generates one, 0 when neither; two neighbours are joined by
// max and and, since the upper one decides unless it hands on:
//
//      join(upper, lower) = max(upper, lower) & upper
//
// A thread has four words; the states of threads are scanned as Hillis and Steele do.
PIPPIN_KERNEL((512), long_reference)(const uint32_t* a, const uint32_t* b, uint32_t* r, uint64_t length, uint32_t* carries) {
  constexpr uint32_t threads = long_reference_words / 4;
  __shared__ int32_t states[threads];
  const uint32_t t = threadIdx.x;
  const uint64_t base = (uint64_t)blockIdx.x * length;
  uint32_t s[4], ones = 0xffffffffu, c = 0;
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {
    const uint64_t at = 4 * t + j;
    const uint64_t sum = at < length ? (uint64_t)a[base + at] + b[base + at] + c : c;
    s[j] = ptx::lo32(sum);
    c = ptx::hi32(sum);
    ones &= s[j];
  }
  int32_t state = ones == 0xffffffffu ? -1 : (int32_t)c;
  for (uint32_t d = 1; d < threads; d *= 2) {
    states[t] = state;
    __syncthreads();
    const int32_t lower = t >= d ? states[t - d] : -1;
    state = (state > lower ? state : lower) & state;
    __syncthreads();
  }
  states[t] = state;
  __syncthreads();
  c = t > 0 && states[t - 1] > 0;
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {
    const uint64_t at = 4 * t + j;
    const uint64_t sum = (uint64_t)s[j] + c;
    c = ptx::hi32(sum);
    if (at < length) r[base + at] = ptx::lo32(sum);
    // What is behind the number is zero, so the carry is the word there.
    if (at == length) carries[blockIdx.x] = ptx::lo32(sum);
  }
  if (t == threads - 1 && length == long_reference_words) carries[blockIdx.x] = state > 0;
}

}  // namespace pippin::grid
