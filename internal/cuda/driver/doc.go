// Package driver is the CUDA driver as the backend needs it: devices, memory,
// streams, events, modules and launches, with Go errors. It is the only
// package that imports gorgonia.org/cu.
//
// It works when it is built with cgo and the tag cuda, for Linux on amd64 or
// arm64 (scripts/cuda-env prints the flags). Built otherwise, Init, Devices
// and Open fail with backend.ErrUnavailable, and the rest is as it is, so that
// code above it compiles and its logic can be tested anywhere. A program built
// with the tag needs no driver to start: the library is loaded by Init.
//
// # Threads
//
// Every method may be called from any goroutine. A call locks its goroutine to
// the thread it runs on and makes the device's primary context current there,
// for its own duration; nothing is left to the caller. This costs well below a
// microsecond, and unlike one worker thread a device it lets one goroutine wait
// for a stream while another launches. Using an object while another goroutine
// frees it is the caller's mistake, and is answered by an error at best.
//
// # Order
//
// Copies, fills and launches return at once and run in the order of their
// stream. Stream.Read and Stream.Write alone wait for their copy.
//
// # Errors
//
// Every failure of the driver is an *Error: CUDA's name and text, the call, and
// what to do where that is known. It wraps backend.ErrOutOfMemory,
// ErrUnavailable (no driver, no device, no kernel image for it), ErrGone, or
// ErrUnsupported for the rest. Wrong arguments are the backend's own mistake, and
// so backend.ErrInternal.
//
// An error after which CUDA answers nothing else in this process (an illegal
// address, a launch failure, a lost device) is ErrGone and is remembered:
// afterwards every call on the device returns it at once, without the driver;
// Device.Lost tells. Free and Close still succeed then: the memory goes with
// the process, which is what should end next.
//
// # Memory
//
// Asynchronous copies take memory of this package only: a Span on the device's
// side, a HostSpan (pinned or registered) on the host's. Go's heap cannot be
// either. Stream.Read and Stream.Write copy from and to any slice, through
// pinned memory, and wipe that afterwards. Pinned memory is wiped when freed.
package driver
