// Package probe tests the device headers of kernels/thread. Its CUDA sources
// give every function there an entry point; the Go test sends operands to a
// program built from them, on the host with sanitizers or on a GPU, and compares
// the answers with math/big and gnark-crypto. It has no API.
//
// go test builds the host's program with g++ (CXX names another compiler), with
// every function on a few arguments, and tries some of the mutants, faults that
// the models must see. scripts/long probe does all of it, with sanitizers. With
// PIPPIN_PROBE=FILE it drives that program instead, which is how the same tests
// run on a GPU: build.sh makes one. PIPPIN_REQUIRE_CXX=1 makes a missing compiler
// a failure rather than a skip.
package probe
