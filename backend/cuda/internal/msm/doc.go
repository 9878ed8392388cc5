// Package msm computes MSMs on one card of package device.
//
// An MSM is Pippenger's method in phases, each a file of kernels/grid/msm: digits,
// sort, buckets, accumulate, reduce; the host adds up one point a window at the
// end. While one chunk of the points is computed, the scalars of the next are
// copied.
//
// # Words
//
//   - A plan is what is decided before memory is taken: the width of windows, how
//     the points are cut into chunks, where everything lies (internal/cuda/msmplan).
//   - A table is multiples of bases: rows of all points times powers of two, with which
//     windows share buckets. It is made between calls, and dropped when its memory is
//     needed (multiples.go).
//   - A job is one MSM of a call. A batch is the jobs that are computed side by side, by
//     one plan: small ones over the same bases, else one alone (batch.go).
//   - A round is the batches that share the work memory: all of a call where they fit,
//     else one after the other (round.go).
//   - A step is one chunk of a batch: all phases but the last over these points. An
//     execution queues the steps of a round (execution.go, phases.go).
//   - An OnCard is an MSM whose scalars are on the card, in the turn of a program over
//     vectors (oncard.go).
//   - Entries, runs, tasks and slots are what the kernels make of scalars:
//     kernels/grid/msm says what each is. They are on the card only.
package msm
