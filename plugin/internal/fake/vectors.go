package fake

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendutil"
)

// space is a vector of bytes.
type space struct {
	backendutil.Loaded
	bytes []byte
}

func (s space) of(r backend.Range) []byte {
	size := s.Curve.ScalarBytes()
	return s.bytes[r.Offset*size : (r.Offset+r.Count)*size]
}

// NewSpace implements backend.Vectors.
func (b *Backend) NewSpace(ctx context.Context, curve backend.Curve, count int) (backend.SpaceID, error) {
	size, err := backendutil.SpaceBytes(curve, count)
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
	b.spaces[b.lastSpace] = space{backendutil.Loaded{Curve: curve, Count: count}, make([]byte, size)}
	return b.lastSpace, backend.Ended(ctx)
}

// FreeSpace implements backend.Vectors.
func (b *Backend) FreeSpace(_ context.Context, id backend.SpaceID) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.spaces[id]; !ok {
		return fmt.Errorf("%w: space %d", backend.ErrInvalidInput, id)
	}
	delete(b.spaces, id)
	return nil
}

// Spaces is how many there are.
func (b *Backend) Spaces() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.spaces)
}

// Run implements backend.Vectors. Writes and reads are what they should be; what
// another step writes or answers is a digest of all that it says and reads.
func (b *Backend) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	if b.Started != nil {
		b.Started()
	}
	b.mu.Lock()
	bases := func(id backend.BasesID) (backendutil.Loaded, bool) { l, ok := b.bases[id]; return l.Loaded, ok }
	spaces := func(id backend.SpaceID) (backendutil.Loaded, bool) { s, ok := b.spaces[id]; return s.Loaded, ok }
	err := backendutil.CheckSteps(steps, bases, spaces)
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	b.pause(ctx)
	answers := make([][]byte, len(steps))
	for i, s := range steps {
		if answers[i], err = b.step(ctx, s); err != nil {
			return nil, backendutil.InStep(i, s, err)
		}
	}
	return answers, nil
}

func (b *Backend) space(id backend.SpaceID) space {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spaces[id]
}

func (b *Backend) step(ctx context.Context, s backend.Step) ([]byte, error) {
	at := func(r backend.Range) []byte { return b.space(r.Space).of(r) }
	var dst backend.Range
	var src []backend.Range
	switch s := s.(type) {
	case backend.Write:
		to := at(s.Dst)
		job := &backend.Job{Scalars: s.Bytes, Count: s.Dst.Count, Ready: s.Ready}
		return nil, b.read(ctx, job, len(to)/max(s.Dst.Count, 1), bytes.NewBuffer(to[:0]))
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
		size := b.space(s.Dst.Space).Curve.ScalarBytes()
		for k := range s.Dst.Count {
			v := int(binary.LittleEndian.Uint32(index[4*k:]))
			if v >= s.Src.Count {
				return nil, fmt.Errorf("%w: index %d of %d", backend.ErrInvalidInput, v, s.Src.Count)
			}
			copy(at(s.Dst)[k*size:], at(s.Src)[v*size:(v+1)*size])
		}
		return nil, nil
	case backend.Commit:
		b.mu.Lock()
		l := b.bases[s.Bases]
		b.mu.Unlock()
		sum := sha256.Sum256(at(s.Src))
		return Point(l.Loaded, l.bytes, s.Offset, s.Src.Count, sum[:]), nil
	case backend.Transform:
		dst, src = s.Dst, []backend.Range{s.Src}
	case backend.Map:
		dst = s.Dst.Range
		for _, a := range s.Args {
			src = append(src, a.Range)
		}
	case backend.Powers:
		dst = s.Dst
	case backend.Invert:
		dst, src = s.Dst, []backend.Range{s.Src}
	case backend.Products:
		dst, src = s.Dst, []backend.Range{s.Src}
	case backend.Divide:
		dst, src = s.Dst, []backend.Range{s.Src}
	case backend.Evaluate:
		src = s.Src
	case backend.Compute:
		dst = s.Dst.Range()
		for _, b := range []backend.Batch{s.A, s.B, s.M} {
			if b != (backend.Batch{}) {
				src = append(src, b.Range())
			}
		}
	}
	h := sha256.New()
	fmt.Fprintf(h, "%T %+v", s, s)
	curve := b.space(dst.Space).Curve
	for _, r := range src {
		curve = b.space(r.Space).Curve
		h.Write(at(r))
	}
	if dst.Space != 0 {
		copy(at(dst), stretch(h.Sum(nil), len(at(dst))))
	}
	if size := backendutil.AnswerBytes(s, curve, 0); size > 0 {
		return stretch(h.Sum([]byte{1}), size), nil
	}
	return nil, nil
}
