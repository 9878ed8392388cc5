// Package cuda computes MSMs on an NVIDIA GPU.
//
// An MSM is Pippenger's method in phases, each a file of kernels/grid: digits,
// sort, buckets, accumulate, reduce; the host adds up one point a window at the
// end. plan.go decides the width of windows, the sizes of all memory and how
// the points are cut into chunks, before anything is allocated. While one chunk
// is computed the scalars of the next are copied.
//
// Without the tag cuda, or without cgo, Open fails with backend.ErrUnavailable.
package cuda
