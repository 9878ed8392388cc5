// Package point computes over points that are on one card: products by scalars, sums,
// checks, transforms and encodings, as the steps of backend/points.go want them.
//
// # Words
//
//   - Points in work memory are Jacobian. What a step computes becomes affine at its end,
//     points that share an inversion.
//   - A product is of a point and of two halves of its scalar: the endomorphism of the
//     curve multiplies a point by lambda for the price of one product, and every scalar
//     is k1 + lambda k2 with k1 and k2 half as long.
//   - A fixed base has a table of its multiples by every digit that a window of a scalar
//     can have. A product is then as many additions as there are windows.
//   - Facts are what kernels must know of a group: they lie in the program's frame.
//
// A step is planned by a rehearsal, which launches nothing and counts the work memory.
//
// Nothing here takes a constant time: digits of scalars choose places in tables and
// branches.
package point
