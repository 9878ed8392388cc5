// Package number computes with batches of plain numbers on one card: the steps backend.Compute of
// programs that package vector runs there.
//
// An operation is several kernels, one after the other on one stream, in scratch memory. Its code
// is written once and runs twice. First a rehearsal finds out whether the operation is possible and
// how much scratch it takes. Then it is queued.
//
// # Which kernels
//
//   - Sums and differences of any length are computed as one stream of words (long_add).
//   - In GF(2^n), the usual n have kernels compiled for them, one thread for each
//     element. Any other n up to 256 has a kernel for its number of words. Above that a
//     block computes an element.
//   - Residues and powers of the usual widths are computed by the engine that a table
//     names for each width (engines.go): one thread for each number, several threads of
//     a warp, or powers in double precision. Whole products of some widths take one
//     thread for each number.
//   - Everything else takes one block for each number, of any width.
//
// # Secrets
//
// Scratch is work memory, which is overwritten at the end of the turn. For operations on residues
// and in GF(2^n) neither time nor addresses depend on the values of A and B.
package number
