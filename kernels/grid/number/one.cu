// one.cu: the constant that powers modulo a number begin with.
#include "../../thread/ptx.cuh"
#include "layout.cuh"

namespace pippin::grid {

// one[i] = 2^bits mod p[i] for n odd numbers p of `length` words, a thread each. The
// time depends on the highest bit of p.
PIPPIN_KERNEL((64), power_one)(const uint32_t* p, uint32_t* one, uint64_t n, uint64_t length, uint64_t bits) {
  const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  p += i * length;
  one += i * length;
  uint64_t top = length;
  while (top > 1 && p[top - 1] == 0) top--;
  uint32_t bit = 31;
  while (bit > 0 && p[top - 1] >> bit == 0) bit--;
  for (uint64_t k = 0; k < length; k++) one[k] = k == top - 1 ? 1u << bit : 0;
  // x = 2x, less p unless that is below 0: the difference is computed twice, the
  // second time kept.
  for (uint64_t done = 32 * (top - 1) + bit; done < bits; done++) {
    uint32_t over = 0, borrow = 0;
    for (uint64_t k = 0; k < length; k++) {
      const uint64_t d = (uint64_t)(one[k] << 1 | over) - p[k] - borrow;
      over = one[k] >> 31;
      borrow = ptx::hi32(d) & 1;
    }
    const uint32_t mask = 0u - (uint32_t)(over >= borrow);
    over = borrow = 0;
    for (uint64_t k = 0; k < length; k++) {
      const uint32_t doubled = one[k] << 1 | over;
      over = one[k] >> 31;
      const uint64_t d = (uint64_t)doubled - (p[k] & mask) - borrow;
      borrow = ptx::hi32(d) & 1;
      one[k] = ptx::lo32(d);
    }
  }
}

}  // namespace pippin::grid
