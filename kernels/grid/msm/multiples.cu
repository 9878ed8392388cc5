// multiples.cu: multiples of bases, made once for many MSMs. Compiled for one curve
// and group.
#include "group.cuh"

namespace pippin::grid {

// Only groups with the kernel `direct` read odd multiples of affine points.
template <class C>
concept HasEdwards = requires { C::te_2d(0); };
constexpr bool odd_multiples = field::words < 16 && !HasEdwards<curve>;

// Stores x and y of p, and z elsewhere. Infinity is (0, 0) with 1, which no factor changes.
template <Field F>
__device__ __forceinline__ void store_parts(uint32_t* to, uint32_t* z, const jacobian<F>& p) {
  const bool none = is_infinity(p);
  F::store_raw(to, F::select(none, F::zero(), p.x));
  F::store_raw(to + F::words, F::select(none, F::zero(), p.y));
  F::store_raw(z, F::select(none, F::one(), p.z));
}

// The same of the sum of the affine points at a and b. Cost: 8M + 3S.
__device__ __forceinline__ void store_parts_of_sum(uint32_t* to, uint32_t* z, const uint32_t* a, const uint32_t* b) {
  store_parts(to, z, add(to_jacobian(load_affine<cold_field>(a)), load_affine<cold_field>(b)));
}

// Rows of multiples of n affine points in gnark-crypto's layout, `apart` points from one row
// to the next. from is row 1, to is row `digit`. Row y of the grid makes row d = digit + y:
// 2^doublings times row d/2 or, where d is odd, the sum of rows d/2 and d/2 + 1. That is for
// every point of the curve, infinity and points of even order included. A thread takes `each`
// points, which share an inversion; they are the row's threads apart, so that lanes have
// neighbours. scratch: two elements of the coordinates' field a point of each row. Rows that
// are read are not made.
// Cost: doublings (2M + 5S) + 7M + S a point, 15M + 4S where d is odd, and an inversion a
// thread.
PIPPIN_KERNEL((128), multiples)
(const uint32_t* from, uint32_t* to, uint64_t n, uint64_t doublings, uint64_t each, uint32_t* scratch, uint64_t digit, uint64_t apart) {
  using F = cold_field;
  using Hot = hot_field;
  constexpr int w = F::words;
  const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, threads = (n + each - 1) / each;
  if (t >= threads) return;
  bool odd = false;
  if constexpr (odd_multiples) {
    const uint64_t d = digit + blockIdx.y;
    odd = d % 2 != 0;
    from += (d / 2 - 1) * apart * 2 * w;
    to += blockIdx.y * apart * 2 * w;
    scratch += blockIdx.y * n * 2 * w;
  }
  // Of a point: the product of the denominators before it, and its own.
  typename F::elem product = F::one();
  uint64_t i = t;
#pragma unroll 1
  for (; i < n; i += threads) {
    F::store_raw(scratch + i * 2 * w, product);
    if (odd_multiples && odd) {
      store_parts_of_sum(to + i * 2 * w, scratch + i * 2 * w + w, from + i * 2 * w, from + (apart + i) * 2 * w);
    } else {
      jacobian<Hot> p = to_jacobian(load_affine<Hot>(from + i * 2 * w));
#pragma unroll 1
      for (uint64_t k = 0; k < doublings; k++) p = dbl(p);
      store_parts(to + i * 2 * w, scratch + i * 2 * w + w, p);
    }
    product = F::mul(F::load_raw(scratch + i * 2 * w), F::load_raw(scratch + i * 2 * w + w));
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
