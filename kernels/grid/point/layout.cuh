// layout.cuh: what the kernels over points and their host agree on. Go gets the first
// block of constants.
//
// A point in work memory is Jacobian: three elements of the coordinates' field that only
// kernels read, z = 0 for infinity. Points of spaces are affine, in gnark-crypto's layout.
#pragma once
#include "../kernel.cuh"

namespace pippin::grid {

constexpr uint32_t jacobian_elements = 3;
constexpr uint32_t sum_elements = 4;      // of a sum of a row's points, in XYZZ coordinates
constexpr uint32_t product_entries = 8;   // multiples of a point in its table: 1 to 8
constexpr uint32_t entry_elements = 3;    // of each: x, y, and what its denominator grew by
constexpr uint32_t window_bits = 4;       // of a digit of a product
constexpr uint32_t lattice_numbers = 6;   // of the division of scalars
constexpr uint32_t item_words = 4;        // of a range that is added: address, count, sign
constexpr uint32_t checked_words = 4;     // of an answer: one less than the points that are not valid, 0, the first, 0

}  // namespace pippin::grid
