package vector

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/backend/cuda/internal/msm"
	"github.com/pippin-zk/pippin/backend/cuda/internal/point"
)

// Computer runs programs on one card. Its methods may be called concurrently; programs take turns
// on the card.
type Computer struct {
	dev *device.Device
	msm *msm.Computer

	// Under the turn:
	fields map[backend.Element]*field
	groups map[backend.Element]*point.Group
}

// New makes a computer on a card, with m for MSMs. Both still belong to the caller and outlive it.
func New(d *device.Device, m *msm.Computer) *Computer {
	return &Computer{dev: d, msm: m, fields: make(map[backend.Element]*field), groups: make(map[backend.Element]*point.Group)}
}

// Close gives back what programs share. No program may be in flight.
func (c *Computer) Close() error {
	var errs []error
	for _, f := range c.fields {
		errs = append(errs, f.close())
	}
	return errors.Join(errs...)
}

// Space is memory for elements of a curve's scalar field, for points, or for words.
type Space struct {
	backend.Elements
	memory *device.Memory // nil if there are no elements
}

// NewSpace takes memory for elements, all zero.
func (c *Computer) NewSpace(ctx context.Context, of backend.Elements) (_ *Space, err error) {
	size, err := of.Size()
	if err != nil {
		return nil, err
	}
	if of.Count > math.MaxUint32 {
		return nil, fmt.Errorf("%w: a space of %d %v, a card's have less than 2^32", backend.ErrOutOfMemory, of.Count, of.Element)
	}
	s := &Space{Elements: of}
	if size == 0 {
		return s, nil
	}
	turn, err := c.dev.Turn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		ended := turn.End() // which wipes what others have left, too
		if ended != nil && err == nil {
			ended = errors.Join(ended, s.Free())
		}
		err = errors.Join(err, ended)
	}()
	// The kernels for it are loaded now, so that programs can use every space that exists.
	if _, err := c.field(turn, scalarsOf(of.Element)); err != nil {
		return nil, err
	}
	if of.Kind == backend.Points {
		if _, err := c.group(of.Element); err != nil {
			return nil, err
		}
	}
	s.memory, err = turn.Keep(size, func(int64) error { return nil })
	if err != nil {
		return nil, fmt.Errorf("a space of %d %v: %w", of.Count, of.Element, err)
	}
	if err := errors.Join(turn.Compute.Fill(s.memory.Span(), 0), turn.Compute.Synchronize()); err != nil {
		return nil, errors.Join(err, s.Free())
	}
	return s, nil
}

// CopyFrom copies another space of the same size, on another card, and returns when that is done.
// Programs may use both meanwhile: what they write then is undefined in this copy.
func (s *Space) CopyFrom(ctx context.Context, from *Space) error {
	if s.memory == nil {
		return nil
	}
	return s.memory.CopyFrom(ctx, from.memory)
}

// Free wipes the space and gives it back. No program may use it any more.
func (s *Space) Free() error {
	if s.memory == nil {
		return nil
	}
	return s.memory.Free()
}

// field returns what computes over elements. It is loaded once. The caller has the turn.
func (c *Computer) field(t *device.Turn, e backend.Element) (*field, error) {
	if f, ok := c.fields[e]; ok {
		return f, nil
	}
	f, err := newField(t, c.dev, e)
	if err != nil {
		return nil, err
	}
	c.fields[e] = f
	return f, nil
}

// group returns what computes over points. It is loaded once. The caller has the turn.
func (c *Computer) group(e backend.Element) (*point.Group, error) {
	if g, ok := c.groups[e]; ok {
		return g, nil
	}
	g, err := point.New(c.dev, e)
	if err != nil {
		return nil, err
	}
	c.groups[e] = g
	return g, nil
}

// scalarsOf returns the element whose field a program over elements e uses. For points that is
// scalars, by which points are multiplied.
func scalarsOf(e backend.Element) backend.Element {
	if e.Kind == backend.Points {
		return backend.ScalarOf(e.Curve)
	}
	return e
}
