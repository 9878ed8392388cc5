// elements.cuh: elements of GF(2^n) in memory, one after the other, as a thread reads and
// writes them: 16 bytes at a time where their length allows it, and 16 bytes of several
// elements where they are shorter.
#pragma once
#include "../../thread/field.cuh"
#include "layout.cuh"

namespace pippin::grid {

// elements have Words words of 32 bits.
template <uint32_t Words>
struct elements {
  static constexpr uint32_t element_words = Words;
  static constexpr uint32_t each = Words < 4 && 4 % Words == 0 ? 4 / Words : 1;  // elements a thread
  static constexpr uint32_t group_words = each * Words;

  // An element as words of 64 bits, and back.
  __device__ __forceinline__ static void widen(uint64_t* r, const uint32_t* w) {
#pragma unroll
    for (uint32_t i = 0; i < (Words + 1) / 2; i++) r[i] = ptx::pack(w[2 * i], 2 * i + 1 < Words ? w[2 * i + 1] : 0);
  }
  __device__ __forceinline__ static void narrow(uint32_t* w, const uint64_t* r) {
#pragma unroll
    for (uint32_t i = 0; i < Words; i++) w[i] = i % 2 == 0 ? ptx::lo32(r[i / 2]) : ptx::hi32(r[i / 2]);
  }

  // The `each` elements from number i on of n: their words, zeros behind the last.
  __device__ __forceinline__ static mp::num<group_words> load_group(const uint32_t* src, uint64_t i, uint64_t n) {
    if (each == 1 || i + each <= n) return load_words<group_words>(src + i * Words);
    mp::num<group_words> w;
#pragma unroll
    for (uint32_t k = 0; k < group_words; k++) w[k] = i + k / Words < n ? src[i * Words + k] : 0;
    return w;
  }
  __device__ __forceinline__ static void store_group(uint32_t* dst, const mp::num<group_words>& w, uint64_t i, uint64_t n) {
    if (each == 1 || i + each <= n) return store_words(dst + i * Words, w);
#pragma unroll
    for (uint32_t k = 0; k < group_words; k++) {
      if (i + k / Words < n) dst[i * Words + k] = w[k];
    }
  }
};

}  // namespace pippin::grid
