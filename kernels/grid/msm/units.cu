// units.cu: points in the form of units.cuh. Compiled for one curve and group.
#include "units.cuh"

namespace pippin::grid {

// to[i] is x, w x, w^2 x and y of from[i]: n affine points in gnark-crypto's layout.
// Infinity is zeros. Cost: a product.
PIPPIN_KERNEL((128), prepare_units)
(const uint32_t* from, uint32_t* to, uint64_t n) {
  using F = cold_field;
  constexpr int words = F::words;
  const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  from += i * point_elements * words;
  to += i * unit_elements * words;
  const auto x = F::load(from), rotated = F::mul(x, F::elem{number_of<words>(units::beta)});
  F::store(to, x);
  F::store(to + words, rotated);
  F::store(to + 2 * words, F::neg(F::add(x, rotated)));  // 1 + w + w^2 = 0
  F::store(to + 3 * words, F::load(from + words));
}

}  // namespace pippin::grid
