package device

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
)

// budget counts how many bytes of a card's memory are in use. Memory is taken in a turn and given
// back at any time.
type budget struct {
	limit  int64
	spares []Spare // in the order in which they are dropped; under the turn

	mu   sync.Mutex
	used int64
}

// Spare is memory that its owner can do without, because he can make it again.
type Spare interface {
	// Held returns the bytes that Drop would give back.
	Held() int64
	// Drop gives some of them back if there are any: all, or as few as it can. Held and Drop are
	// called in somebody's turn.
	Drop() error
}

// left returns the bytes that are free or spare.
func (b *budget) left() int64 {
	b.mu.Lock()
	left := b.limit - b.used
	b.mu.Unlock()
	for _, s := range b.spares {
		left += s.Held()
	}
	return left
}

// take counts size bytes as used. It drops spare memory as far as it must.
func (b *budget) take(size int64) error {
	if left := b.left(); size > left {
		return fmt.Errorf("%w: %d bytes on the device, %d of %d are left", backend.ErrOutOfMemory, size, left, b.limit)
	}
	for _, s := range b.spares {
		for s.Held() > 0 {
			if b.count(size) {
				return nil
			}
			if err := s.Drop(); err != nil {
				return err
			}
		}
	}
	if !b.count(size) {
		return fmt.Errorf("%w: spare memory did not become free", backend.ErrInternal)
	}
	return nil
}

// count counts size bytes as used if they are free. A negative size gives them back.
func (b *budget) count(size int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+size > b.limit {
		return false
	}
	b.used += size
	return true
}

// alloc takes memory within the budget.
func (d *Device) alloc(size int64) (*driver.Memory, error) {
	if err := d.budget.take(size); err != nil {
		return nil, err
	}
	m, err := d.driver.Alloc(size)
	if err != nil {
		d.budget.count(-size)
	}
	return m, err
}

// free gives back memory of alloc, which must have been wiped.
func (d *Device) free(m *driver.Memory) error {
	defer d.budget.count(-m.Size())
	return m.Free()
}

// Memory is device memory that stays from turn to turn, until Free.
type Memory struct {
	dev *Device
	mem *driver.Memory
}

// Span returns all of the memory.
func (m *Memory) Span() driver.Span { return m.mem.Span() }

// Size returns the size in bytes.
func (m *Memory) Size() int64 { return m.mem.Size() }

// Free overwrites the memory and gives it back. Nobody may use it any more. It needs no turn.
func (m *Memory) Free() error {
	err := m.wipe()
	if m.dev.driver.Err() != nil {
		err = nil // a lost device's memory ends with the process
	}
	return errors.Join(err, m.dev.free(m.mem))
}

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

func (m *Memory) wipe() error {
	s, err := m.dev.driver.NewStream()
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Fill(m.Span(), 0); err != nil {
		return err
	}
	return s.Synchronize()
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
