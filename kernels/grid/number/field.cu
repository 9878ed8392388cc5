// field.cu: elements of GF(2^n) for any n up to 2048, a block an element, where neither
// binary.cu nor short.cu has kernels for n.
//
//   wide_binary   products, squares and inverses
//   binary_add    sums
//
// The modulus is x^n + x^k3 + x^k2 + x^k1 + 1, k3 the largest; of x^n + x^k + 1 two
// equal ones cancel. Steps and `bad` are as in wide.cu.
#include "../../thread/binary.cuh"
#include "layout.cuh"

namespace pippin::grid {

// polynomials is a block's arithmetic modulo one: elements have `words` words in
// shared memory. Every thread calls, and sees what was written on return.
struct polynomials {
  uint32_t words, n, k3, k2, k1;
  uint32_t *high, *t, *u;  // twice as many words each

  // t = a b, by columns: a product of two words overlaps the next column only.
  __device__ __forceinline__ void product(const uint32_t* a, const uint32_t* b) const {
    for (uint32_t k = threadIdx.x; k < 2 * words; k += blockDim.x) {
      const uint32_t from = k >= words ? k - words + 1 : 0, to = k < words ? k + 1 : words;
      uint64_t sum = 0;
      for (uint32_t i = from; i < to; i++) sum = gf2::clmad_lo(a[i], b[k - i], sum);
      t[k] = ptx::lo32(sum);
      high[k] = ptx::hi32(sum);
    }
    __syncthreads();
    for (uint32_t k = threadIdx.x; k < 2 * words; k += blockDim.x) {
      if (k > 0) t[k] ^= high[k - 1];
    }
    __syncthreads();
  }

  // t = a^2.
  __device__ __forceinline__ void square(const uint32_t* a) const {
    for (uint32_t k = threadIdx.x; k < 2 * words; k += blockDim.x) {
      const uint64_t s = gf2::clmad_lo(a[k / 2], a[k / 2], 0);
      t[k] = k % 2 ? ptx::hi32(s) : ptx::lo32(s);
    }
    __syncthreads();
  }

  // 32 bits of `from` from bit `at` on, which may be below 0: what is below bit n, and
  // above the last word, is read as 0.
  __device__ __forceinline__ uint32_t bits(const uint32_t* from, int64_t at) const {
    if (at + 32 <= n) return 0;
    const uint32_t lost = at < n ? (uint32_t)(n - at) : 0;
    const uint32_t first = (uint32_t)(at < 0 ? 0 : at) / 32;
    if (first >= 2 * words) return 0;
    if (at < 0) return from[0] << (uint32_t)-at >> lost << lost;
    const uint64_t both = ptx::pack(from[first], first + 1 < 2 * words ? from[first + 1] : 0);
    return (uint32_t)(both >> at % 32) >> lost << lost;
  }

  // r = t mod the modulus: in each round what is from x^n on, h x^n, becomes
  // h (x^k3 + x^k2 + x^k1 + 1), which is higher than x^n by n - k3 less.
  __device__ __forceinline__ void reduce(uint32_t* r) const {
    uint32_t *from = t, *to = u;
    for (int over = (int)n - 2; over >= 0; over -= (int)(n - k3)) {
      for (uint32_t k = threadIdx.x; k < 2 * words; k += blockDim.x) {
        const int64_t at = 32 * (int64_t)k + n;
        const uint32_t keep = k < n / 32 ? 0xffffffffu : k == n / 32 ? (1u << n % 32) - 1 : 0;
        to[k] = (from[k] & keep) ^ bits(from, at) ^ bits(from, at - k1) ^ bits(from, at - k2) ^ bits(from, at - k3);
      }
      __syncthreads();
      uint32_t* const was = from;
      from = to;
      to = was;
    }
    for (uint32_t k = threadIdx.x; k < words; k += blockDim.x) r[k] = from[k];
    __syncthreads();
  }
};

// r[i] = a[i] b[i], a[i]^2 or 1/a[i], which is 0 for 0, as op says. r may be a or b.
PIPPIN_KERNEL_SHARED((256), wide_binary)
(uint64_t op, const uint32_t* a, uint64_t a_step, const uint32_t* b, uint64_t b_step, uint32_t* r, uint64_t length,
 uint64_t degree, uint64_t k3,
 uint64_t k2, uint64_t k1, uint64_t n, uint32_t* bad) {
  PIPPIN_DYNAMIC_SHARED(shared);
  const uint32_t w = (uint32_t)length;
  const polynomials f = {w, (uint32_t)degree, (uint32_t)k3, (uint32_t)k2, (uint32_t)k1, shared, shared + 2 * w, shared + 4 * w};
  uint32_t *const x = shared + 6 * w, *const y = shared + 7 * w, *const was = shared + 8 * w;
  const uint32_t wrong = degree % 32 ? 0xffffffffu << degree % 32 : 0;
  for (uint64_t i = blockIdx.x; i < n; i += gridDim.x) {
    for (uint32_t k = threadIdx.x; k < w; k += blockDim.x) {
      x[k] = a[i * a_step + k];
      y[k] = b ? b[i * b_step + k] : x[k];
      if (k == w - 1 && (x[k] & wrong)) atomicMin(bad + number_a_not_below, (uint32_t)i);
      if (k == w - 1 && (y[k] & wrong)) atomicMin(bad + number_b_not_below, (uint32_t)i);
    }
    __syncthreads();
    if (op == number_binary_mul) {
      f.product(x, y);
      f.reduce(y);
    } else if (op == number_binary_sqr) {
      f.square(x);
      f.reduce(y);
    } else {
      const auto square = [&](uint32_t squares) {
        for (uint32_t k = 0; k < squares; k++) {
          f.square(y);
          f.reduce(y);
        }
      };
      gf2::inverse(
          (uint32_t)degree,
          [&](bool by_x, uint32_t squares) {
            for (uint32_t k = threadIdx.x; k < w; k += blockDim.x) was[k] = by_x ? x[k] : y[k];
            __syncthreads();
            square(squares);
            f.product(y, was);
            f.reduce(y);
          },
          square);
    }
    for (uint32_t k = threadIdx.x; k < w; k += blockDim.x) r[i * length + k] = y[k];
    __syncthreads();
  }
}

// r[i] = a[i] + b[i]; r may be a or b.
PIPPIN_KERNEL((256), binary_add)
(const uint32_t* a, uint64_t a_step, const uint32_t* b, uint64_t b_step, uint32_t* r, uint64_t length, uint64_t degree,
 uint64_t n, uint32_t* bad) {
  const uint32_t wrong = degree % 32 ? 0xffffffffu << degree % 32 : 0;
  for (uint64_t at = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; at < n * length; at += (uint64_t)gridDim.x * blockDim.x) {
    const uint64_t i = at / length, k = at - i * length;
    const uint32_t x = a[i * a_step + k], y = b[i * b_step + k];
    if (k == length - 1 && (x & wrong)) atomicMin(bad + number_a_not_below, (uint32_t)i);
    if (k == length - 1 && (y & wrong)) atomicMin(bad + number_b_not_below, (uint32_t)i);
    r[at] = x ^ y;
  }
}

}  // namespace pippin::grid
