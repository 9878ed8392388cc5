//go:build cuda && cgo && linux && (amd64 || arm64)

package loader

/*
#cgo LDFLAGS: -L${SRCDIR}/lib -ldl
#include <stdlib.h>
#include "loader.h"
*/
import "C"

import (
	"errors"
	"strings"
	"unsafe"
)

// Open loads the first of libraries that the dynamic linker finds and points
// the table at it. Functions that the library lacks answer
// CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER from then on. When none can be loaded,
// every function answers CUDA_ERROR_NO_DEVICE and the error has the dynamic
// linker's reasons.
//
// It must return before any other thread calls a cu* function, and must not
// be called again after it has succeeded.
func Open(libraries ...string) error {
	var reasons []string
	for _, name := range libraries {
		cname := C.CString(name)
		reason := C.pippin_cuda_open(cname)
		C.free(unsafe.Pointer(cname))
		if reason == nil {
			return nil
		}
		reasons = append(reasons, C.GoString(reason))
	}
	return errors.New(strings.Join(reasons, "; "))
}

// Missing names the functions that the loaded library lacks.
func Missing() []string {
	var names []string
	for i := range int(C.pippin_cuda_count) {
		if C.pippin_cuda_missing(C.int(i)) != 0 {
			names = append(names, C.GoString(C.pippin_cuda_name(C.int(i))))
		}
	}
	return names
}

// Symbol returns the address of a symbol of the loaded library, or nil.
func Symbol(name string) unsafe.Pointer {
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	return C.pippin_cuda_symbol(cname)
}
