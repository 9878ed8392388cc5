// layout.cuh: what the kernels over batches of numbers, and the host, agree on.
//
// Vocabulary
//   number   little-endian words of 32 bits; those of a batch follow one another
//   row      the 128 words that a warp adds at a time, 4 a lane
//   tile     the rows of a block
//
// kernelgen writes every constant of the first block as a Go constant: each is
// one line, an expression of numbers and constants above it.
#pragma once
#include "../kernel.cuh"

namespace pippin::grid {

constexpr uint32_t long_threads = 256;                                     // of a block that adds
constexpr uint32_t long_row = 128;                                         // words
constexpr uint32_t long_rows_each = 4;                                     // rows that a warp adds
constexpr uint32_t long_tile = long_threads / 32 * long_rows_each * long_row; // words
constexpr uint32_t long_reference_words = 2048;                            // the longest number of long_reference
constexpr uint32_t tile_open = 0;                                          // a tile's state: nothing is known,
constexpr uint32_t tile_stops = 1;                                         // no carry leaves it,
constexpr uint32_t tile_carries = tile_stops + 1;                          // one does,
constexpr uint32_t tile_hands_on = 3;                                      // what enters it does
constexpr uint32_t binary_threads = 128;                                   // of a block over GF(2^n)
constexpr uint32_t binary_staged = 1024;                                   // n from which elements are in shared memory,
constexpr uint32_t binary_pad = 4;                                         // with so many words between them
constexpr uint32_t power_sample_bits = 52;                                 // of numbers in double precision
constexpr uint32_t power_window = 4;                                       // bits of an exponent
constexpr uint32_t power_entries = 1 << power_window;                      // powers of a base that are kept

}  // namespace pippin::grid
