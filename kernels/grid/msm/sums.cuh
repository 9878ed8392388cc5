// sums.cuh: sums of points where products are calls, for the phases that end an MSM.
#pragma once
#include "group.cuh"

namespace pippin::grid {

using law = cold_law;
using point_sum = law::sum;
constexpr uint64_t sum_words = law::sum_words;

// Additions are functions of their own too, on sums in memory or registers as
// the compiler finds best.
PIPPIN_CALLED void add_into(point_sum& a, const point_sum& b) { law::add(a, b); }

}  // namespace pippin::grid
