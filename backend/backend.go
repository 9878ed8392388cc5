// Package backend is the contract between a prover-side engine and whatever
// computes for it: the CPU in process, a plugin process, a GPU.
//
// Only bytes cross it, in gnark-crypto's memory layout: 64-bit little-endian
// limbs, Montgomery form with R = 2^(64*limbs), every element below its
// modulus; a point is its affine coordinates (X, then Y; in Fp2 A0, then A1)
// and infinity is all zero bytes. docs/layout.md has the sizes.
//
// The package imports the standard library only.
package backend

import "context"

// Backend computes multi-scalar multiplications over bases that it keeps.
//
// All methods may be called concurrently. Errors wrap one of this package's
// sentinels, or are the context's own. A cancelled call returns promptly, but
// only when no slice of its arguments is read any more. After Close every
// method fails with ErrClosed; Close waits for the calls in flight.
type Backend interface {
	// Info describes the backend; the answer does not change while it is open.
	Info() Info

	// LoadBases makes bases resident. A backend may keep referring to
	// b.Bytes, which the caller must not change before FreeBases; every
	// other kind of source is read to its end before LoadBases returns.
	LoadBases(ctx context.Context, b Bases) (BasesID, error)

	// FreeBases releases bases once the calls that use them have ended.
	// Freeing an unknown id is ErrInvalidInput.
	FreeBases(ctx context.Context, id BasesID) error

	// MSM answers jobs[i] with the affine point sum over k of
	// scalars[k] * bases[Offset+k], in Curve.PointBytes bytes that belong to
	// the caller. One failing job fails the batch. Scalars are secrets and
	// belong to the caller: a backend reads them during the call only, and
	// wipes what it copied.
	MSM(ctx context.Context, jobs []Job) ([][]byte, error)

	// Close releases everything. Closing twice is no error.
	Close() error
}

// BasesID names loaded bases within the backend that returned it. Never zero.
type BasesID uint64

// Job is one MSM over Count bases from index Offset on.
type Job struct {
	Bases         BasesID
	Offset, Count int

	// Scalars holds Count scalars, Curve.ScalarBytes each, at any address.
	Scalars []byte
	// SameAs, when above zero, takes the scalars of jobs[SameAs-1] of the same
	// batch instead: an earlier job with the same Count and its own Scalars.
	SameAs int
	// Ready, when set, blocks until the first n scalars are written. A backend
	// calls it, with n never decreasing, before it reads them; those of several
	// jobs may be called at the same time. Its error fails the batch.
	Ready func(ctx context.Context, n int) error
	// Check asks the backend to refuse a scalar that is not below r.
	Check bool
}

// Info describes an open backend. Name is what the user called it by.
type Info struct {
	Name, Version string
	Devices       []Device
	Curves        []Curve // all groups of each
}

// Device is one processor that a backend computes on; Memory is in bytes.
type Device struct {
	Name   string
	Memory uint64
	Detail string // driver, compute capability, kernel digest: for people
}

// Buffer is scalar memory that a backend can read without a copy. Bytes stays
// valid until Free, which wipes it; Free waits for the calls that read it.
type Buffer interface {
	Bytes() []byte
	Free()
}

// Allocator is an optional capability: memory for scalars in the place where
// the backend reads them. Slices of a buffer's Bytes, used as Job.Scalars,
// are recognised by address.
type Allocator interface {
	Alloc(ctx context.Context, size int) (Buffer, error)
}

// Arithmetic is an optional capability: plain arithmetic on batches of numbers.
type Arithmetic interface {
	// Compute applies op to element i of every operand and writes out[i];
	// shapes and names of the operations are those of package arith.
	Compute(ctx context.Context, op string, bits int, out []byte, operands ...[]byte) error
}
