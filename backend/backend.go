// Package backend is the contract between a prover-side engine and whatever
// computes for it: the CPU in process, a plugin process, a GPU.
//
// Only bytes cross it, in gnark-crypto's memory layout: 64-bit little-endian
// limbs, Montgomery form with R = 2^(64*limbs), every element below its
// modulus; a point is its affine coordinates (X, then Y; in Fp2 A0, then A1)
// and infinity is all zero bytes. docs/layout.md has the sizes.
//
// The package imports the standard library only.
//
//	backend.go     the contract, on one screen
//	curve.go       facts of curves
//	element.go     what spaces hold
//	capability.go  what a backend can do
//	program.go     programs, and what each step says of itself
//	steps.go       the steps over vectors; points.go and numbers.go those over points and numbers
//	input.go       where scalars come from
//	errors.go      whose fault an error is
//	digest.go      what names bases
package backend

import "context"

// Backend computes multi-scalar multiplications over bases that it keeps. What
// else it can do are capabilities, which As asks for by their type.
//
// All methods may be called concurrently. Errors wrap one of this package's
// sentinels, which say whose fault it was (FaultOf), or are the context's own
// (Ended). A cancelled call returns promptly, but only when no slice of its
// arguments is read any more. After Close every method but Info and Done fails
// with ErrClosed; Close waits for the calls in flight.
type Backend interface {
	// Info describes the backend; the answer does not change while it is open.
	Info() Info

	// Ping returns nil when the backend is there and answers. It does not wait
	// for computations: its silence means that the backend hangs.
	Ping(ctx context.Context) error

	// Done returns a channel that is closed when the backend is gone, by itself or after
	// Close. Its bases are lost then and its calls fail.
	Done() <-chan struct{}

	// LoadBases makes bases resident. A backend may keep referring to
	// b.Bytes, which the caller must not change before FreeBases; every
	// other kind of source is read to its end before LoadBases returns.
	LoadBases(ctx context.Context, b Bases) (BasesID, error)

	// FreeBases releases bases once the calls that use them have ended; no new
	// call may use them. When ctx ends first they are freed all the same, later.
	// Freeing an id that is unknown or being freed is ErrInvalidInput.
	FreeBases(ctx context.Context, id BasesID) error

	// MSM answers each job with its point, in bytes that belong to the caller:
	// it is a program of jobs (Programs.Run) over inputs alone. Bases outside the
	// subgroup of order r give a point on the curve, and which is the backend's
	// choice. One failing job fails the batch.
	MSM(ctx context.Context, jobs []Job) ([][]byte, error)

	// Close releases everything. Closing twice is no error.
	Close() error
}

// BasesID names loaded bases within the backend that returned it. Never zero.
type BasesID uint64

// Info describes an open backend. Name is what the user called it by.
type Info struct {
	Name, Version string
	// InProcess: it computes in this process.
	InProcess bool
	// PID is the process that computes, when it is another one of this machine,
	// and Executable what it runs.
	PID        int
	Executable string
	// Build is what that process says it was built from.
	Build   Build
	Devices []Device
	Can     Capabilities
}

// Build is the main module of a program, with its version and commit as the go
// command stamped them; "" is not known.
type Build struct{ Module, Version, Commit string }

// Device is one processor that a backend computes on; Memory is in bytes.
type Device struct {
	Name   string
	Memory uint64
	Detail string // driver, compute capability, kernel digest: for people
	// Host tells that the device computes in the memory of this process. It is not told
	// of a plugin's devices.
	Host bool
}

// Buffer is scalar memory that a backend can read without a copy. Bytes stays
// valid until Free, which wipes it; Free waits for the calls that read it.
type Buffer interface {
	Bytes() []byte
	Free()
}

// Allocator is a capability: memory for scalars in the place where the backend
// reads them. Slices of a buffer's Bytes, used as Input.Bytes, are recognised
// by address. Buffers stay valid when the backend dies or is closed.
type Allocator interface {
	Alloc(ctx context.Context, size int) (Buffer, error)
}
