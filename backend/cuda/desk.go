package cuda

import (
	"errors"

	"github.com/pippin-zk/pippin/backend/cuda/driver"
)

// desk is what the call whose turn it is works with: streams, events, and one
// allocation that is kept for the next call.
type desk struct {
	dev           *driver.Device
	compute, copy *driver.Stream
	// By turns, for the steps of even and odd number.
	copied [2]*driver.Event // the step's input is on the device
	read   [2]*driver.Event // its digits are made: the input may be written over
	done   [2]*driver.Event // it is computed

	memory *driver.Memory // nil when there is none
	result *driver.Host   // pinned, for what comes back
}

func newDesk(dev *driver.Device) (_ *desk, err error) {
	d := &desk{dev: dev}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	for _, s := range []**driver.Stream{&d.compute, &d.copy} {
		if *s, err = dev.NewStream(); err != nil {
			return nil, err
		}
	}
	for i := range 2 {
		for _, e := range []**driver.Event{&d.copied[i], &d.read[i], &d.done[i]} {
			if *e, err = dev.NewEvent(false); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

// held is the bytes of device memory that the desk keeps.
func (d *desk) held() int64 {
	if d.memory == nil {
		return 0
	}
	return d.memory.Size()
}

// drop gives the device memory back.
func (d *desk) drop() error {
	m := d.memory
	d.memory = nil
	if m == nil {
		return nil
	}
	return m.Free()
}

// results is pinned memory of at least size bytes.
func (d *desk) results(size int64) (*driver.Host, error) {
	if d.result != nil && d.result.Span().Size() >= size {
		return d.result, nil
	}
	if d.result != nil {
		if err := d.result.Free(); err != nil {
			return nil, err
		}
		d.result = nil
	}
	h, err := d.dev.AllocHost(max(size, 1<<16))
	if err != nil {
		return nil, err
	}
	d.result = h
	return h, nil
}

func (d *desk) close() error {
	errs := []error{d.drop()}
	if d.result != nil {
		errs = append(errs, d.result.Free())
	}
	for i := range 2 {
		for _, e := range []*driver.Event{d.copied[i], d.read[i], d.done[i]} {
			if e != nil {
				errs = append(errs, e.Close())
			}
		}
	}
	for _, s := range []*driver.Stream{d.compute, d.copy} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(errs...)
}
