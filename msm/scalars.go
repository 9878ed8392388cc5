package msm

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
)

// Scalars is a buffer of scalars in memory that a backend reads without a copy. If that backend is
// swapped or dies, the buffer goes on as ordinary memory. The caller frees it; the garbage
// collector frees a forgotten one, with a warning in the log.
type Scalars[S any] struct {
	mu   sync.Mutex
	s    []S // nil after Free
	free func()
}

// NewScalars allocates n zero scalars. They lie in the backend's shared memory if it has room, else
// in Go's memory.
func (g *Group[P, S]) NewScalars(ctx context.Context, e *engine.Engine, n int) (*Scalars[S], error) {
	if n < 0 || n > backend.MaxCount {
		return nil, fmt.Errorf("%w: a buffer of %d scalars", backend.ErrInvalidInput, n)
	}
	if err := usable(e); err != nil {
		return nil, err
	}
	var buf backend.Buffer
	if n > 0 {
		var err error
		if buf, err = e.Alloc(ctx, n*g.curve.ScalarBytes()); err != nil {
			return nil, err
		}
	}
	if buf == nil {
		s := make([]S, n)
		return &Scalars[S]{s: s, free: func() { clear(s) }}, nil
	}
	view, err := layout.View[S](buf.Bytes())
	if err != nil {
		buf.Free()
		return nil, err
	}
	s := &Scalars[S]{s: view, free: sync.OnceFunc(buf.Free)}
	log, free := e.Config().Log, s.free
	cleanup := runtime.AddCleanup(s, func(n int) {
		log.Warn("a buffer of scalars was forgotten without Free and is freed now", "count", n)
		go free() // on its own goroutine: it waits for calls
	}, n)
	s.free = func() {
		cleanup.Stop()
		free()
	}
	return s, nil
}

// Slice returns the scalars. Write them and pass them to MSM, whole or in part. The slice is valid
// until Free, and only while s itself is reachable: keep s. After Free it is nil.
func (s *Scalars[S]) Slice() []S {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.s
}

// Free waits for the calls that read the scalars, wipes them and gives the memory back. Freeing
// twice does no harm.
func (s *Scalars[S]) Free() {
	if s == nil {
		return
	}
	s.mu.Lock()
	free := s.free
	s.s, s.free = nil, nil
	s.mu.Unlock()
	if free != nil {
		free()
	}
	runtime.KeepAlive(s)
}
