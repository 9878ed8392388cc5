//go:build cuda && cgo && linux && (amd64 || arm64)

package fakecuda

/*
#include <stdlib.h>

static long long call_counter(void *f, const char *name) { return ((long long (*)(const char *))f)(name); }
static int call_fail(void *f, const char *rules) { return ((int (*)(const char *))f)(rules); }
static void call_reset(void *f) { ((void (*)(void))f)(); }
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/pippin-zk/pippin/internal/cuda/driver/internal/loader"
)

// Present tells whether the driver in use is the fake.
func Present() bool { return loader.Symbol("fakecuda_reset") != nil }

// Fail makes calls fail from now on: "cuMemAlloc@3=2,cuLaunchKernel@1+=719"
// lets the third cuMemAlloc answer CUDA's error 2 and every launch 719, and
// "cuLaunchKernel#1@3=719" the third launch on device 1.
func Fail(rules string) error {
	c := C.CString(rules)
	defer C.free(unsafe.Pointer(c))
	f := loader.Symbol("fakecuda_fail")
	if f == nil {
		return errors.New("fakecuda: the driver in use is not the fake")
	}
	if C.call_fail(f, c) != 0 {
		return fmt.Errorf("fakecuda: bad failure rules %q", rules)
	}
	return nil
}

// Reset forgets failures and calls, and revives devices that an error ended.
func Reset() {
	if f := loader.Symbol("fakecuda_reset"); f != nil {
		C.call_reset(f)
	}
}

// Counter returns one of the counters in fakecuda.c, such as "allocations" or
// "launches"; -1 when there is none of that name, or no fake.
func Counter(name string) int64 { return number("fakecuda_counter", name) }

// Calls returns how often a function of the driver was called since Reset, or -1
// without the fake.
func Calls(name string) int64 { return number("fakecuda_calls", name) }

func number(function, name string) int64 {
	f := loader.Symbol(function)
	if f == nil {
		return -1
	}
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	return int64(C.call_counter(f, c))
}
