package vector

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/extent"
)

// Session is memory for vectors in one opened backend, and programs over it. It is
// lost with that backend. Safe for concurrent use, but what programs at the same
// time write and others use is undefined.
type Session[E comparable] struct {
	f    *Field[E]
	e    *engine.Engine
	core *engine.Session
	room *extent.Room // the memory
}

func (f *Field[E]) session(e *engine.Engine, core *engine.Session) *Session[E] {
	return &Session[E]{f: f, e: e, core: core, room: extent.New(core.Len())}
}

// tend closes a session that nobody can use any more, when the garbage collector finds it.
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

// Together reports whether programs may use the vectors of both sessions.
func (s *Session[E]) Together(other *Session[E]) bool { return s.core.Together(other.core) }

// Backend returns the name of the session's backend.
func (s *Session[E]) Backend() string { return s.core.Backend() }

// Current reports whether a session that is opened now would be on the same backend. A
// session on another one is as good as lost when a better one is ready again.
func (s *Session[E]) Current() bool { return s.core.Current() }

// Err returns why the session takes no more programs, nil while it does. It wraps
// backend.ErrGone when another session is to be opened.
func (s *Session[E]) Err() error { return s.core.Err() }

// Repeat does what Field.Repeat does with as many elements, and begins with this session
// if one that is opened now would be no better. So a session can be opened while there is
// nothing to compute. Nobody else may use it; Repeat closes it.
func (s *Session[E]) Repeat(ctx context.Context, run func(context.Context, *Session[E]) error) (by string, err error) {
	defer runtime.KeepAlive(s) // who forgets it has it closed
	return s.core.Repeat(ctx, func(ctx context.Context, core *engine.Session) error {
		return run(ctx, s.f.session(s.e, core))
	})
}

// Close wipes the memory and gives it back, when the programs that use it have
// ended. Closing twice is no error.
func (s *Session[E]) Close() error { return s.core.Close() }

// Left returns how many elements of the memory no vector has.
func (s *Session[E]) Left() int { return s.room.Left() }

// New returns a vector of n elements in the session's memory, until Free. They are zero
// when the memory was never used, else what it held. Without n elements in a row the
// vector has an error that wraps backend.ErrOutOfMemory.
func (s *Session[E]) New(n int) Vector[E] {
	v := Vector[E]{s: s, count: n}
	if err := s.core.Err(); errors.Is(err, backend.ErrClosed) { // of a lost session Run tells, for Repeat
		v.err = fmt.Errorf("a vector: %w", err)
		return v
	}
	id, part, err := s.room.Take(n)
	if err != nil {
		v.err = fmt.Errorf("a vector: %w", err)
		return v
	}
	v.id, v.offset = id, part.Offset
	return v
}
