package driver

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"
)

// Host is memory of the host that the device copies from and to by itself:
// pinned memory from AllocHost, or the caller's from RegisterHost or ShareHost.
type Host struct {
	dev      *Device
	bytes    []byte // empty once freed
	owned    bool   // AllocHost's
	shared   bool   // another device's
	readOnly bool
	mu       sync.Mutex // of bytes, against a second Free
}

// AllocHost takes size bytes of pinned host memory, zeroed. Pinning costs
// time and keeps the memory from others: allocate once and reuse.
func (d *Device) AllocHost(size int64) (*Host, error) {
	var p unsafe.Pointer
	err := d.allocate("cuMemHostAlloc", size, false, func() (r Result) { p, r = d.sys.hostAlloc(size); return r })
	if err != nil {
		return nil, err
	}
	h := &Host{dev: d, bytes: unsafe.Slice((*byte)(p), size), owned: true}
	clear(h.bytes)
	d.count(&d.live.Pinned, size)
	d.hosts.add(h)
	return h, nil
}

// RegisterHost lets the device copy from and to memory that is mapped shared,
// such as a memfd; readOnly says that the mapping cannot be written, which a
// device must support (Info.RegisterReadOnly, else backend.ErrUnsupported).
// Other memory, Go's heap above all, is backend.ErrInternal: copy it with
// Stream.Write. The caller frees the Host before it unmaps the memory.
//
// Registering takes some 50 milliseconds for a GiB: do it once a mapping.
func (d *Device) RegisterHost(b []byte, readOnly bool) (*Host, error) {
	if len(b) == 0 {
		return nil, invalid("registering no memory")
	}
	if err := checkShared(b); err != nil {
		return nil, err
	}
	if readOnly && !d.info.RegisterReadOnly || !d.info.Register {
		return nil, newError("cuMemHostRegister", NotSupported, d.sys.text)
	}
	size := int64(len(b))
	p := unsafe.Pointer(unsafe.SliceData(b))
	err := d.allocate("cuMemHostRegister", size, false, func() Result { return d.sys.hostRegister(p, size, readOnly) })
	if err != nil {
		return nil, err
	}
	h := &Host{dev: d, bytes: b, readOnly: readOnly}
	d.count(&d.live.Registered, size)
	d.hosts.add(h)
	return h, nil
}

// ShareHost lets d too copy from and to memory that another device registered,
// until the Host that it returns is freed, which comes before the other's Free.
func (d *Device) ShareHost(h *Host) *Host {
	s := &Host{dev: d, bytes: h.Bytes(), shared: true, readOnly: h.readOnly}
	d.hosts.add(s)
	return s
}

// Bytes returns the memory, nil once freed. The device writes it while a Download
// is under way, and reads it while an Upload is.
func (h *Host) Bytes() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bytes
}

// Wipe zeroes the memory; read-only memory is left alone.
func (h *Host) Wipe() {
	if !h.readOnly {
		clear(h.Bytes())
	}
}

// Span returns all of the memory.
func (h *Host) Span() HostSpan { return HostSpan{host: h, bytes: h.Bytes()} }

// Free gives pinned memory back, wiped, or ends the registration. No copy from
// or to it may be under way. Freeing twice is no error.
func (h *Host) Free() error {
	h.mu.Lock()
	b := h.bytes
	h.bytes = nil
	h.mu.Unlock()
	if b == nil {
		return nil
	}
	h.dev.hosts.remove(h)
	if h.shared {
		return nil
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	if !h.owned {
		h.dev.count(&h.dev.live.Registered, -int64(len(b)))
		return h.dev.release("cuMemHostUnregister", func() Result { return h.dev.sys.hostUnregister(p) })
	}
	h.dev.count(&h.dev.live.Pinned, -int64(len(b)))
	h.dev.wipe(b)
	return h.dev.release("cuMemFreeHost", func() Result { return h.dev.sys.hostFree(p) })
}

// wipe zeroes pinned memory, which is there until the device is closed.
func (d *Device) wipe(b []byte) {
	d.use.RLock()
	defer d.use.RUnlock()
	if !d.closed {
		clear(b)
	}
}

// HostSpan is a part of a Host. It is a value; it does not keep the memory
// from being freed. A span of no bytes is accepted everywhere.
type HostSpan struct {
	host  *Host
	bytes []byte
	bad   bool
}

// Size returns the size in bytes.
func (s HostSpan) Size() int64 { return int64(len(s.bytes)) }

// Bytes returns the memory.
func (s HostSpan) Bytes() []byte { return s.bytes }

// Slice returns the size bytes from off on. When they are not all inside s, the
// result is a span that every call refuses.
func (s HostSpan) Slice(off, size int64) HostSpan {
	if off < 0 || size < 0 || off > s.Size() || size > s.Size()-off {
		return HostSpan{host: s.host, bad: true}
	}
	s.bytes = s.bytes[off : off+size : off+size]
	return s
}

// on returns the span's address for a call on a device.
func (s HostSpan) on(d *Device) (unsafe.Pointer, error) {
	switch {
	case s.bad:
		return nil, invalid("span outside its host memory")
	case len(s.bytes) == 0:
		return nil, nil
	case s.host.dev != d:
		return nil, invalid("host memory of another device")
	case s.host.Bytes() == nil:
		return nil, invalid("host memory was freed")
	}
	return unsafe.Pointer(unsafe.SliceData(s.bytes)), nil
}

// ends returns the addresses of a copy between the device and the host.
func (s *Stream) ends(dev Span, host HostSpan) (address, unsafe.Pointer, error) {
	a, err := dev.on(s.dev)
	if err != nil {
		return 0, nil, err
	}
	p, err := host.on(s.dev)
	if err != nil {
		return 0, nil, err
	}
	if dev.Size() != host.Size() {
		return 0, nil, invalid("copy between %d bytes of the host and %d of the device", host.Size(), dev.Size())
	}
	return a, p, nil
}

// FindHost returns the span of b when all of b lies in one Host of the device, as a
// slice of its Bytes does.
func (d *Device) FindHost(b []byte) (HostSpan, bool) {
	if len(b) == 0 {
		return HostSpan{}, false
	}
	return d.hosts.find(b)
}

// hosts are a device's Hosts that are not freed: a few.
type hosts struct {
	mu   sync.RWMutex
	list []*Host
}

func (l *hosts) add(h *Host) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, h)
}

func (l *hosts) remove(h *Host) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(l.list, func(o *Host) bool { return o == h })
}

func (l *hosts) find(b []byte) (HostSpan, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	from := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	for _, h := range l.list {
		all := h.Bytes()
		start := uintptr(unsafe.Pointer(unsafe.SliceData(all)))
		if from >= start && from-start <= uintptr(len(all)) && uintptr(len(b)) <= uintptr(len(all))-(from-start) {
			return h.Span().Slice(int64(from-start), int64(len(b))), true
		}
	}
	return HostSpan{}, false
}

// String returns text for people.
func (h *Host) String() string {
	kind := "registered"
	if h.owned {
		kind = "pinned"
	}
	return fmt.Sprintf("%d bytes, %s", len(h.Bytes()), kind)
}
