// short.cu: elements of GF(2^n), a thread an element, for any n up to 256 where binary.cu
// has no kernels for n. Compiled for elements of -DPIPPIN_WORDS=3 words of 32 bits, which
// are those of n = 65 to 96.
//
//   short_binary   products, squares and inverses
//
// The modulus is x^n + tail, tail of degree k, 2 k <= n + 1, k < 64 up to
// n = 128. Steps and `bad` are as in
// wide.cu.
#include "../../thread/binary.cuh"
#include "elements.cuh"

namespace pippin::grid {

template <uint32_t Words>
struct short_batch : elements<Words> {
  using of = elements<Words>;
  using field = gf2::short_field<Words>;
  using group = mp::num<of::group_words>;

  // The elements from number i on; with a step of 0 one element is all.
  __device__ __forceinline__ static group load(const uint32_t* src, uint64_t step, uint64_t i, uint64_t n) {
    if (step) return of::load_group(src, i, n);
    group w;
#pragma unroll
    for (uint32_t k = 0; k < of::group_words; k++) w[k] = src[k % Words];
    return w;
  }

  // Refuses an element that has bits from x^n on.
  __device__ __forceinline__ static void check(const group& w, uint32_t wrong, uint32_t reason, uint64_t i, uint64_t n, uint32_t* bad) {
#pragma unroll
    for (uint32_t k = 0; k < of::each; k++) {
      if (w[k * Words + Words - 1] & wrong && i + k < n) atomicMin(bad + reason, (uint32_t)(i + k));
    }
  }

  __device__ __forceinline__ static void run(uint64_t op, const uint32_t* a, uint64_t a_step, const uint32_t* b,
                                             uint64_t b_step, uint32_t* r, uint32_t degree,
                                             const field& f, uint64_t n, uint32_t* bad) {
    constexpr int words = field::words;
    const uint32_t wrong = degree % 32 ? 0xffffffffu << degree % 32 : 0;
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x * of::each;
    for (uint64_t i = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) * of::each; i < n; i += step) {
      const group x = load(a, a_step, i, n), y = b ? load(b, b_step, i, n) : x;
      check(x, wrong, number_a_not_below, i, n, bad);
      if (b) check(y, wrong, number_b_not_below, i, n, bad);
      group z;
#pragma unroll
      for (uint32_t k = 0; k < of::each; k++) {
        uint64_t p[words], q[words];
        of::widen(p, x.w + k * Words);
        of::widen(q, y.w + k * Words);
        if (op == number_binary_mul) {
          f.mul(p, p, q);
        } else if (op == number_binary_sqr) {
          f.sqr(p, p);
        } else {
          gf2::inverse_in_registers<words>(f, degree, p);
        }
        of::narrow(z.w + k * Words, p);
      }
      of::store_group(r, z, i, n);
    }
  }
};

using short_batch_here = short_batch<PIPPIN_WORDS>;

// r[i] = a[i] b[i], a[i]^2 or 1/a[i], which is 0 for 0, as op says. r may be a or b. The
// tail is tail1 x^64 + tail0.
PIPPIN_KERNEL((128), short_binary)
(uint64_t op, const uint32_t* a, uint64_t a_step, const uint32_t* b, uint64_t b_step, uint32_t* r, uint64_t degree,
 uint64_t tail0, uint64_t tail1,
 uint64_t n, uint32_t* bad) {
  short_batch_here::field f;
  f.tail[0] = tail0;
  if (short_batch_here::field::tails > 1) f.tail[short_batch_here::field::tails - 1] = tail1;
  f.above = (uint32_t)degree - 64 * (short_batch_here::field::words - 1);
  short_batch_here::run(op, a, a_step, b, b_step, r, (uint32_t)degree, f, n, bad);
}

}  // namespace pippin::grid
