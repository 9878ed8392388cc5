// Package backend is the contract between an engine in the prover's process and whatever computes
// for it: the CPU in the same process, a plugin process, a GPU.
//
// Only bytes cross it, in gnark-crypto's memory layout. An element is 64-bit little-endian limbs in
// Montgomery form with R = 2^(64*limbs), and is below its modulus. A point is its affine
// coordinates, X and then Y; in Fp2 a coordinate is A0 and then A1. Infinity is all zero bytes.
// docs/layout.md has the sizes.
//
// The package imports the standard library only.
//
//	backend.go     the contract, on one screen
//	curve.go       facts of curves
//	element.go     what spaces hold
//	capability.go  what a backend can do
//	program.go     programs, and how each step describes itself
//	steps.go       the steps over vectors; points.go and numbers.go: those over points and numbers
//	input.go       where scalars come from
//	errors.go      whose fault an error is
//	digest.go      how bases are identified
package backend

import "context"

// Backend computes multi-scalar multiplications over bases that it keeps. Whatever else it can do
// is a capability, which As finds by its type.
//
// All methods may be called concurrently. An error wraps a sentinel of this package, which says
// whose fault it was (FaultOf), or is that of the context (Ended). A cancelled call returns
// promptly, but not before the backend has stopped reading the slices among its arguments. After
// Close every method except Info and Done fails with ErrClosed. Close waits for the calls in
// flight.
type Backend interface {
	// Info describes the backend. The answer does not change while the backend is open.
	Info() Info

	// Ping returns nil if the backend is there and answers. It does not wait for computations: no
	// answer means that the backend hangs.
	Ping(ctx context.Context) error

	// Done returns a channel that is closed when the backend is gone, either by itself or after
	// Close. From then on its bases are lost and its calls fail.
	Done() <-chan struct{}

	// LoadBases makes bases resident. A backend may go on reading b.Bytes, which the caller must
	// not change before FreeBases. Any other source is read to its end before LoadBases returns.
	LoadBases(ctx context.Context, b Bases) (BasesID, error)

	// FreeBases frees bases once the calls that use them have ended; no new call may use them. If
	// ctx ends first, it returns and the bases are freed later. Freeing an unknown id, or one that
	// is being freed already, is ErrInvalidInput.
	FreeBases(ctx context.Context, id BasesID) error

	// MSM answers each job with its point, in bytes that belong to the caller. A batch is a program
	// of jobs (Programs.Run) that use no spaces. If bases are outside of the subgroup of order r,
	// the backend may answer any point on the curve. If one job fails, the batch fails.
	MSM(ctx context.Context, jobs []Job) ([][]byte, error)

	// Close releases everything. Closing twice is no error.
	Close() error
}

// BasesID identifies loaded bases within the backend that returned it. It is never zero.
type BasesID uint64

// Info describes an open backend. Name is the name by which the user asked for it.
type Info struct {
	Name, Version string
	// InProcess says that the backend computes in this process.
	InProcess bool
	// PID is the process that computes, if that is another process of this machine. Executable is
	// the file that it runs.
	PID        int
	Executable string
	// Build is what that process was built from, as it says itself.
	Build   Build
	Devices []Device
	Can     Capabilities
}

// Build is a program's main module, version and commit, as the go command stamped them. "" means
// unknown.
type Build struct{ Module, Version, Commit string }

// Device is one processor that a backend computes on; Memory is in bytes.
type Device struct {
	Name   string
	Memory uint64
	Detail string // driver, compute capability, kernel digest: for people
	// Host says that the device computes in the memory of this process. It is not set for a
	// plugin's devices.
	Host bool
}

// Buffer is scalar memory that a backend can read without a copy. Bytes stays valid until Free,
// which waits for the calls that read it and wipes it.
type Buffer interface {
	Bytes() []byte
	Free()
}

// Allocator is a capability: memory for scalars at the place where the backend reads them. The
// backend recognises slices of a buffer's Bytes by their address when they are Input.Bytes. Buffers
// stay valid when the backend dies or is closed.
type Allocator interface {
	Alloc(ctx context.Context, size int) (Buffer, error)
}
