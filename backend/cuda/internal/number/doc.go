// Package number computes with batches of plain numbers on one card: the steps
// backend.Compute of programs that package vector runs there.
//
// An operation is kernels one after the other on one stream, in scratch memory. What
// it does is written once, and gone through twice: a rehearsal finds out how much
// scratch it takes and whether it is possible, and then it is queued.
//
// # Which kernels
//
//   - Sums and differences, of any length, are one stream of words (long_add).
//   - In GF(2^n) elements of the usual n have kernels compiled for them, and any other n
//     up to 256 one for its words, a thread an element; of a greater n it is a block.
//   - Residues and powers of the usual widths are computed by the engine that one table
//     names for each (engines.go): a thread a number, several threads of a warp, or powers
//     in double precision. Whole products of some widths are a thread a number.
//   - Everything else is a block a number, of any width.
//
// # Secrets
//
// Scratch is work memory, which is overwritten at the end of the turn. Neither time
// nor addresses depend on the values of A and B of operations on residues and in
// GF(2^n).
package number
