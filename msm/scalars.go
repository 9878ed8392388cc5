package msm

import (
	"context"
	"fmt"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
)

// Scalars is a buffer of scalars in memory that the current backend reads
// without a copy. After a swap it goes on working as ordinary memory.
type Scalars[S any] struct {
	s    []S
	free func()
	once sync.Once
}

// NewScalars allocates n zero scalars: in the backend's shared memory if it
// has any, else in Go's.
func (g *Group[P, J, S]) NewScalars(ctx context.Context, e *Engine, n int) (*Scalars[S], error) {
	if n < 0 || n > backend.MaxCount {
		return nil, fmt.Errorf("%w: a buffer of %d scalars", backend.ErrInvalidInput, n)
	}
	cur, err := e.acquire()
	if err != nil {
		return nil, err
	}
	defer e.release(cur)
	a, ok := cur.b.(backend.Allocator)
	if !ok || n == 0 {
		s := make([]S, n)
		return &Scalars[S]{s: s, free: func() { clear(s) }}, nil
	}
	buf, err := a.Alloc(ctx, n*g.curve.ScalarBytes())
	if err != nil {
		return nil, err
	}
	s, err := layout.View[S](buf.Bytes())
	if err != nil {
		buf.Free()
		return nil, err
	}
	return &Scalars[S]{s: s, free: buf.Free}, nil
}

// Slice is the scalars, to be written and passed to MSM, whole or in part.
// It must not be used after Free.
func (s *Scalars[S]) Slice() []S { return s.s }

// Free wipes the scalars and gives the memory back, after the calls that read
// it. Freeing twice does no harm.
func (s *Scalars[S]) Free() {
	s.once.Do(s.free)
}
