// multiples.cu: multiples of bases, made once for many MSMs. Compiled for one curve
// and group.
#include "group.cuh"

namespace pippin::grid {

// to[i] = 2^doublings from[i], affine points in gnark-crypto's layout, for every
// point of the curve, infinity and points of even order included. A thread takes
// `each` points, which share an inversion; they are the grid's threads apart, so
// that lanes have neighbours. scratch: two elements of the coordinates' field a
// point. to is not from.
// Cost: doublings (2M + 5S) + 7M + S a point, and an inversion a thread.
PIPPIN_KERNEL((128), multiples)
(const uint32_t* from, uint32_t* to, uint64_t n, uint64_t doublings, uint64_t each, uint32_t* scratch) {
  using F = cold_field;
  using Hot = hot_field;
  constexpr int w = F::words;
  const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, threads = (n + each - 1) / each;
  if (t >= threads) return;
  // Of a point: the product of the denominators before it, and its own.
  typename F::elem product = F::one();
  uint64_t i = t;
#pragma unroll 1
  for (; i < n; i += threads) {
    jacobian<Hot> p = to_jacobian(load_affine<Hot>(from + i * 2 * w));
#pragma unroll 1
    for (uint64_t d = 0; d < doublings; d++) p = dbl(p);
    // Infinity is (0, 0), which no factor changes.
    const bool none = is_infinity(p);
    Hot::store_raw(to + i * 2 * w, Hot::select(none, Hot::zero(), p.x));
    Hot::store_raw(to + i * 2 * w + w, Hot::select(none, Hot::zero(), p.y));
    Hot::store_raw(scratch + i * 2 * w + w, Hot::select(none, Hot::one(), p.z));
    F::store_raw(scratch + i * 2 * w, product);
    product = F::mul(product, F::load_raw(scratch + i * 2 * w + w));
  }
  typename F::elem inverse = F::inv(product);
#pragma unroll 1
  while (i > t) {
    i -= threads;
    const auto one_over_z = F::mul(inverse, F::load_raw(scratch + i * 2 * w));
    inverse = F::mul(inverse, F::load_raw(scratch + i * 2 * w + w));
    const auto square = F::sqr(one_over_z);
    F::store(to + i * 2 * w, F::mul(F::load_raw(to + i * 2 * w), square));
    F::store(to + i * 2 * w + w, F::mul(F::load_raw(to + i * 2 * w + w), F::mul(square, one_over_z)));
  }
}

}  // namespace pippin::grid
