// layout.cuh: what the kernels over vectors of field elements, and the host,
// agree on.
//
// Vocabulary
//   element  of a scalar field, in gnark-crypto's layout, canonical
//   powers   a table of z^(2^k), k = 0, 1, .., of some z
//   tile     the elements that a block scans
//   item     a vector whose value at z is computed: 64-bit words, see item below
//   program  of a map: instructions, operands and constants, in words
//
// kernelgen writes every constant of the first block as a Go constant: each is
// one line, an expression of numbers and constants above it.
#pragma once
#include "../kernel.cuh"

namespace pippin::grid {

constexpr uint32_t log_scan_tile = 10;            // elements
constexpr uint32_t scan_threads = 128;            // of a block that scans, folds or maps
constexpr uint32_t power_elements = 48;           // of a table of powers: more than any kernel reads
constexpr uint32_t item_words = 8;
constexpr uint32_t operand_words = 8;
constexpr uint32_t map_slots = 7;                 // the stack's elements below the top
constexpr uint32_t map_each_short = 2;            // elements that a thread of a map has at a time, of 8 limbs
constexpr uint32_t map_each_long = 1;             // of 12
constexpr uint32_t no_element = 0xffffffff;       // nothing was found
constexpr uint32_t map_take = 0;                  // x = y: operations of an instruction,
constexpr uint32_t map_add = 1;                   // x + y
constexpr uint32_t map_sub = 2;                   // x - y
constexpr uint32_t map_sub_from = 3;              // y - x
constexpr uint32_t map_mul = 4;                   // x y
constexpr uint32_t map_square = 5;                // x^2
constexpr uint32_t map_double = 6;                // 2 x
constexpr uint32_t map_neg = 7;                   // -x
constexpr uint32_t map_none = 8;                  // x
constexpr uint32_t from_nothing = 0;              // where y is: there is none
constexpr uint32_t from_slot = 1 << 4;            // slot `index`
constexpr uint32_t from_operand = 2 << 4;         // operand `index`, the first being what is written
constexpr uint32_t from_constant = 3 << 4;        // constant `index`
constexpr uint32_t from_mask = 3 << 4;
constexpr uint32_t save_shift = 8;                // 1 + the slot that takes x before all else, or 0
constexpr uint32_t index_shift = 16;

// A vector for evaluate: count elements at src, a power of two, 2^log, when
// they are in reversed order; the powers of its z begin at `powers` of the table.
struct item {
  const uint32_t* src;
  uint64_t count;
  uint32_t log, powers;
  uint64_t unused;
};
static_assert(sizeof(item) == 4 * item_words);

// The sequence of a map's operand: element i is at place p = stride i + rotate
// modulo count, p's bits reversed and moved down by `reversal` when that is not 32.
// stride and rotate are below count; mask is count - 1 for powers of two, else 0.
// plain says that stride i is the place of all elements that there are.
struct operand {
  uint32_t* memory;
  uint32_t plain, stride, rotate, count, mask, reversal;
};
static_assert(sizeof(operand) == 4 * operand_words);

}  // namespace pippin::grid
