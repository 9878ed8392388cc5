package driver

import "sync/atomic"

// Memory is an allocation on a device. Its contents are undefined at first.
type Memory struct {
	dev  *Device
	size int64
	addr atomic.Uint64 // 0 once freed
}

// Alloc takes size bytes of device memory, aligned to 256 bytes at least. It
// may wait for the device. When there are not as many, the error is a
// *MemoryError (backend.ErrOutOfMemory).
func (d *Device) Alloc(size int64) (*Memory, error) {
	var a address
	err := d.allocate("cuMemAlloc", size, true, func() (r Result) { a, r = d.sys.alloc(size); return r })
	if err != nil {
		return nil, err
	}
	return d.memory(a, size), nil
}

func (d *Device) memory(a address, size int64) *Memory {
	m := &Memory{dev: d, size: size}
	m.addr.Store(uint64(a))
	d.count(&d.live.Memory, size)
	return m
}

// Free gives the memory back once the device has done its work so far. Freeing
// twice is no error.
func (m *Memory) Free() error {
	a := m.take()
	if a == 0 {
		return nil
	}
	return m.dev.release("cuMemFree", func() Result { return m.dev.sys.free(a) })
}

func (m *Memory) take() address {
	a := address(m.addr.Swap(0))
	if a != 0 {
		m.dev.count(&m.dev.live.Memory, -m.size)
	}
	return a
}

// Size returns the size in bytes.
func (m *Memory) Size() int64 { return m.size }

// Span returns all of the memory.
func (m *Memory) Span() Span { return Span{mem: m, size: m.size} }

// Span is a part of a Memory: an address with bounds, which every call checks.
// It is a value; it does not keep the memory from being freed. The zero Span
// is empty, and so is any span of no bytes: calls accept it and do nothing.
type Span struct {
	mem       *Memory
	off, size int64
	bad       bool
}

// Size returns the size in bytes.
func (s Span) Size() int64 { return s.size }

// Slice returns the size bytes from off on. When they are not all inside s, the
// result is a span that every call refuses.
func (s Span) Slice(off, size int64) Span {
	if off < 0 || size < 0 || off > s.size || size > s.size-off {
		return Span{mem: s.mem, bad: true}
	}
	s.off += off
	s.size = size
	return s
}

// Param returns the span's address as a kernel's parameter: 0, which no kernel can
// follow, when the memory was freed or the span is out of bounds.
func (s Span) Param() Param {
	if s.bad || s.mem == nil {
		return 0
	}
	if a := s.mem.addr.Load(); a != 0 {
		return Param(a + uint64(s.off))
	}
	return 0
}

// on returns the span's address for a call on a device.
func (s Span) on(d *Device) (address, error) {
	switch {
	case s.bad:
		return 0, invalid("span outside its memory")
	case s.size == 0:
		return 0, nil
	case s.mem.dev != d:
		return 0, invalid("memory of another device")
	}
	a := s.Param()
	if a == 0 {
		return 0, invalid("memory was freed")
	}
	return address(a), nil
}
