package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendutil"
	"github.com/pippin-zk/pippin/backend/cuda/driver"
	"github.com/pippin-zk/pippin/internal/layout"
)

// resident is one set of bases: on the device, or in host memory when the
// device has no room, and then copied there chunk by chunk in every call.
type resident struct {
	backendutil.Loaded
	memory *driver.Memory // nil when there are none, or on the host
	host   []byte
}

func (r *resident) free() error {
	if r.memory == nil {
		return nil
	}
	return r.memory.Free()
}

func (r *resident) size() int64 {
	if r.memory == nil {
		return 0
	}
	return r.memory.Size()
}

// LoadBases copies bases to the device. Bases that do not fit beside the work
// of an MSM over them stay in host memory (b.Bytes itself, or a copy of any
// other source).
func (b *Backend) LoadBases(ctx context.Context, bases backend.Bases) (_ backend.BasesID, err error) {
	end, err := b.bases.Begin()
	if err != nil {
		return 0, err
	}
	defer end()
	defer backendutil.Caught(&err)
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := bases.Validate(); err != nil {
		return 0, err
	}
	if _, err := layout.View[uint64](bases.Bytes); err != nil {
		return 0, err
	}
	r := &resident{Loaded: backendutil.Loaded{Curve: bases.Curve, Group: bases.Group, Count: bases.Count}}
	if bases.Count > 0 {
		if err := b.load(ctx, r, &bases); err != nil {
			return 0, err
		}
	}
	return b.bases.Add(r.Loaded, r), nil
}

func (b *Backend) load(ctx context.Context, r *resident, bases *backend.Bases) (err error) {
	prog, err := b.code.program(r.Curve, r.Group)
	if err != nil {
		return err
	}
	fits, err := b.claim(ctx, r.Loaded, bases.Size())
	if err != nil {
		return err
	}
	if fits {
		r.memory, err = b.dev.Alloc(bases.Size())
		if errors.Is(err, backend.ErrOutOfMemory) {
			fits, err = false, nil // somebody else has the memory
		}
		if !fits || err != nil {
			b.unclaim(bases.Size())
		}
		if err != nil {
			return err
		}
	}
	if !fits {
		if err := b.keepOnHost(ctx, r, bases); err != nil {
			return err
		}
		if bases.Hints.Check {
			return b.checkHost(ctx, r, prog)
		}
		return nil
	}
	defer func() {
		if err != nil {
			r.free()
			b.unclaim(bases.Size())
		}
	}()
	s, err := b.dev.NewStream()
	if err != nil {
		return err
	}
	defer s.Close()
	at := int64(0)
	for p, err := range bases.All() {
		if err != nil {
			return err
		}
		for len(p) > 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			part := p[:min(len(p), loadPiece)]
			if err := s.Write(r.memory.Span().Slice(at, int64(len(part))), part); err != nil {
				return err
			}
			at += int64(len(part))
			p = p[len(part):]
		}
	}
	if !bases.Hints.Check {
		return nil
	}
	return b.checkPoints(ctx, s, r, prog, r.memory.Span(), 0, r.Count)
}

// loadPiece bounds what is copied before the context is looked at: 64 MiB take
// some ten milliseconds.
const loadPiece = 64 << 20

// claim reserves memory for bases, if an MSM over them still has room to work.
func (b *Backend) claim(ctx context.Context, of backendutil.Loaded, size int64) (bool, error) {
	if err := b.take(ctx); err != nil {
		return false, err
	}
	defer b.give()
	b.mu.Lock()
	defer b.mu.Unlock()
	held := b.desk.held()
	left := b.budget - (b.used - held) - size
	if left < 0 {
		return false, nil
	}
	if _, err := newPlan(b.inputFor(of, of.Count, false, left)); err != nil {
		return false, nil
	}
	if left < held {
		if err := b.desk.drop(); err != nil {
			return false, err
		}
		b.used -= held
	}
	b.used += size
	return true, nil
}

func (b *Backend) unclaim(size int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= size
}

func (b *Backend) inputFor(of backendutil.Loaded, count int, stream bool, memory int64) input {
	t := tuningOf(of.Curve, of.Group)
	if b.tune != nil {
		b.tune(&t)
	}
	return input{curve: of.Curve, group: of.Group, count: count, stream: stream, memory: memory, tuning: t}
}

func (b *Backend) keepOnHost(ctx context.Context, r *resident, bases *backend.Bases) error {
	if bases.Bytes != nil {
		r.host = bases.Bytes
		return nil
	}
	r.host = layout.Bytes(make([]uint64, bases.Size()/8))
	return bases.Read(ctx, r.host)
}

// checkHost checks bases that stay on the host.
func (b *Backend) checkHost(ctx context.Context, r *resident, prog *program) error {
	const part = 1 << 16
	size := r.Curve.PointBytes(r.Group)
	s, err := b.dev.NewStream()
	if err != nil {
		return err
	}
	defer s.Close()
	m, err := b.dev.Alloc(int64(min(part, r.Count)) * int64(size))
	if err != nil {
		return err
	}
	defer m.Free()
	for from := 0; from < r.Count; from += part {
		n := min(part, r.Count-from)
		span := m.Span().Slice(0, int64(n)*int64(size))
		if err := s.Write(span, r.host[from*size:(from+n)*size]); err != nil {
			return err
		}
		if err := b.checkPoints(ctx, s, r, prog, span, from, n); err != nil {
			return err
		}
	}
	return nil
}

// checkPoints refuses a coordinate that is not below q and a point off the
// curve among n points, the first of which is number base.
func (b *Backend) checkPoints(ctx context.Context, s *driver.Stream, r *resident, prog *program, points driver.Span, base, n int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	bad, err := b.dev.Alloc(4)
	if err != nil {
		return err
	}
	defer bad.Free()
	if err := s.Fill(bad.Span(), 0xff); err != nil {
		return err
	}
	if err := launch(s, prog.check, int64(n), 1, points.Param(), value(n), value(base), bad.Span().Param()); err != nil {
		return err
	}
	var found [4]byte
	if err := s.Read(found[:], bad.Span()); err != nil {
		return err
	}
	if i := binary.LittleEndian.Uint32(found[:]); i != none {
		return fmt.Errorf("%w: base %d of %v %v has a coordinate that is not below q, or is not on the curve",
			backend.ErrInvalidInput, i, r.Curve, r.Group)
	}
	return nil
}

// none is what the kernels leave where they look for the first bad element.
const none = 1<<32 - 1

// FreeBases releases bases once the calls that use them have ended.
func (b *Backend) FreeBases(ctx context.Context, id backend.BasesID) error {
	end, err := b.bases.Begin()
	if err != nil {
		return err
	}
	defer end()
	return b.bases.Free(ctx, id, func(r *resident) error {
		defer b.unclaim(r.size())
		return r.free()
	})
}
