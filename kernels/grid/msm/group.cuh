// group.cuh: the curve and group that a file is compiled for, by
// -DPIPPIN_CURVE=bn254 -DPIPPIN_GROUP=g1, and its law: with -DPIPPIN_EDWARDS=1
// twisted Edwards form. This file is the seam where another
// representation of a field or another law of the group is put in: the kernels
// see them through the concepts Field and Law alone.
#pragma once
#include "../../thread/law.cuh"
#include "../curve.cuh"
#include "layout.cuh"

#include PIPPIN_HEADER(PIPPIN_CURVE)

namespace pippin::grid {

using curve = curves::PIPPIN_CURVE;

#if defined(PIPPIN_GROUP)
using group = PIPPIN_GROUP<curve>;
using field = group::field;

// For code that is not hot: products are calls.
using cold_field = outlined<field>;

// For the loop of the accumulation: every product in place, as long as it then
// fits the instruction cache. For 24 limbs it does not (280 KiB; calls are 4 %
// faster), nor for Fp2 over 12 limbs (250 KiB; calls are 7 % faster).
using hot_field = std::conditional_t<(field::words > 16), cold_field, field>;

#if defined(PIPPIN_EDWARDS)
using hot_law = edwards_law<curve>;
using cold_law = hot_law;
constexpr uint32_t law_elements = edwards_elements;
#else
using hot_law = xyzz_law<hot_field, cold_field>;
using cold_law = xyzz_law<cold_field>;
constexpr uint32_t law_elements = point_elements;
#endif
static_assert(Law<hot_law> && Law<cold_law>);
static_assert(cold_law::point_words == law_elements * field::words && cold_law::sum_words == sum_elements * field::words &&
              cold_law::result_words == result_elements * field::words);
#endif

}  // namespace pippin::grid
