package vector

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
)

// Session is memory for vectors in one opened backend, and programs over it. It is
// lost with that backend. Safe for concurrent use, but what programs at the same
// time write and others use is undefined.
type Session[E comparable] struct {
	f    *Field[E]
	e    *engine.Engine
	core *engine.Session

	mu   sync.Mutex
	free []extent          // by offset, none touching another
	live map[uint64]extent // the vectors of New, by their numbers
	last uint64
}

// extent is part of the memory.
type extent struct{ offset, count int }

func (f *Field[E]) session(e *engine.Engine, core *engine.Session) *Session[E] {
	s := &Session[E]{f: f, e: e, core: core, live: map[uint64]extent{}}
	if n := core.Len(); n > 0 {
		s.free = []extent{{0, n}}
	}
	return s
}

// tend has a session closed that nobody can use any more.
func (s *Session[E]) tend() {
	log, curve := s.e.Config().Log, s.f.curve
	runtime.AddCleanup(s, func(core *engine.Session) {
		if core.Err() != nil {
			return // closed, or lost
		}
		log.Warn("a session of vectors was forgotten without Close and is closed now", "field", curve, "count", core.Len())
		go core.Close() // which waits for the backend
	}, s.core)
}

// Beside opens another session on the same backend: programs of either may use
// the vectors of both. It does not end with s. What is needed for many proofs can
// so be in a session of its own.
func (s *Session[E]) Beside(ctx context.Context, elements int) (*Session[E], error) {
	core, err := s.core.Beside(ctx, elements)
	if err != nil {
		return nil, err
	}
	other := s.f.session(s.e, core)
	other.tend()
	return other, nil
}

// Together tells whether programs may use the vectors of both sessions.
func (s *Session[E]) Together(other *Session[E]) bool { return s.core.Together(other.core) }

// Backend is the name of the session's backend.
func (s *Session[E]) Backend() string { return s.core.Backend() }

// Current tells whether a session that is opened now would be on the same
// backend: one on another is as good as lost when a better one is ready again.
func (s *Session[E]) Current() bool { return s.core.Current() }

// Err is why the session takes no more programs, nil while it does. It wraps
// backend.ErrGone when another session is to be opened.
func (s *Session[E]) Err() error { return s.core.Err() }

// Repeat is Field.Repeat with as many elements, which begins with this session, if that
// is as good as one that is opened now: it was opened while there was nothing to
// compute. Nobody uses it yet; it is closed.
func (s *Session[E]) Repeat(ctx context.Context, run func(context.Context, *Session[E]) error) (by string, err error) {
	defer runtime.KeepAlive(s) // who forgets it has it closed
	return s.core.Repeat(ctx, func(ctx context.Context, core *engine.Session) error {
		return run(ctx, s.f.session(s.e, core))
	})
}

// Close wipes the memory and gives it back, when the programs that use it have
// ended. Closing twice is no error.
func (s *Session[E]) Close() error { return s.core.Close() }

// Left is how many elements of the memory no vector has.
func (s *Session[E]) Left() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.free {
		n += e.count
	}
	return n
}

// New is a vector of n elements in the session's memory, until Free. They are zero
// when the memory was never used, else what it held. Without n elements in a row
// the vector has an error that wraps backend.ErrOutOfMemory.
func (s *Session[E]) New(n int) Vector[E] {
	v := Vector[E]{s: s, count: n}
	if n < 0 {
		v.err = fmt.Errorf("%w: a vector of %d elements", backend.ErrInvalidInput, n)
		return v
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	best := -1 // the smallest that is large enough
	left, longest := 0, 0
	for i, e := range s.free {
		if e.count >= n && (best < 0 || e.count < s.free[best].count) {
			best = i
		}
		left, longest = left+e.count, max(longest, e.count)
	}
	switch {
	case n == 0:
	case best < 0:
		v.err = fmt.Errorf("%w: a vector of %d elements, of the session's %d are %d free and %d in a row",
			backend.ErrOutOfMemory, n, s.core.Len(), left, longest)
		return v
	default:
		e := &s.free[best]
		v.offset = e.offset
		if e.offset, e.count = e.offset+n, e.count-n; e.count == 0 {
			s.free = slices.Delete(s.free, best, best+1)
		}
	}
	s.last++
	v.id = s.last
	s.live[v.id] = extent{v.offset, n}
	return v
}

// release is Vector.Free.
func (s *Session[E]) release(v Vector[E]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.live[v.id]
	if !ok || e != (extent{v.offset, v.count}) {
		return // a part, or freed
	}
	delete(s.live, v.id)
	if e.count == 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(s.free, e.offset, func(f extent, offset int) int { return f.offset - offset })
	s.free = slices.Insert(s.free, i, e)
	if i+1 < len(s.free) && e.offset+e.count == s.free[i+1].offset {
		s.free[i].count += s.free[i+1].count
		s.free = slices.Delete(s.free, i+1, i+2)
	}
	if i > 0 && s.free[i-1].offset+s.free[i-1].count == e.offset {
		s.free[i-1].count += s.free[i].count
		s.free = slices.Delete(s.free, i, i+1)
	}
}

// has tells whether a vector is not freed.
func (s *Session[E]) has(v Vector[E]) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.live[v.id]
	return ok
}
