// elements.cu: kernels that treat every element by itself. Compiled for one curve's
// scalar field.
//
//   sequence a geometric one
//   gather   elements by their indices
//   below    whether elements are canonical
#include "field.cuh"

namespace pippin::grid {

// dst[i] = first ratio^i for i < n. table has the powers of ratio; the grid has
// 2^log_threads threads. Thread t computes the elements t, t + 2^log_threads, ..
// one after the other.
PIPPIN_KERNEL((128), sequence)
(const uint32_t* first, const uint32_t* table, uint64_t log_threads, uint32_t* dst, uint64_t n) {
  const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  field::elem x = field::load(first);
#pragma unroll 1
  for (uint64_t k = 0; k < log_threads; k++) {
    if (t >> k & 1) x = field::mul(x, field::load(table + k * words));
  }
  const field::elem step = field::load(table + log_threads * words);
#pragma unroll 1
  for (uint64_t i = t; i < n; i += 1ull << log_threads) {
    field::store(dst + i * words, x);
    x = field::mul(x, step);
  }
}

// dst[i] = src[index[i]] for i < n, where index[i] < count; bad: the least i where
// it is not. A thread copies 16 bytes.
PIPPIN_KERNEL((256), gather)
(const uint32_t* src, uint64_t count, const uint32_t* index, uint32_t* dst, uint64_t n, uint32_t* bad) {
  constexpr uint32_t quads = words / 4;
  const uint64_t all = n * quads, step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t at = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; at < all; at += step) {
    const uint64_t i = at / quads;
    const uint32_t from = index[i];
    if (from < count) {
      store_words(dst + 4 * at, load_words<4>(src + (uint64_t)from * words + at % quads * 4));
    } else {
      atomicMin(bad, (uint32_t)i);
    }
  }
}

// bad: the least i + base of n elements that is not below r.
PIPPIN_KERNEL((128), below)(const uint32_t* src, uint64_t n, uint64_t base, uint32_t* bad) {
  const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (!carry::less<words>(load_words<words>(src + i * words), static_modulus<field::params>{})) atomicMin(bad, (uint32_t)(base + i));
}

}  // namespace pippin::grid
