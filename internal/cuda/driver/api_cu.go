//go:build cuda && cgo && linux && (amd64 || arm64)

package driver

/*
#include <stdlib.h>
#include <cuda.h>

// Of CUDA 12.4; older headers lack it.
extern CUresult cuFuncGetParamInfo(CUfunction func, size_t i, size_t *offset, size_t *size);

// Here, since structs with pointers to others of Go's would have to be pinned.
static CUresult launchOverlapping(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
	unsigned bz, unsigned shared, CUstream s, int count, uint64_t *values)
{
	void *params[count + 1];
	CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
		.value.programmaticStreamSerializationAllowed = 1};
	CUlaunchConfig c = {gx, gy, gz, bx, by, bz, shared, s, &early, 1};
	for (int i = 0; i < count; i++) params[i] = &values[i];
	return cuLaunchKernelEx(&c, f, params, NULL);
}
*/
import "C"

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/cuda/driver/internal/loader"
)

// load opens the driver's library.
func load(libraries ...string) (api, error) {
	if err := loader.Open(libraries...); err != nil {
		return nil, fmt.Errorf("%w: the NVIDIA driver's library cannot be loaded: install the NVIDIA driver "+
			"(580 or newer), and in a container pass the GPU in (%w)",
			backend.ErrUnavailable, err)
	}
	return library{}, nil
}

// library is the driver by way of gorgonia.org/cu, and of cgo for the calls
// that cu lacks.
type library struct{}

// code returns the number in an error of cu, whose type has no name outside it.
func code(err error) Result {
	if err == nil {
		return Success
	}
	if v := reflect.ValueOf(err); v.CanInt() {
		return Result(v.Int())
	}
	return Unknown
}

// wrapped returns the cu object around a handle: cu's are structs of one pointer,
// which only cu itself can make.
func wrapped[T cu.CUContext | cu.Stream | cu.Event | cu.Module | cu.Function](h handle) T {
	return *(*T)(unsafe.Pointer(&h))
}

// unwrapped returns the handle in a cu object.
func unwrapped[T cu.CUContext | cu.Stream | cu.Event | cu.Module | cu.Function](o T) handle {
	return *(*handle)(unsafe.Pointer(&o))
}

// Compiles only as long as a cu object has the size of a handle.
var _ = [1]struct{}{}[unsafe.Sizeof(cu.CUContext{})|unsafe.Sizeof(cu.Stream{})|unsafe.Sizeof(cu.Event{})|
	unsafe.Sizeof(cu.Module{})|unsafe.Sizeof(cu.Function{})-unsafe.Sizeof(handle(0))]

// opaque returns a handle as one of CUDA's pointer types.
func opaque[T C.CUstream | C.CUfunction](h handle) T {
	return *(*T)(unsafe.Pointer(&h))
}

func (library) start() Result { return Result(C.cuInit(0)) }

func (library) version() (int, Result) {
	var v C.int
	r := C.cuDriverGetVersion(&v)
	return int(v), Result(r)
}

func (library) text(r Result) string {
	var s *C.char
	if C.cuGetErrorString(C.CUresult(r), &s) != C.CUDA_SUCCESS || s == nil {
		return ""
	}
	return C.GoString(s)
}

func (library) deviceCount() (int, Result) {
	n, err := cu.NumDevices()
	return n, code(err)
}

func (library) device(ordinal int) (int, Result) {
	d, err := cu.GetDevice(ordinal)
	return int(d), code(err)
}

func (library) deviceName(dev int) (string, Result) {
	s, err := cu.Device(dev).Name()
	return s, code(err)
}

func (library) deviceUUID(dev int) ([16]byte, Result) {
	u, err := cu.Device(dev).UUID()
	return u, code(err)
}

func (library) deviceMemory(dev int) (int64, Result) {
	n, err := cu.Device(dev).TotalMem()
	return n, code(err)
}

func (library) deviceAttribute(dev int, a Attribute) (int, Result) {
	v, err := cu.Device(dev).Attribute(cu.DeviceAttribute(a))
	return v, code(err)
}

func (library) setPrimaryFlags(dev int, flags uint) Result {
	return code(cu.Device(dev).SetPrimaryCtxFlags(cu.ContextFlags(flags)))
}

func (library) retainPrimary(dev int) (handle, Result) {
	ctx, err := cu.Device(dev).RetainPrimaryCtx()
	return unwrapped(ctx), code(err)
}

func (library) releasePrimary(dev int) Result { return code(cu.Device(dev).ReleasePrimaryCtx()) }

func (library) setCurrent(ctx handle) Result {
	return code(cu.SetCurrentContext(wrapped[cu.CUContext](ctx)))
}

func (library) synchronize() Result { return code(cu.Synchronize()) }

func (library) canReach(dev, other int) (bool, Result) {
	can, err := cu.Device(dev).CanAccessPeer(cu.Device(other))
	return can != 0, code(err)
}

func (library) reach(ctx handle) Result {
	return code(wrapped[cu.CUContext](ctx).EnablePeerAccess(0))
}

func (library) memInfo() (free, total int64, r Result) {
	free, total, err := cu.MemInfo()
	return free, total, code(err)
}

func (library) alloc(size int64) (address, Result) {
	p, err := cu.MemAlloc(size)
	return address(p), code(err)
}

func (library) free(a address) Result { return code(cu.MemFree(cu.DevicePtr(a))) }

func (library) hostAlloc(size int64) (unsafe.Pointer, Result) {
	var p unsafe.Pointer
	r := C.cuMemHostAlloc(&p, C.size_t(size), C.CU_MEMHOSTALLOC_PORTABLE)
	return p, Result(r)
}

func (library) hostFree(p unsafe.Pointer) Result { return code(cu.MemFreeHost(p)) }

func (library) hostRegister(p unsafe.Pointer, size int64, readOnly bool) Result {
	flags := C.uint(C.CU_MEMHOSTREGISTER_PORTABLE)
	if readOnly {
		flags |= C.CU_MEMHOSTREGISTER_READ_ONLY
	}
	return Result(C.cuMemHostRegister(p, C.size_t(size), flags))
}

func (library) hostUnregister(p unsafe.Pointer) Result { return Result(C.cuMemHostUnregister(p)) }

func (library) upload(dst address, src unsafe.Pointer, size int64, s handle) Result {
	return code(cu.MemcpyHtoDAsync(cu.DevicePtr(dst), src, size, wrapped[cu.Stream](s)))
}

func (library) download(dst unsafe.Pointer, src address, size int64, s handle) Result {
	return code(cu.MemcpyDtoHAsync(dst, cu.DevicePtr(src), size, wrapped[cu.Stream](s)))
}

func (library) copy(dst, src address, size int64, s handle) Result {
	return code(cu.MemcpyDtoDAsync(cu.DevicePtr(dst), cu.DevicePtr(src), size, wrapped[cu.Stream](s)))
}

func (library) copyFrom(dst address, to handle, src address, from handle, size int64, s handle) Result {
	return code(cu.MemcpyPeerAsync(cu.DevicePtr(dst), wrapped[cu.CUContext](to), cu.DevicePtr(src),
		wrapped[cu.CUContext](from), size, wrapped[cu.Stream](s)))
}

func (library) fill(dst address, v byte, size int64, s handle) Result {
	return code(cu.MemsetD8Async(cu.DevicePtr(dst), v, size, wrapped[cu.Stream](s)))
}

func (library) streamCreate(urgent bool) (handle, Result) {
	if urgent {
		// Lower numbers come first; the driver takes the nearest that it has.
		s, err := cu.MakeStreamWithPriority(math.MinInt32, cu.NonBlocking)
		return unwrapped(s), code(err)
	}
	s, err := cu.MakeStream(cu.NonBlocking)
	return unwrapped(s), code(err)
}

func (library) streamDestroy(s handle) Result {
	stream := wrapped[cu.Stream](s)
	return code(stream.Destroy())
}

func (library) streamSynchronize(s handle) Result {
	return code(wrapped[cu.Stream](s).Synchronize())
}

func (library) streamQuery(s handle) Result { return code(wrapped[cu.Stream](s).Query()) }

func (library) streamWait(s, event handle) Result {
	return code(wrapped[cu.Stream](s).Wait(wrapped[cu.Event](event), 0))
}

func (library) eventCreate(flags uint) (handle, Result) {
	e, err := cu.MakeEvent(cu.EventFlags(flags))
	return unwrapped(e), code(err)
}

func (library) eventDestroy(e handle) Result {
	event := wrapped[cu.Event](e)
	return code(cu.DestroyEvent(&event))
}

func (library) eventRecord(e, s handle) Result {
	return code(wrapped[cu.Event](e).Record(wrapped[cu.Stream](s)))
}

func (library) eventSynchronize(e handle) Result { return code(wrapped[cu.Event](e).Synchronize()) }

func (library) eventQuery(e handle) Result { return code(wrapped[cu.Event](e).Query()) }

func (library) eventElapsed(from, to handle) (float64, Result) {
	ms, err := wrapped[cu.Event](from).Elapsed(wrapped[cu.Event](to))
	return ms, code(err)
}

// moduleLoad has cu copy the image, with a zero byte behind it, which PTX needs.
func (library) moduleLoad(image []byte) (handle, Result) {
	m, err := cu.LoadData(unsafe.String(unsafe.SliceData(image), len(image)))
	return unwrapped(m), code(err)
}

func (library) moduleUnload(m handle) Result { return code(wrapped[cu.Module](m).Unload()) }

func (library) moduleFunction(m handle, name string) (handle, Result) {
	f, err := wrapped[cu.Module](m).Function(name)
	return unwrapped(f), code(err)
}

func (library) functionGet(f handle, a functionAttribute) (int, Result) {
	v, err := wrapped[cu.Function](f).Attribute(cu.FunctionAttribute(a))
	return v, code(err)
}

func (library) functionSet(f handle, a functionAttribute, v int) Result {
	return Result(C.cuFuncSetAttribute(opaque[C.CUfunction](f), C.CUfunction_attribute(a), C.int(v)))
}

func (library) functionParam(f handle, i int) (int, Result) {
	var offset, size C.size_t
	r := C.cuFuncGetParamInfo(opaque[C.CUfunction](f), C.size_t(i), &offset, &size)
	return int(size), Result(r)
}

func (library) occupancy(f handle, threads int, shared int64) (int, Result) {
	n, err := wrapped[cu.Function](f).MaxActiveBlocksPerMultiProcessor(threads, shared)
	return n, code(err)
}

func (library) occupancyBlock(f handle, shared int64) (grid, threads int, r Result) {
	var g, t C.int
	res := C.cuOccupancyMaxPotentialBlockSize(&g, &t, opaque[C.CUfunction](f), nil, C.size_t(shared), 0)
	return int(g), int(t), Result(res)
}

func (library) launch(f handle, l Launch, s handle, params []Param) Result {
	if l.Cooperative {
		return launchCooperative(f, l, s, params)
	}
	if l.Overlap {
		return launchOverlapping(f, l, s, params)
	}
	pointers := make([]unsafe.Pointer, len(params))
	for i := range params {
		pointers[i] = unsafe.Pointer(&params[i])
	}
	err := wrapped[cu.Function](f).Launch(l.Grid.X, l.Grid.Y, l.Grid.Z, l.Block.X, l.Block.Y, l.Block.Z,
		l.Shared, wrapped[cu.Stream](s), pointers)
	return code(err)
}

func launchCooperative(f handle, l Launch, s handle, params []Param) Result {
	var pin runtime.Pinner
	defer pin.Unpin()
	pointers := make([]unsafe.Pointer, len(params)+1)
	for i := range params {
		pin.Pin(&params[i])
		pointers[i] = unsafe.Pointer(&params[i])
	}
	r := C.cuLaunchCooperativeKernel(opaque[C.CUfunction](f),
		C.uint(l.Grid.X), C.uint(l.Grid.Y), C.uint(l.Grid.Z), C.uint(l.Block.X), C.uint(l.Block.Y), C.uint(l.Block.Z),
		C.uint(l.Shared), opaque[C.CUstream](s), unsafe.SliceData(pointers))
	return Result(r)
}

func launchOverlapping(f handle, l Launch, s handle, params []Param) Result {
	return Result(C.launchOverlapping(opaque[C.CUfunction](f),
		C.uint(l.Grid.X), C.uint(l.Grid.Y), C.uint(l.Grid.Z), C.uint(l.Block.X), C.uint(l.Block.Y), C.uint(l.Block.Z),
		C.uint(l.Shared), opaque[C.CUstream](s), C.int(len(params)), (*C.uint64_t)(unsafe.SliceData(params))))
}
