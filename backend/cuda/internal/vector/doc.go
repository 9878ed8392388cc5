// Package vector runs programs over vectors of field elements on one card: the
// contract's backend.Programs, on package device, with the transforms of package
// ntt and the MSMs of package msm.
//
// # Words
//
//   - A space is device memory that stays: vectors are ranges of it.
//   - A program is planned step by step before anything is queued: each takes its
//     part of the frame, of the answers and of the work memory, and leaves what
//     queues it. Then one turn queues all of them and waits once, at the end.
//   - The frame is what kernels read of the host and of each other's places: codes,
//     constants, powers of points. It is one copy, at the beginning.
//   - Answers are what comes back, in one copy at the end; MSMs have their own.
//     Long reads come back when they are queued.
//   - Scratch is what a step needs for itself; steps follow one another and share
//     it.
//
// Uploads run on a stream beside the kernels. A step waits for those whose memory
// it touches, and an upload for the steps before it that touched its memory.
//
// # Secrets
//
// Spaces are wiped before they are given back. Everything else that a program
// leaves on the card or in pinned memory is wiped as package device has it.
package vector
