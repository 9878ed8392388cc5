// transform.cu: the passes of a number-theoretic transform. Compiled for one
// curve's scalar field and a number of elements a thread.
//
//   down  one pass from natural order towards reversed
//   up    one pass from reversed order, or natural, towards natural
//
// Both compute levels level .. level + bits of all transforms of a batch, `all`
// elements together; down those of a larger level in a later pass, up in an
// earlier one. What the first pass reads and the last one writes is canonical;
// in and out may be the same where no order changes and no vector is shorter.
//
//   inverse    the way back of the other kernel: with 1/w, and divided by n
//   given      elements of each vector in memory, zeros follow (the first pass)
//   rows       2^log_rows rows and one; high: those of the nodes k << log_rows,
//              read for larger nodes only, which threads of 8 elements may have
//   shift      tables of the powers of s, 2^log_low low ones and then those of
//              every 2^log_low-th, or null for s = 1: x_k by s^k, where a
//              transform begins, or an inverse ends
//   shift_rows for the inverse up, and down that is none, of more than one pass and
//              two elements a thread: the rows of the steps of the first levels with
//              powers of s in them, those of a step l levels down from the 2^l-th on.
//              With them a coset costs a product an element. Otherwise null
//   natural    up reads vectors in natural order in its first pass
#include "field.cuh"
#include "pass.cuh"

namespace pippin::grid {

static_assert(1 << log_threads == 128);
using one_pass = pass<field, roots, PIPPIN_LOG_EACH>;

// Blocks of a multiprocessor. With 8 limbs threads of 4 elements have 96 registers,
// others 128; with 12 limbs 128, or 168 where they have 8 elements.
constexpr int blocks_each = field::limbs > 8 ? (PIPPIN_LOG_EACH == 3 ? 3 : 4) : PIPPIN_LOG_EACH == 2 ? 5 : 4;

PIPPIN_KERNEL((128, blocks_each), down)
(const uint32_t* in, uint32_t* out, uint64_t all, uint64_t log_n, uint64_t level, uint64_t bits, flag inverse,
 uint64_t given, const uint32_t* rows, const uint32_t* high, uint64_t log_rows, const uint32_t* shift,
 const uint32_t* shift_rows) {
  alignas(16) __shared__ uint32_t shared[one_pass::shared_words];
  const pass_of p = {in, out, all, (uint32_t)log_n, (uint32_t)level, (uint32_t)bits, inverse != 0,
                     rows, high, (uint32_t)log_rows, shift, shift_rows};
  one_pass(p, shared, false).down(given);
}

PIPPIN_KERNEL((128, blocks_each), up)
(const uint32_t* in, uint32_t* out, uint64_t all, uint64_t log_n, uint64_t level, uint64_t bits, flag inverse,
 uint64_t given, const uint32_t* rows, const uint32_t* high, uint64_t log_rows, const uint32_t* shift,
 const uint32_t* shift_rows, flag natural) {
  alignas(16) __shared__ uint32_t shared[one_pass::shared_words];
  const pass_of p = {in, out, all, (uint32_t)log_n, (uint32_t)level, (uint32_t)bits, inverse != 0,
                     rows, high, (uint32_t)log_rows, shift, shift_rows};
  one_pass(p, shared, natural && level > 0 && level + bits == log_n).up(given, natural);
}

}  // namespace pippin::grid
