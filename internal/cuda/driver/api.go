package driver

import "unsafe"

// handle is an object of the driver: a context, stream, event, module or
// function. Zero is none.
type handle uintptr

// address is a place in a device's memory.
type address uint64

// api is the driver's functions, a method each. What the driver has no
// function for, this package adds on top, in Go that is the same with and
// without the driver. From setCurrent on, all need a current context.
type api interface {
	start() Result // cuInit
	version() (int, Result)
	text(Result) string
	deviceCount() (int, Result)
	device(ordinal int) (int, Result)
	deviceName(dev int) (string, Result)
	deviceUUID(dev int) ([16]byte, Result)
	deviceMemory(dev int) (int64, Result)
	deviceAttribute(dev int, a Attribute) (int, Result)
	setPrimaryFlags(dev int, flags uint) Result
	retainPrimary(dev int) (handle, Result)
	releasePrimary(dev int) Result

	setCurrent(ctx handle) Result
	synchronize() Result
	canReach(dev, other int) (bool, Result)
	reach(ctx handle) Result // from the current context
	memInfo() (free, total int64, r Result)

	alloc(size int64) (address, Result)
	free(address) Result

	hostAlloc(size int64) (unsafe.Pointer, Result)
	hostFree(unsafe.Pointer) Result
	hostRegister(p unsafe.Pointer, size int64, readOnly bool) Result
	hostUnregister(unsafe.Pointer) Result

	upload(dst address, src unsafe.Pointer, size int64, s handle) Result
	download(dst unsafe.Pointer, src address, size int64, s handle) Result
	copy(dst, src address, size int64, s handle) Result
	copyFrom(dst address, to handle, src address, from handle, size int64, s handle) Result // between contexts
	fill(dst address, v byte, size int64, s handle) Result

	streamCreate(urgent bool) (handle, Result)
	streamDestroy(handle) Result
	streamSynchronize(handle) Result
	streamQuery(handle) Result
	streamWait(s, event handle) Result

	eventCreate(flags uint) (handle, Result)
	eventDestroy(handle) Result
	eventRecord(event, s handle) Result
	eventSynchronize(handle) Result
	eventQuery(handle) Result
	eventElapsed(from, to handle) (milliseconds float64, r Result)

	moduleLoad(image []byte) (handle, Result)
	moduleUnload(handle) Result
	moduleFunction(m handle, name string) (handle, Result)

	functionGet(f handle, a functionAttribute) (int, Result)
	functionSet(f handle, a functionAttribute, v int) Result
	functionParam(f handle, i int) (size int, r Result)
	occupancy(f handle, threads int, shared int64) (int, Result)
	occupancyBlock(f handle, shared int64) (grid, threads int, r Result)
	launch(f handle, l Launch, s handle, params []Param) Result
}

type functionAttribute int

const (
	funcMaxThreads       functionAttribute = 0
	funcShared           functionAttribute = 1
	funcConst            functionAttribute = 2
	funcLocal            functionAttribute = 3
	funcRegisters        functionAttribute = 4
	funcPTX              functionAttribute = 5
	funcBinary           functionAttribute = 6
	funcMaxDynamicShared functionAttribute = 8
	funcSharedCarveout   functionAttribute = 9
)
