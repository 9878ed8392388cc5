// Package layout turns gnark-crypto's typed slices into bytes and back without
// a copy. It is the only file of the project that imports unsafe for views;
// package curves proves at start what the views rely on.
package layout

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/pippin-zk/pippin/backend"
)

// Bytes returns the memory of s as bytes. Both share storage: writes to one show in the
// other. The result keeps s alive.
func Bytes[T any](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// View returns b as elements of T, which share b's storage. The error is ErrInvalidInput
// if the length is no multiple of T's size, or the memory is not aligned for T. T must
// hold no pointers.
func View[T any](b []byte) ([]T, error) {
	var t T
	size, align := int(unsafe.Sizeof(t)), uintptr(unsafe.Alignof(t))
	if len(b)%size != 0 {
		return nil, fmt.Errorf("%w: %d bytes are no whole number of %T (%d bytes each)", backend.ErrInvalidInput, len(b), t, size)
	}
	if len(b) == 0 {
		return nil, nil
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(p)%align != 0 {
		return nil, fmt.Errorf("%w: memory for %T must be aligned to %d bytes", backend.ErrInvalidInput, t, align)
	}
	return unsafe.Slice((*T)(p), len(b)/size), nil
}

// Range returns the address range [lo, hi) of s's memory, or (0, 0) if s is empty. It
// identifies memory that the caller keeps alive, and is never turned back into a pointer.
func Range[T any](s []T) (lo, hi uintptr) {
	if len(s) == 0 {
		return 0, 0
	}
	lo = uintptr(unsafe.Pointer(unsafe.SliceData(s)))
	return lo, lo + uintptr(len(s))*unsafe.Sizeof(s[0])
}

// Overlap reports whether two slices share memory.
func Overlap[T any](a, b []T) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	address := func(e *T) uintptr { return uintptr(unsafe.Pointer(e)) }
	return address(&a[0]) <= address(&b[len(b)-1]) && address(&b[0]) <= address(&a[len(a)-1])
}

// WipeElements overwrites slices of field elements, up to their capacity, and slices of those, also
// where they are in unexported fields of others' types. It leaves any other value alone.
func WipeElements(v reflect.Value) {
	if v.Kind() != reflect.Slice {
		return
	}
	switch e := v.Type().Elem(); {
	case e.Kind() == reflect.Slice:
		for i := range v.Len() {
			WipeElements(v.Index(i))
		}
	case e.Kind() == reflect.Array && e.Elem().Kind() == reflect.Uint64:
		clear(unsafe.Slice((*byte)(v.UnsafePointer()), v.Cap()*int(e.Size())))
	}
}
