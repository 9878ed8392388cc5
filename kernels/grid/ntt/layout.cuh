// layout.cuh: what the passes of a number-theoretic transform, and the host,
// agree on.
//
// Vocabulary
//   transform  of n = 2^log_n elements x_k to X_j = sum of x_k w^(jk), w of order
//              n; the inverse has 1/w, and divides by n. `Down` goes from natural
//              order to reversed (X_j at the place of j's bits reversed), `up`
//              from reversed to natural; each can be either
//   level      down halves n log_n times: at level l there are 2^l blocks of
//              n/2^l neighbours, block b being the remainder of the polynomial
//              with coefficients x modulo z^(n/2^l) - c_b. Up does the same from
//              the last level to the first
//   node       a block of some level, by its number b in it
//   step       log_each levels, or fewer: a thread has 2^log_each elements of one
//              node, multiplies the k-th by t^k and transforms them; in up the
//              other way round
//   pass       a kernel: the steps of at most log_tile levels, between which
//              elements go through shared memory
//   row        t^0 .. t^7 of a node, for steps of 3 levels; those of 2 and 1 take
//              every second and fourth. t is w_8m^rev(b) for b < m, m a power of
//              two, rev reversing its bits: the same for every m and n, so that
//              one table serves all sizes
//
// kernelgen writes every constant of the first block as a Go constant: each is
// one line, an expression of numbers and constants above it.
#pragma once
#include "../kernel.cuh"

namespace pippin::grid {

constexpr uint32_t log_threads = 7;              // of a block
constexpr uint32_t log_row = 3;                  // elements of a row
constexpr uint32_t most_log_n = 28;              // of a transform
constexpr uint32_t log_low = 16;                 // powers of a shift in its table of low exponents
constexpr uint32_t log_shift_rows = 8;           // rows with powers of a shift in them
constexpr uint32_t shift_powers = (1 << log_low) + (1 << (most_log_n - log_low)); // of both its tables

}  // namespace pippin::grid
