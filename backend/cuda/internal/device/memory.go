package device

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
)

// Memory is device memory that stays from turn to turn, until Free.
type Memory struct {
	dev *Device
	mem *driver.Memory
}

// Span returns all of the memory.
func (m *Memory) Span() driver.Span { return m.mem.Span() }

// Size returns the size in bytes.
func (m *Memory) Size() int64 { return m.mem.Size() }

// Free overwrites the memory and gives it back. Nobody may use it any more. It needs no turn. If the
// memory cannot be overwritten, the device keeps it until it can, and Free says so.
func (m *Memory) Free() error { return m.dev.wiped(m.mem, m.dev.overwrite(m.mem)) }

// CopyFrom copies memory of the same size from another card, and returns when that is done. It
// needs no turn.
func (m *Memory) CopyFrom(ctx context.Context, from *Memory) error {
	s, err := m.dev.driver.NewStream()
	if err != nil {
		return err
	}
	defer s.Close()
	for at := int64(0); at < m.Size(); at += mostUnseen {
		if err := backend.Ended(ctx); err != nil {
			return err
		}
		n := min(m.Size()-at, mostUnseen)
		if err := errors.Join(s.CopyFrom(m.Span().Slice(at, n), from.Span().Slice(at, n)), s.Synchronize()); err != nil {
			return err
		}
	}
	return nil
}

// mostUnseen is how much is copied between two looks at the context: 64 MiB take some ten
// milliseconds.
const mostUnseen = 64 << 20

// Write fills memory with pieces from anywhere, through pinned memory, and returns when that is
// done. It needs no turn. It fails if the pieces end early or are too many.
func (d *Device) Write(ctx context.Context, to driver.Span, pieces iter.Seq2[[]byte, error]) error {
	s, err := d.driver.NewStream()
	if err != nil {
		return err
	}
	defer s.Close()
	at := int64(0)
	for p, err := range pieces {
		if err != nil {
			return err
		}
		for len(p) > 0 {
			if err := backend.Ended(ctx); err != nil {
				return err
			}
			part := p[:min(len(p), mostUnseen)]
			if err := s.Write(to.Slice(at, int64(len(part))), part); err != nil {
				return err
			}
			at += int64(len(part))
			p = p[len(part):]
		}
	}
	if at != to.Size() {
		return fmt.Errorf("%w: %d bytes written of %d", backend.ErrInternal, at, to.Size())
	}
	return nil
}
