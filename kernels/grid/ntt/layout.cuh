// layout.cuh: what the passes of a number-theoretic transform, and the host,
// agree on.
//
// Vocabulary
//   transform  of n = 2^log_n elements x_k to X_j = sum of x_k w^(jk), w of order
//              n: from natural order to reversed (X_j at the place of j's bits
//              reversed), or back
//   level      n is halved log_n times: at level l there are 2^l blocks of
//              n/2^l neighbours, block b being the remainder of the polynomial
//              with coefficients x modulo z^(n/2^l) - c_b
//   node       a block of some level, by its number b in it
//   step       3 levels (the first of a pass 1 to 3): a thread takes 8 elements
//              of one node, multiplies the k-th by t^k and transforms them
//   pass       a kernel: the steps of at most log_tile levels, between which
//              elements go through shared memory
//   row        t^0 .. t^7 of a node. t is w_8m^rev(b) for b < m, m a power of
//              two, rev reversing its bits: the same for every m and n, so that
//              one table serves all sizes
//
// kernelgen writes every constant of the first block as a Go constant: each is
// one line, an expression of numbers and constants above it.
#pragma once
#include "../kernel.cuh"

namespace pippin::grid {

constexpr uint32_t log_each = 3;                   // elements of a thread
constexpr uint32_t log_tile = 10;                  // elements of a block: the most levels of a pass
constexpr uint32_t tile_threads = 1 << 7;          // 2^(log_tile - log_each)
constexpr uint32_t row_elements = 1 << log_each;   // of a node
constexpr uint32_t most_log_n = 28;                // of a transform

static_assert(tile_threads << log_each == 1u << log_tile);

}  // namespace pippin::grid
