// lookahead.cuh: the carries of 32 places at once. Contract: that of lanes.cuh.
//
// A place generates a carry (g) or hands on the one that enters it (p), never
// both: words whose sum is all ones have not carried. As bits of two words, these
// are the operands of an addition whose own carries are the ones asked for:
//
//      g | p   a place that generates has 1 + 1, one that hands on 1 + 0
//    + g       and one that stops a carry 0 + 0
//
// so one 32-bit addition carries through 32 places.
// Source: seed 003, the answer's carry look-ahead and its last comment's word
// form, here for a warp's ballots.
#pragma once
#include "lanes.cuh"

namespace pippin::warp {

// The carry that enters each of 32 places when `in`, 0 or 1, enters the lowest;
// out: the one that leaves the highest. Cost: about four additions.
__device__ __forceinline__ uint32_t carries_into(uint32_t g, uint32_t p, uint32_t in, uint32_t& out) {
  const uint64_t sum = (uint64_t)(g | p) + g + in;
  out = (uint32_t)(sum >> 32);
  return (uint32_t)sum ^ p;
}

}  // namespace pippin::warp
