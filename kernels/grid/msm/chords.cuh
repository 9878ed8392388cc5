// chords.cuh: additions of affine points whose denominators are inverted together.
//
// Two different points with different x lie on a chord, and are added by its slope. Equal
// points, opposite ones and infinity have other denominators, never 0: those of other
// additions, with which they are multiplied up, do not depend on them.
#pragma once
#include "group.cuh"

namespace pippin::grid {

// The field of additions: over Fp its products are loop_field's, calls over 24 limbs. Pairs of
// BLS12-377 are rare in G1, which has its Edwards form, and stay as they are.
template <class F>
struct pairs_over {
  using type = hot_field;
};
template <class C>
struct pairs_over<prime_field<C>> {
  using looped = loop_field<C>;
  using type = std::conditional_t<loop_modulus<C>::lowest_one, hot_field, std::conditional_t<(C::limbs > 16), outlined<looped>, looped>>;
};
using pair_field = pairs_over<field>::type;

constexpr uint32_t pair_words = point_elements * field::words;

// Whether all words are 0, as infinity's are in memory.
__device__ __forceinline__ bool is_blank(const pair_field::elem& a) {
  uint32_t w[pair_field::words], any = 0;
  __builtin_memcpy(w, &a, sizeof(w));
  PIPPIN_UNROLL
  for (int i = 0; i < pair_field::words; i++) any |= w[i];
  return any == 0;
}

// Whether an addition may be one of equal points, opposite ones or infinity: always
// where it is, and next to never where it is not.
__device__ __forceinline__ bool is_special(const pair_field::elem& xa, const pair_field::elem& xb, const pair_field::elem& difference) {
  return pair_field::is_zero(difference) || is_blank(xa) || is_blank(xb);
}

// The sum of points on a chord, inverse = 1/(b.x - a.x). Cost: 2M + S.
__device__ __forceinline__ affine<pair_field> chord_sum(const affine<pair_field>& a, const affine<pair_field>& b,
                                                       const pair_field::elem& inverse) {
  using F = pair_field;
  const auto slope = F::mul(F::sub(b.y, a.y), inverse);
  const auto x = F::sub(F::sub(F::sqr(slope), a.x), b.x);
  return {x, F::sub(F::mul(slope, F::sub(a.x, x)), a.y)};
}

}  // namespace pippin::grid
