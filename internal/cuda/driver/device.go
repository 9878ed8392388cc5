package driver

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/pippin-zk/pippin/backend"
)

// scheduleBlock, of CUctx_flags, has waits for streams sleep in place of spinning. That costs a wait some
// microseconds, and leaves the processor to others. Waits for events spin, as short MSMs want it.
const scheduleBlock = 4

// Device is an open device: its primary context, held until Close.
type Device struct {
	sys  api
	dev  int
	ctx  handle
	info Info

	use    sync.RWMutex // held for reading by every call, for writing by Close
	closed bool

	lostOnce sync.Once
	lost     chan struct{}
	lostErr  atomic.Pointer[Error]

	live  Live
	hosts hosts
	stage staging
	peers sync.Map // devices whose memory this one has tried to reach
}

// Open opens the device of an ordinal from Devices. A device may be opened
// more than once, which shares the context; an error that ends the context
// ends all of them, each of which finds out by itself.
func Open(ordinal int) (*Device, error) {
	sys, err := begin(libraries...)
	if err != nil {
		return nil, err
	}
	dev, err := pick(sys, ordinal)
	if err != nil {
		return nil, err
	}
	info, err := describe(sys, dev, ordinal, system.version)
	if err != nil {
		return nil, err
	}
	if r := sys.setPrimaryFlags(dev, scheduleBlock); r != Success {
		return nil, startError("cuDevicePrimaryCtxSetFlags", r, sys.text)
	}
	ctx, r := sys.retainPrimary(dev)
	if r != Success {
		return nil, startError("cuDevicePrimaryCtxRetain", r, sys.text)
	}
	return newDevice(sys, dev, ctx, info), nil
}

func newDevice(sys api, dev int, ctx handle, info Info) *Device {
	return &Device{sys: sys, dev: dev, ctx: ctx, info: info, lost: make(chan struct{})}
}

// Close waits for the calls in flight and releases the context, and with it
// whatever was not freed, unless the device is open elsewhere too: the memory
// of AllocHost must not be touched any more. Closing twice is no error.
func (d *Device) Close() error {
	d.stage.call.Lock()
	defer d.stage.call.Unlock()
	err := d.stage.close(d)

	d.use.Lock()
	defer d.use.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	if d.lostErr.Load() != nil {
		return nil // nothing can be released any more
	}
	if r := d.sys.releasePrimary(d.dev); r != Success {
		err = errors.Join(err, d.failed("cuDevicePrimaryCtxRelease", r))
	}
	return err
}

// Reset closes a device that was lost and ends its context, so that Open may try
// for another one: on some errors the driver gives it, on others a new process
// alone does. No call is in flight, on another device neither, since memory that
// this one registered is registered no more. Closing a device is otherwise Close.
func (d *Device) Reset() {
	d.use.Lock()
	defer d.use.Unlock()
	if d.closed {
		return
	}
	d.closed = true
	_ = d.sys.releasePrimary(d.dev) // whatever it says, Open is what can tell
}

// reach has copies from another device's memory go there and back without the
// host's, where the two can; it tries once. Where they cannot, copies are slower,
// and a device that is lost shows in what follows.
func (d *Device) reach(other *Device) {
	if _, tried := d.peers.LoadOrStore(other, true); tried {
		return
	}
	_ = d.do("cuCtxEnablePeerAccess", func() Result {
		if can, r := d.sys.canReach(d.dev, other.dev); r != Success || !can {
			return r
		}
		return d.sys.reach(other.ctx)
	})
}

// Info describes the device.
func (d *Device) Info() Info { return d.info }

// Attribute asks the driver for a number that Info does not hold.
func (d *Device) Attribute(a Attribute) (v int, err error) {
	err = d.do("cuDeviceGetAttribute", func() (r Result) { v, r = d.sys.deviceAttribute(d.dev, a); return r })
	return v, err
}

// Lost returns a channel that is closed when the device is lost to this process.
func (d *Device) Lost() <-chan struct{} { return d.lost }

// Err returns the error that lost the device, or nil.
func (d *Device) Err() error { return d.gone() }

// gone returns what Err does, as an error that is nil when there is none.
func (d *Device) gone() error {
	if first := d.lostErr.Load(); first != nil {
		return fmt.Errorf("device %d was lost: %w", d.info.Ordinal, first)
	}
	return nil
}

// MemInfo returns the device's free memory and all of it, in bytes.
func (d *Device) MemInfo() (free, total int64, err error) {
	err = d.do("cuMemGetInfo", func() (r Result) { free, total, r = d.sys.memInfo(); return r })
	return free, total, err
}

// Synchronize waits for everything on every stream.
func (d *Device) Synchronize() error {
	return d.do("cuCtxSynchronize", d.sys.synchronize)
}

// do makes a call of the driver with the context current. Its error is final:
// an *Error, the device's loss, or ErrClosed.
func (d *Device) do(call string, f func() Result) error {
	return d.enter(func() error {
		if r := f(); r != Success {
			return d.failed(call, r)
		}
		return nil
	})
}

// enter runs f on a thread where the context is current.
func (d *Device) enter(f func() error) error {
	d.use.RLock()
	defer d.use.RUnlock()
	if d.closed {
		return fmt.Errorf("%w: CUDA device %d", backend.ErrClosed, d.info.Ordinal)
	}
	if err := d.gone(); err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if r := d.sys.setCurrent(d.ctx); r != Success {
		return d.failed("cuCtxSetCurrent", r)
	}
	return f()
}

// release does what do does, for calls that give something back: nothing is left to give
// when the device is closed or lost, and that is no error.
func (d *Device) release(call string, f func() Result) error {
	err := d.do(call, f)
	if errors.Is(err, backend.ErrClosed) || d.lostErr.Load() != nil {
		return nil
	}
	return err
}

// failed makes the error of a call, and remembers a sticky one.
func (d *Device) failed(call string, r Result) *Error {
	e := newError(call, r, d.sys.text)
	if r.Sticky() {
		d.lostOnce.Do(func() {
			d.lostErr.Store(e)
			close(d.lost)
		})
	}
	return e
}

// allocate does what do does, for calls that take memory. Memory of the device, unlike the
// host's, is measured for the error's text.
func (d *Device) allocate(call string, size int64, onDevice bool, f func() Result) error {
	if size <= 0 {
		return invalid("%s of %d bytes", call, size)
	}
	return d.enter(func() error {
		r := f()
		if r == Success {
			return nil
		}
		e := d.failed(call, r)
		if r != OutOfMemory {
			return e
		}
		m := &MemoryError{Cause: e, Asked: size}
		if onDevice {
			if free, total, r := d.sys.memInfo(); r == Success {
				m.Free, m.Total = free, total
			}
		}
		return m
	})
}

// Live counts what was taken from a device and not given back.
type Live struct {
	Memory      int64 // bytes on the device
	Pinned      int64 // bytes allocated on the host
	Registered  int64 // bytes registered on the host
	Allocations int64 // of any of these kinds
	Objects     int64 // streams, events, modules
}

// Live returns what this Device has given out and not got back: all zero when
// everything was freed. The staging memory of Read and Write is not counted.
func (d *Device) Live() Live {
	l := Live{
		Memory:      atomic.LoadInt64(&d.live.Memory),
		Pinned:      atomic.LoadInt64(&d.live.Pinned),
		Registered:  atomic.LoadInt64(&d.live.Registered),
		Allocations: atomic.LoadInt64(&d.live.Allocations),
		Objects:     atomic.LoadInt64(&d.live.Objects),
	}
	d.stage.uncount(&l)
	return l
}

// count adds to one of the byte counters and, with the sign of bytes, to the
// allocations.
func (d *Device) count(counter *int64, bytes int64) {
	atomic.AddInt64(counter, bytes)
	if bytes < 0 {
		atomic.AddInt64(&d.live.Allocations, -1)
	} else {
		atomic.AddInt64(&d.live.Allocations, 1)
	}
}

// object is a handle that is destroyed once, with its device. The zero handle
// means destroyed.
type object struct {
	dev *Device
	h   atomic.Uintptr
}

func (o *object) set(d *Device, h handle) {
	o.dev = d
	o.h.Store(uintptr(h))
	atomic.AddInt64(&d.live.Objects, 1)
}

// get returns the handle, or an error when the object was closed.
func (o *object) get(what string) (handle, error) {
	if h := o.h.Load(); h != 0 {
		return handle(h), nil
	}
	return 0, fmt.Errorf("%w: %s", backend.ErrClosed, what)
}

// do makes a call that takes the object's handle.
func (o *object) do(what, call string, f func(handle) Result) error {
	h, err := o.get(what)
	if err != nil {
		return err
	}
	return o.dev.do(call, func() Result { return f(h) })
}

// drop closes the object the first time.
func (o *object) drop(call string, destroy func(handle) Result) error {
	h := handle(o.h.Swap(0))
	if h == 0 {
		return nil
	}
	atomic.AddInt64(&o.dev.live.Objects, -1)
	return o.dev.release(call, func() Result { return destroy(h) })
}
