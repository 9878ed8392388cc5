// check.cu: which points are valid. Compiled for one curve and group.
#include "group.cuh"

namespace pippin::grid {

// Products of Fp2 in place would be half of the unit's code and more, and every key is checked
// once.
using check_field = std::conditional_t<(words > 12), cold_field, field>;

// Whether the words of a coordinate are below p.
__device__ __forceinline__ bool is_canonical_at(const uint32_t* src) {
  using P = curve::fp;
  return carry::less<P::limbs>(load_words<P::limbs>(src), static_modulus<P>{}) != 0;
}

// bad: the least index + base of a point with a coordinate not below p.
PIPPIN_KERNEL((128), coordinates)
(const uint32_t* points, uint64_t n, uint64_t base, uint32_t* bad) {
  using P = curve::fp;
  const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  bool good = true;
#pragma unroll 1
  for (int k = 0; k < affine_words; k += P::limbs) good &= is_canonical_at(points + i * affine_words + k);
  if (!good) atomicMin(bad, (uint32_t)(base + i));
}

// answer: checked_words, for the points that have a coordinate not below p, are not on
// the curve, or, where there are digits, are not in the subgroup: those for which a p + b
// phi(p) is not infinity, where a + lambda b = 0 mod r and a^2 - a b + b^2 = r. That sum
// times its conjugate is r p, so that no other point has it. digits: bytes [place][a or
// b], each -1, 0 or 1; beta is what phi multiplies x by. Cost: places (2M + 5S) and 8M +
// 3S for each digit that is not 0.
PIPPIN_KERNEL((128, loop_blocks), check_points)
(const uint32_t* points, uint64_t n, const uint32_t* digits, uint64_t places, const uint32_t* beta, uint64_t base,
 uint32_t* answer) {
  using F = check_field;
  using P = curve::fp;
  const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  points += i * affine_words;
  bool good = true;
#pragma unroll 1
  for (int k = 0; k < affine_words; k += P::limbs) good &= is_canonical_at(points + k);
  if (good) {
    const affine<cold_field> p = load_affine<cold_field>(points);
    good = is_on_curve(p, group::b());
    if (good && places > 0 && !is_infinity(p)) {
      const int8_t* digit_at = reinterpret_cast<const int8_t*>(digits) + 2 * places;
      jacobian<F> q = jacobian_infinity<F>();
#pragma unroll 1
      for (uint64_t place = places; place-- > 0;) {
        q = dbl(q);
        digit_at -= 2;
#pragma unroll 1
        for (int part = 0; part < 2; part++) {
          const int digit = digit_at[part];
          if (digit == 0) continue;
          affine<F> t = {p.x, digit < 0 ? F::neg(p.y) : p.y};
          if (part == 1) t.x = F::mul(t.x, F::load_raw(beta));
          add_in_loop(q, t);
        }
      }
      good = is_infinity(q);
    }
  }
  if (!good) {
    atomicAdd(answer, 1);
    atomicMin(answer + 2, (uint32_t)(base + i));
  }
}

}  // namespace pippin::grid
