// Package kernels is the GPU code: CUDA C++ in folders by scope (thread: one
// thread, one number; warp; block; grid: kernels, a folder for each purpose),
// generated constants in curves, and what is compiled from it in fatbin, a
// folder for each architecture. Beside the kernels of a purpose is a generated
// Go package with a type for the parameters of each. This package embeds the
// compiled code, when built with the tag cuda.
package kernels

import "strings"

// Entry is one kernel.
type Entry struct {
	Unit, Symbol string // the image that holds it, and its name there
	Threads      int    // of a block
	Dynamic      bool   // takes dynamic shared memory
	Stack        int    // local memory, in bytes a thread: the most on an architecture in the repository
}

// Kernel is an entry whose parameters are a P.
type Kernel[P Params] struct{ Entry }

// Params is the parameters of a kernel, one of the generated types. Each is a
// word of 64 bits, which is what gorgonia.org/cu copies.
type Params interface{ Words() []uint64 }

// Pointer is an address in a device's memory; 0 is none.
type Pointer uint64

// Key joins names such as "bls12-377" by _ and spells them as in C++, as the generated
// tables do.
func Key(names ...string) string { return strings.ReplaceAll(strings.Join(names, "_"), "-", "_") }

// Flag returns a truth value as a kernel's parameter.
func Flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// Digest names the sources that the compiled code was made from, in 12
// hexadecimal digits.
func Digest() string { return digest[:12] }
