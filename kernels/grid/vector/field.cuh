// field.cuh: the field that a file is compiled for, by -DPIPPIN_CURVE=bn254, and
// places in reversed order.
#pragma once
#include "../../block/elements.cuh"
#include "layout.cuh"

#define PIPPIN_QUOTE(x) #x
#define PIPPIN_HEADER(c) PIPPIN_QUOTE(../../curves/c.cuh)
#include PIPPIN_HEADER(PIPPIN_CURVE)

namespace pippin::grid {

using field = prime_field<curves::PIPPIN_CURVE::fr>;
constexpr int words = field::words;

namespace places {

// All bits of v in reverse.
PIPPIN_HD uint32_t all_reversed(uint32_t v) {
#if defined(__CUDA_ARCH__)
  return __brev(v);
#else
  uint32_t r = 0;
  for (int i = 0; i < 32; i++) r |= (v >> i & 1) << (31 - i);
  return r;
#endif
}

// The low `bits` bits of v in reverse; v has no others.
PIPPIN_HD uint32_t reversed(uint32_t v, uint32_t bits) { return bits == 0 ? 0 : all_reversed(v) >> (32 - bits); }

}  // namespace places

}  // namespace pippin::grid
