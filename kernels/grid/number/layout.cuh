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

constexpr uint32_t long_threads = 512;                                     // of a block that adds
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
constexpr uint32_t binary_squares = 512;                                   // for squares this n,
constexpr uint32_t binary_pad = 4;                                         // with so many words between them
constexpr uint32_t sliced_most = 256;                                      // the widest n whose sliced elements are in registers alone
constexpr uint32_t power_sample_bits = 52;                                 // of numbers in double precision
constexpr uint32_t power_window = 4;                                       // bits of an exponent
constexpr uint32_t power_entries = 1 << power_window;                      // powers of a base that are kept
constexpr uint32_t wide_threads = 256;                                     // of a block a number, at most
constexpr uint32_t wide_room = 272;                                        // words of shared memory that a block takes,
constexpr uint32_t wide_arrays = 15;                                       // and so many times those of a residue,
constexpr uint32_t wide_products = 4;                                      // or of a product,
constexpr uint32_t wide_elements = 9;                                      // or of an element of GF(2^n)
constexpr uint32_t number_add = 1;                                         // operations of residues
constexpr uint32_t number_sub = 2;
constexpr uint32_t number_reduce = 3;
constexpr uint32_t number_mul = 4;
constexpr uint32_t number_montgomery = 5;
constexpr uint32_t number_to_montgomery = 6;
constexpr uint32_t number_from_montgomery = 7;
constexpr uint32_t number_binary_mul = 8;                                  // and of elements of GF(2^n)
constexpr uint32_t number_binary_sqr = 9;
constexpr uint32_t number_binary_inverse = 10;
constexpr uint32_t number_inverse = 11;                                    // and of residues again
constexpr uint32_t number_modulus_zero = 0;                                // reasons why an element is refused:
constexpr uint32_t number_modulus_even = 1;                                // of several the first is told
constexpr uint32_t number_modulus_one = 2;
constexpr uint32_t number_a_not_below = 3;
constexpr uint32_t number_b_not_below = 4;
constexpr uint32_t number_reasons = 5;
constexpr uint32_t number_no_element = 0xffffffff;                         // no element has the reason
constexpr uint32_t compare_tile = 4096;                                    // words that a warp compares

}  // namespace pippin::grid
