// points.cu: what is done to bases once, when they are loaded. Compiled for one
// curve and group.
#include "group.cuh"

namespace pippin::grid {

// Whether the N words at src are below p.
template <class C>
PIPPIN_HD bool is_canonical_at(const uint32_t* src) {
  return carry::less<C::limbs>(load_words<C::limbs>(src), static_modulus<C>{}) != 0;
}

// b of the curve's equation as an element of the outlined field.
template <class F, class G>
PIPPIN_HD typename F::elem equation_b() {
  const auto b = G::b();
  if constexpr (requires { b.c0; }) {
    return {b.c0, b.c1};
  } else {
    return b;
  }
}

// bad: the least index + base of a point with a coordinate not below p, or that
// is neither infinity nor on the curve.
PIPPIN_KERNEL((128), check)
(const uint32_t* points, uint64_t n, uint64_t base, uint32_t* bad) {
  using F = cold_field;
  using P = curve::fp;
  const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  points += i * 2 * F::words;
  bool good = true;
#pragma unroll 1
  for (int k = 0; k < 2 * F::words; k += P::limbs) good &= is_canonical_at<P>(points + k);
  if (good) {
    const affine<F> p = load_affine<F>(points);
    good = is_on_curve(p, equation_b<F, group>());
  }
  if (!good) atomicMin(bad, (uint32_t)(base + i));
}

}  // namespace pippin::grid
