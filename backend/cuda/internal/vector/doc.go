// Package vector runs programs over vectors of field elements on one card: the contract's
// backend.Programs, on package device, with the transforms of package ntt and the MSMs of package
// msm.
//
// # Words
//
//   - A space is device memory that stays: vectors are ranges of it.
//   - A program is planned step by step before anything is queued. Each step takes its
//     part of the frame, of the answers and of the work memory, and leaves a function
//     that queues it. Then one turn queues all steps and waits once, at the end.
//   - The frame is what kernels read from the host and about each other's places: codes,
//     constants, powers of points. It is copied once, at the beginning.
//   - Answers are what comes back, in one copy at the end. Those of MSMs come back
//     separately, and so do long reads, as soon as they are queued.
//   - Scratch is the memory that a step needs for itself. Steps follow one another and
//     share it.
//
// Uploads run on a stream beside the kernels. A step waits for the uploads to memory that it
// touches. An upload waits for the earlier steps that touch its memory.
//
// # Secrets
//
// Spaces are wiped before they are given back. Package device wipes everything else that a program
// leaves on the card or in pinned memory.
package vector
