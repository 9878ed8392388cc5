// Package point computes over points that are on one card: products by scalars, sums, checks,
// transforms and encodings, as the steps of backend/points.go demand.
//
// # Words
//
//   - Points in work memory are Jacobian. A step makes its results affine at its end;
//     several points share an inversion.
//   - A product is computed from a point and the two halves of its scalar. The
//     endomorphism of the curve multiplies a point by lambda for the price of one product
//     of the field, and every scalar is k1 + lambda k2 with k1 and k2 half as long.
//   - A fixed base has a table of its multiples by every digit that a window of a scalar
//     can have. A product then takes as many additions as there are windows.
//   - Facts are what kernels must know of a group. They lie in the program's frame.
//
// A step is planned by a rehearsal, which launches nothing and counts the work memory.
//
// Nothing here takes constant time: branches and places in tables depend on the digits of scalars.
package point
