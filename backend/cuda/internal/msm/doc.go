// Package msm computes MSMs on one card of package device.
//
// An MSM is computed by Pippenger's method, in phases that are files of kernels/grid/msm: digits,
// sort, buckets, accumulate, reduce. The host adds up one point for each window at the end. While
// one chunk of the points is computed, the scalars of the next are copied.
//
// # Words
//
//   - A plan is what is decided before memory is taken: the width of windows, how
//     the points are cut into chunks, where everything lies (internal/cuda/msmplan).
//   - A table is multiples of bases: each row is all points times a power of two, and
//     windows share buckets by it. It is made between calls, and dropped when its memory
//     is needed (multiples.go).
//   - A job is one MSM of a call. A batch is the jobs that are computed side by side by
//     one plan: small ones over the same bases, else one alone (batch.go).
//   - A round is the batches that share the work memory: all of a call if they fit,
//     else one after the other (round.go).
//   - A step is one chunk of a batch: all phases but the last over these points. An
//     execution queues the steps of a round (execution.go, phases.go).
//   - An OnCard is one or more MSMs over the same bases whose scalars are on the card, in
//     the turn of a program over vectors (oncard.go).
//   - Entries, runs, tasks and slots are what the kernels make of scalars. They are on
//     the card only; kernels/grid/msm/layout.cuh says what each is.
//
// # A sorted run
//
// Windows of 3 bits have digits from -3 to 4, and buckets 1 to 4. Nine points have these digits in
// one window. A digit of 0 makes no entry:
//
//	point    P0   P1   P2   P3   P4   P5   P6   P7   P8
//	digit     3   -1    0    3    2   -3    3    1   -3
//
// The sort brings the entries of each bucket together, with the sign at the point. These are its
// run. Here a task has at most 2 entries, so that no thread adds up more, however long a run is.
// The run of bucket 3 becomes three tasks:
//
//	bucket       1         2               3
//	run       -P1  P7     P4     P0  P3  -P5  P6  -P8
//	task      \__a__/     \b/    \__c_/  \__d__/  \e/
//	sum in   bucket 1  bucket 2  slot 0  slot 1  slot 2
//
// Tasks of one length are neighbours, the longest first (a, c, d, b, e), so that the threads of a
// warp end together. The only task of a run adds to its bucket. The others put their sums into
// slots, and the kernel fold adds those up for the bucket.
package msm
