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

// Whether the group's buckets can be in rows, by digits modulo six units.
#if defined(PIPPIN_ROWS)
constexpr bool in_rows = true;
#else
constexpr bool in_rows = false;
#endif

// Item t of 2^log_n that are 2^log_rows rows, down the columns: neighbouring rows have about as
// many buckets, so that threads of a warp do. No rows, or no more items than rows: t itself.
__device__ __forceinline__ uint64_t down_columns(uint64_t t, uint64_t log_n, uint64_t log_rows) {
  if (!in_rows || log_rows >= log_n) return t;
  return (t & ((1ull << log_rows) - 1)) << (log_n - log_rows) | t >> log_rows;
}

}  // namespace pippin::grid
