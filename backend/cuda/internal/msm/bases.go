package msm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	"github.com/pippin-zk/pippin/internal/layout"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// Bases is one set of bases. They are on the card, or in host memory if the card has no room: then
// every call copies them to the card chunk by chunk.
type Bases struct {
	backend.Elements
	dev    *device.Device
	first  int            // index of the first in the bases of which these are a part, for errors
	memory *device.Memory // nil if there are no bases, or if they are on the host
	host   []byte

	preparation
	tables *tables
}

// Pieces returns the points as they were loaded, in order, to load them elsewhere. A piece is valid
// until the next one is asked for.
func (b *Bases) Pieces() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if b.memory == nil {
			if len(b.host) > 0 {
				yield(b.host, nil)
			}
			return
		}
		s, err := b.dev.Driver().NewStream()
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.Close()
		buf := make([]byte, min(16<<20, b.memory.Size()))
		for at := int64(0); at < b.memory.Size(); at += int64(len(buf)) {
			part := buf[:min(int64(len(buf)), b.memory.Size()-at)]
			if err := s.Read(part, b.memory.Span().Slice(at, int64(len(part)))); err != nil {
				yield(nil, err)
				return
			}
			if !yield(part, nil) {
				return
			}
		}
	}
}

// Free gives the bases and their multiples back. No call may use them any more.
func (b *Bases) Free() error {
	if b.memory == nil {
		return nil
	}
	return errors.Join(b.preparation.end(b.tables), b.memory.Free())
}

// Load copies valid bases to the card. If they do not fit beside the work of an MSM over them, they
// stay in host memory: in from.Bytes itself, or in a copy of another source. first is the index of
// the first base, for errors.
func (c *Computer) Load(ctx context.Context, from *backend.Bases, first int) (*Bases, error) {
	if _, err := layout.View[uint64](from.Bytes); err != nil {
		return nil, err
	}
	b := &Bases{dev: c.dev, tables: &c.tables, first: first, Elements: from.Elements()}
	if b.Count == 0 {
		return b, nil
	}
	prog, err := loadKernels(c.dev, b.Curve, b.Group, msmplan.Plain)
	if err != nil {
		return nil, err
	}
	b.memory, err = c.keep(ctx, b.Elements, from.Size())
	switch {
	case errors.Is(err, backend.ErrOutOfMemory):
		err = c.loadOnHost(ctx, b, from, prog)
	case err == nil:
		b.ctx, b.stop = context.WithCancel(c.background)
		if err = c.loadOnCard(ctx, b, from, prog); err == nil && from.Hints.Multiples > 1 {
			err = c.prepareNow(ctx, b, from.Hints)
		}
		if err != nil {
			err = errors.Join(err, b.Free())
		}
	}
	if err != nil {
		return nil, err
	}
	if b.hints = from.Hints; b.hints.Multiples == 0 {
		c.Prepare(b, b.hints)
	}
	return b, nil
}

// Room reports whether such bases would now be loaded to the card, not kept on the host.
func (c *Computer) Room(ctx context.Context, of backend.Elements) (_ bool, err error) {
	turn, err := c.dev.Turn(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, turn.End()) }()
	err = c.suffices(of)(turn.Available() - int64(of.Count)*int64(of.Curve.PointBytes(of.Group)))
	if errors.Is(err, backend.ErrOutOfMemory) {
		return false, nil
	}
	return err == nil, err
}

// suffices returns a function that returns an error if an MSM over the bases has too little room to
// work in the memory that is left.
func (c *Computer) suffices(of backend.Elements) func(left int64) error {
	return func(left int64) error {
		_, err := msmplan.New(c.inputFor(of, of.Count, false, left))
		return err
	}
}

// keep takes memory for bases, if that leaves an MSM over them room to work.
func (c *Computer) keep(ctx context.Context, of backend.Elements, size int64) (*device.Memory, error) {
	turn, err := c.dev.Turn(ctx)
	if err != nil {
		return nil, err
	}
	m, err := turn.Keep(size, c.suffices(of))
	if ended := turn.End(); ended != nil { // which wipes what others have left, too
		if m != nil {
			ended = errors.Join(ended, m.Free())
		}
		return nil, errors.Join(err, ended)
	}
	return m, err
}

func (c *Computer) loadOnCard(ctx context.Context, b *Bases, from *backend.Bases, prog *groupKernels) error {
	if err := c.dev.Write(ctx, b.memory.Span(), from.All()); err != nil {
		return err
	}
	if !from.Hints.Check {
		return nil
	}
	s, err := c.dev.Driver().NewStream()
	if err != nil {
		return err
	}
	defer s.Close()
	return c.check(ctx, s, b, prog, b.memory.Span(), 0, b.Count)
}

func (c *Computer) loadOnHost(ctx context.Context, b *Bases, from *backend.Bases, prog *groupKernels) error {
	b.host = from.Bytes
	if b.host == nil {
		b.host = layout.Bytes(make([]uint64, from.Size()/8))
		if err := from.Read(ctx, b.host); err != nil {
			return err
		}
	}
	if !from.Hints.Check {
		return nil
	}
	return c.checkHost(ctx, b, prog)
}

// checkHost checks bases that stay in host memory.
func (c *Computer) checkHost(ctx context.Context, b *Bases, prog *groupKernels) error {
	const part = 1 << 16
	size := b.Curve.PointBytes(b.Group)
	s, err := c.dev.Driver().NewStream()
	if err != nil {
		return err
	}
	defer s.Close()
	m, err := c.dev.Driver().Alloc(int64(min(part, b.Count)) * int64(size))
	if err != nil {
		return err
	}
	defer m.Free()
	for from := 0; from < b.Count; from += part {
		n := min(part, b.Count-from)
		span := m.Span().Slice(0, int64(n)*int64(size))
		if err := s.Write(span, b.host[from*size:(from+n)*size]); err != nil {
			return err
		}
		if err := c.check(ctx, s, b, prog, span, from, n); err != nil {
			return err
		}
	}
	return nil
}

// check refuses a coordinate not below q and a point off the curve. It checks n points, the first
// of which has the index base.
func (c *Computer) check(ctx context.Context, s *driver.Stream, b *Bases, prog *groupKernels, points driver.Span, base, n int) error {
	if err := backend.Ended(ctx); err != nil {
		return err
	}
	bad, err := c.dev.Driver().Alloc(4)
	if err != nil {
		return err
	}
	defer bad.Free()
	if err := s.Fill(bad.Span(), 0xff); err != nil {
		return err
	}
	if err := prog.check.Launch(s, n, 1, kernel.Check{
		Points: device.Address(points), N: n, Base: b.first + base, Bad: device.Address(bad.Span()),
	}); err != nil {
		return err
	}
	var found [4]byte
	if err := s.Read(found[:], bad.Span()); err != nil {
		return err
	}
	if i := binary.LittleEndian.Uint32(found[:]); i != kernel.NoIndex {
		return fmt.Errorf("%w: base %d of %v %v has a coordinate that is not below q, or is not on the curve",
			backend.ErrInvalidInput, i, b.Curve, b.Group)
	}
	return nil
}
