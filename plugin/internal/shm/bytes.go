package shm

import (
	"bytes"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// This file, futex_linux.go and peer_linux.go are all of the package's unsafe: here addresses and
// atomic counters in mapped memory, which is never on the Go heap and never moves.

// PageSize is the unit of regions. Systems with larger pages map whole
// arenas, so nothing depends on it being the system's own.
const PageSize = 4096

// address returns where b starts.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// Aligned reports whether b starts at a multiple of 8 bytes, as backends want.
func Aligned(b []byte) bool { return address(b)%8 == 0 }

// IndexBytes returns the memory of indices.
func IndexBytes(x []uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// Indices returns b, Aligned and of a length that is a multiple of 4, as indices.
func Indices(b []byte) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// word returns the counter in the first 8 bytes of b, which must be Aligned.
func word(b []byte) *atomic.Uint64 {
	_ = b[7]
	return (*atomic.Uint64)(unsafe.Pointer(unsafe.SliceData(b)))
}

// half returns the number in the first 4 bytes of b, at a multiple of 4.
func half(b []byte) *atomic.Uint32 {
	_ = b[3]
	return (*atomic.Uint32)(unsafe.Pointer(unsafe.SliceData(b)))
}

// parallelGrain is the least that is worth a goroutine of its own.
const parallelGrain = 1 << 20

// maxWorkers bounds the goroutines of one copy or wipe. On a host of an H200 with 16
// cores, 512 MiB are copied at 23 GB/s by 4, 41 by 8 and 60 by 16; 16 leave no core to
// the plugin, which has to send what comes, and calls take longer.
const maxWorkers = 8

// Workers returns how many goroutines should move size bytes.
func Workers(size int) int {
	return max(1, min(runtime.GOMAXPROCS(0), maxWorkers, size/parallelGrain))
}

// parallel calls f for consecutive pieces of [0, size), cut at pages.
func parallel(size int, f func(from, to int)) { pieces(size, Workers(size), f) }

// pieces calls f for n consecutive pieces of [0, size), cut at pages.
func pieces(size, n int, f func(from, to int)) {
	if n == 1 {
		f(0, size)
		return
	}
	step := roundUp((size+n-1)/n, PageSize)
	var wg sync.WaitGroup
	for from := 0; from < size; from += step {
		wg.Go(func() { f(from, min(from+step, size)) })
	}
	wg.Wait()
}

// pastCaches is the size from which on Go's clear writes past the caches, and so does not read what it
// overwrites (runtime/memclr_amd64.s): four parts of 32 MiB take 1.9 ms on a host with 16 cores, 16 parts 1.3.
const pastCaches = 32 << 20

// Wipe zeroes b, by several goroutines when it is long.
func Wipe(b []byte) {
	n := Workers(len(b))
	if len(b) >= pastCaches {
		n = min(n, len(b)/pastCaches)
	}
	pieces(len(b), n, func(from, to int) { clear(b[from:to]) })
}

// Copy copies src to dst, which is at least as long, by several goroutines
// when it is long.
func Copy(dst, src []byte) {
	dst = dst[:len(src)]
	parallel(len(src), func(from, to int) { copy(dst[from:to], src[from:to]) })
}

// Clone returns a copy of b. A short one is made without clearing it first.
func Clone(b []byte) []byte {
	if Workers(len(b)) == 1 {
		return bytes.Clone(b)
	}
	c := make([]byte, len(b))
	Copy(c, b)
	return c
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }
