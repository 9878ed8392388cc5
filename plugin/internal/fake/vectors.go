package fake

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
)

// space is a vector of bytes.
type space struct {
	backend.Elements
	bytes []byte
}

func (s space) of(r backend.Range) []byte {
	size := s.Element.Bytes()
	return s.bytes[r.Offset*size : (r.Offset+r.Count)*size]
}

// NewSpace implements backend.Programs.
func (b *Backend) NewSpace(ctx context.Context, e backend.Element, count int) (backend.SpaceID, error) {
	of := backend.Elements{Element: e, Count: count}
	size, err := of.Size()
	if err != nil {
		return 0, err
	}
	if size > 1<<30 {
		return 0, fmt.Errorf("%w: %d bytes", backend.ErrOutOfMemory, size)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spaces == nil {
		b.spaces = map[backend.SpaceID]space{}
	}
	b.lastSpace++
	b.spaces[b.lastSpace] = space{of, make([]byte, size)}
	return b.lastSpace, backend.Ended(ctx)
}

// FreeSpace implements backend.Programs.
func (b *Backend) FreeSpace(_ context.Context, id backend.SpaceID) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.spaces[id]; !ok {
		return fmt.Errorf("%w: space %d", backend.ErrInvalidInput, id)
	}
	delete(b.spaces, id)
	return nil
}

// Spaces returns how many there are.
func (b *Backend) Spaces() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.spaces)
}

// Run implements backend.Programs. Writes and reads are what they should be; what
// another step writes or answers is a digest of all that it says and reads.
func (b *Backend) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	if b.Started != nil {
		b.Started()
	}
	if err := backend.Check(steps, b.memory()); err != nil {
		return nil, err
	}
	b.pause(ctx)
	answers := make([][]byte, len(steps))
	for i, s := range steps {
		var err error
		if answers[i], err = b.step(ctx, steps, s); err != nil {
			return nil, backend.InStep(i, s, err)
		}
	}
	return answers, nil
}

// memory returns what there is.
func (b *Backend) memory() backend.Memory {
	return backend.Memory{
		Bases: func(id backend.BasesID) (backend.Elements, bool) {
			b.mu.Lock()
			defer b.mu.Unlock()
			l, ok := b.bases[id]
			return l.Elements, ok
		},
		Space: func(id backend.SpaceID) (backend.Elements, bool) {
			s := b.space(id)
			return s.Elements, s.Valid()
		},
	}
}

func (b *Backend) space(id backend.SpaceID) space {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spaces[id]
}

func (b *Backend) step(ctx context.Context, steps []backend.Step, s backend.Step) ([]byte, error) {
	at := func(r backend.Range) []byte { return b.space(r.Space).of(r) }
	switch s := s.(type) {
	case backend.Write:
		return nil, b.read(ctx, s.Input, s.Dst.Count, bytes.NewBuffer(at(s.Dst)[:0]))
	case backend.WriteIndices:
		to := at(s.Dst)
		for k, v := range s.Indices {
			binary.LittleEndian.PutUint32(to[4*k:], v)
		}
		return nil, nil
	case backend.Read:
		return bytes.Clone(at(s.Src)), backend.Ended(ctx)
	case backend.Gather:
		index := at(s.Index)
		size := b.space(s.Dst.Space).Bytes()
		for k := range s.Dst.Count {
			v := int(binary.LittleEndian.Uint32(index[4*k:]))
			if v >= s.Src.Count {
				return nil, fmt.Errorf("%w: index %d of %d", backend.ErrInvalidInput, v, s.Src.Count)
			}
			copy(at(s.Dst)[k*size:], at(s.Src)[v*size:(v+1)*size])
		}
		return nil, nil
	case backend.Job:
		in := s.Input
		switch {
		case s.Src.Space != 0:
			in.Bytes = at(s.Src)
		case s.SameAs > 0:
			in = steps[s.SameAs-1].(backend.Job).Input
		}
		h := sha256.New()
		if err := b.read(ctx, in, s.Count, h); err != nil {
			return nil, err
		}
		b.mu.Lock()
		l := b.bases[s.Bases]
		b.mu.Unlock()
		return Point(l.Elements, l.bytes, s.Offset, s.Count, h.Sum(nil)), nil
	}
	h := sha256.New()
	fmt.Fprintf(h, "%T %+v", s, s)
	for _, a := range backend.Accesses(s) {
		if !a.Writes {
			h.Write(at(a.Range))
		}
	}
	for _, a := range backend.Accesses(s) {
		if a.Writes {
			copy(at(a.Range), stretch(h.Sum(nil), len(at(a.Range))))
		}
	}
	if size := backend.AnswerBytes(s, b.memory()); size > 0 {
		return stretch(h.Sum([]byte{1}), size), nil
	}
	return nil, nil
}
