package driver

import (
	"errors"
	"time"
)

// Stream is a queue of work that runs in order, and beside other streams: it
// does not wait for CUDA's default stream.
type Stream struct{ object }

// NewStream creates a stream.
func (d *Device) NewStream() (*Stream, error) { return d.newStream("cuStreamCreate", false) }

// NewUrgentStream creates a stream whose kernels have the blocks that become free
// before those of others, which run on beside them.
func (d *Device) NewUrgentStream() (*Stream, error) {
	return d.newStream("cuStreamCreateWithPriority", true)
}

func (d *Device) newStream(call string, urgent bool) (*Stream, error) {
	var h handle
	if err := d.do(call, func() (r Result) { h, r = d.sys.streamCreate(urgent); return r }); err != nil {
		return nil, err
	}
	s := &Stream{}
	s.set(d, h)
	return s, nil
}

// Close gives the stream back when its work has ended; it does not wait.
func (s *Stream) Close() error { return s.drop("cuStreamDestroy", s.dev.sys.streamDestroy) }

// Device returns the device of the stream.
func (s *Stream) Device() *Device { return s.dev }

// Synchronize waits until everything on the stream is done. An error of a
// kernel that ran on it shows here at the latest.
func (s *Stream) Synchronize() error {
	return s.do("cuStreamSynchronize", s.dev.sys.streamSynchronize)
}

// Done reports whether everything on the stream is done, without waiting.
func (s *Stream) Done() (bool, error) {
	return pending(s.do("cuStreamQuery", s.dev.sys.streamQuery))
}

// Wait makes what is put on the stream from now on wait for an event, which
// may be another stream's.
func (s *Stream) Wait(e *Event) error {
	eh, err := e.get("event")
	if err != nil {
		return err
	}
	return s.do("cuStreamWaitEvent", func(h handle) Result { return s.dev.sys.streamWait(h, eh) })
}

// Record makes e happen when the stream's work so far is done.
func (s *Stream) Record(e *Event) error {
	eh, err := e.get("event")
	if err != nil {
		return err
	}
	return s.do("cuEventRecord", func(h handle) Result { return s.dev.sys.eventRecord(eh, h) })
}

// Upload copies from the host's memory to the device's. Both spans have the
// same size; src must stay as it is until the copy is done.
func (s *Stream) Upload(dst Span, src HostSpan) error {
	to, from, err := s.ends(dst, src)
	if err != nil || src.Size() == 0 {
		return err
	}
	return s.do("cuMemcpyHtoDAsync", func(h handle) Result { return s.dev.sys.upload(to, from, src.Size(), h) })
}

// Download copies from the device's memory to the host's. Both spans have the
// same size; dst is not to be read until the copy is done.
func (s *Stream) Download(dst HostSpan, src Span) error {
	from, to, err := s.ends(src, dst)
	if err != nil || src.Size() == 0 {
		return err
	}
	if dst.host.readOnly {
		return invalid("download to read-only memory")
	}
	return s.do("cuMemcpyDtoHAsync", func(h handle) Result { return s.dev.sys.download(to, from, src.Size(), h) })
}

// Copy copies within the device's memory. Both spans have the same size and
// must not overlap.
func (s *Stream) Copy(dst, src Span) error {
	to, from, err := s.copies(dst, src, s.dev)
	if err != nil || src.Size() == 0 {
		return err
	}
	return s.do("cuMemcpyDtoDAsync", func(h handle) Result { return s.dev.sys.copy(to, from, src.Size(), h) })
}

// CopyFrom copies from the memory of another device: straight where the two can, else
// whatever way the driver has.
// Both spans have the same size; src must stay as it is until the copy is done.
func (s *Stream) CopyFrom(dst, src Span) error {
	if src.mem == nil {
		return s.Copy(dst, src)
	}
	other := src.mem.dev
	to, from, err := s.copies(dst, src, other)
	if err != nil || src.Size() == 0 {
		return err
	}
	if err := other.Err(); err != nil {
		return err
	}
	s.dev.reach(other)
	other.reach(s.dev)
	return s.do("cuMemcpyPeerAsync", func(h handle) Result { return s.dev.sys.copyFrom(to, s.dev.ctx, from, other.ctx, src.Size(), h) })
}

// copies returns the addresses for a copy to the stream's device from a device's memory.
func (s *Stream) copies(dst, src Span, of *Device) (to, from address, err error) {
	if to, err = dst.on(s.dev); err != nil {
		return 0, 0, err
	}
	if from, err = src.on(of); err != nil {
		return 0, 0, err
	}
	if dst.Size() != src.Size() {
		return 0, 0, invalid("copy of %d bytes to %d", src.Size(), dst.Size())
	}
	return to, from, nil
}

// Fill writes v to every byte.
func (s *Stream) Fill(dst Span, v byte) error {
	to, err := dst.on(s.dev)
	if err != nil || dst.Size() == 0 {
		return err
	}
	return s.do("cuMemsetD8Async", func(h handle) Result { return s.dev.sys.fill(to, v, dst.Size(), h) })
}

// do makes a call that takes the stream.
func (s *Stream) do(call string, f func(handle) Result) error {
	return s.object.do("stream", call, f)
}

// on returns the stream's handle for a call on a device.
func (s *Stream) on(d *Device) (handle, error) {
	if s.dev != d {
		return 0, invalid("stream of another device")
	}
	return s.get("stream")
}

// pending turns the answer "not ready" into false.
func pending(err error) (bool, error) {
	var e *Error
	if errors.As(err, &e) && e.Result == NotReady {
		return false, nil
	}
	return err == nil, err
}

// eventNoTiming is of CUevent_flags.
const eventNoTiming = 2

// Event is a point in a stream's work.
type Event struct {
	object
	timing bool
}

// NewEvent creates an event; with timing it can be asked for Elapsed, without
// it is cheaper. Waiting for it spins.
func (d *Device) NewEvent(timing bool) (*Event, error) {
	var h handle
	flags := uint(0)
	if !timing {
		flags = eventNoTiming
	}
	if err := d.do("cuEventCreate", func() (r Result) { h, r = d.sys.eventCreate(flags); return r }); err != nil {
		return nil, err
	}
	e := &Event{timing: timing}
	e.set(d, h)
	return e, nil
}

// Close gives the event back.
func (e *Event) Close() error { return e.drop("cuEventDestroy", e.dev.sys.eventDestroy) }

// Synchronize waits until the event has happened; at once if it was never
// recorded.
func (e *Event) Synchronize() error { return e.do("cuEventSynchronize", e.dev.sys.eventSynchronize) }

// Done reports whether the event has happened, without waiting.
func (e *Event) Done() (bool, error) { return pending(e.do("cuEventQuery", e.dev.sys.eventQuery)) }

// Elapsed returns the time on the device from one event to a later one, to half a
// microsecond. Both have timing and must have happened.
func (e *Event) Elapsed(from *Event) (time.Duration, error) {
	if !e.timing || !from.timing || e.dev != from.dev {
		return 0, invalid("elapsed time between events of two devices or without timing")
	}
	fh, err := from.get("event")
	if err != nil {
		return 0, err
	}
	var ms float64
	err = e.do("cuEventElapsedTime", func(h handle) (r Result) { ms, r = e.dev.sys.eventElapsed(fh, h); return r })
	return time.Duration(ms * float64(time.Millisecond)), err
}

func (e *Event) do(call string, f func(handle) Result) error { return e.object.do("event", call, f) }
