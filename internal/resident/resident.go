// Package resident is what implementations of backend.Backend keep: bases and spaces
// with who uses them, and how much a device was used.
package resident

import (
	"context"
	"fmt"
	"sync"

	"github.com/pippin-zk/pippin/backend"
)

// Set is what a Backend keeps, with who uses it, and its calls in flight:
// for implementations, which keep a B for each set of bases and an S for each
// space of vectors. It is safe for concurrent use.
type Set[B, S any] struct {
	name string

	mu     sync.Mutex
	bases  shelf[backend.BasesID, B]
	spaces shelf[backend.SpaceID, S]
	closed bool
	calls  sync.WaitGroup // none begins after closed
	done   chan struct{}  // closed by Close, after the last call
}

// shelf is all residents of a kind. Callers of its methods hold Set.mu.
type shelf[ID ~uint64, R any] struct {
	kind string // for errors
	kept map[ID]*Entry[R]
	last ID
}

// Entry is one set of bases, or one space.
type Entry[R any] struct {
	backend.Elements
	Kept R
	// Under Set.mu:
	uses int
	// freed is made when it is freed, and closed when the last use has ended.
	freed chan struct{}
}

// New returns a Set of nothing kept yet; name is the backend's, for errors.
func New[B, S any](name string) *Set[B, S] {
	return &Set[B, S]{
		name:   name,
		bases:  shelf[backend.BasesID, B]{kind: "bases", kept: make(map[backend.BasesID]*Entry[B])},
		spaces: shelf[backend.SpaceID, S]{kind: "space", kept: make(map[backend.SpaceID]*Entry[S])},
		done:   make(chan struct{}),
	}
}

// Done returns a channel that is closed when Close has waited for the last call.
func (s *Set[B, S]) Done() <-chan struct{} { return s.done }

// Ping does what Backend.Ping does for a backend that is there as long as it is open.
func (s *Set[B, S]) Ping(ctx context.Context) error {
	end, err := s.Begin()
	if err != nil {
		return err
	}
	defer end()
	return backend.Ended(ctx)
}

// Begin enters a call, which end leaves; after Close it is backend.ErrClosed.
func (s *Set[B, S]) Begin() (end func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("%w: backend %s", backend.ErrClosed, s.name)
	}
	s.calls.Add(1)
	return s.calls.Done, nil
}

// AddBases gives bases an id.
func (s *Set[B, S]) AddBases(l backend.Elements, kept B) backend.BasesID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bases.addLocked(l, kept)
}

// AddSpace gives a space an id.
func (s *Set[B, S]) AddSpace(l backend.Elements, kept S) backend.SpaceID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spaces.addLocked(l, kept)
}

func (h *shelf[ID, R]) addLocked(l backend.Elements, kept R) ID {
	h.last++
	h.kept[h.last] = &Entry[R]{Elements: l, Kept: kept}
	return h.last
}

// PutBases does what AddBases does, with an id that somebody else gave; it returns false
// when that is taken. Only one of the two is used.
func (s *Set[B, S]) PutBases(id backend.BasesID, l backend.Elements, kept B) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bases.putLocked(id, l, kept)
}

// PutSpace does what PutBases does, for a space.
func (s *Set[B, S]) PutSpace(id backend.SpaceID, l backend.Elements, kept S) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spaces.putLocked(id, l, kept)
}

func (h *shelf[ID, R]) putLocked(id ID, l backend.Elements, kept R) bool {
	if _, taken := h.kept[id]; taken {
		return false
	}
	h.kept[id] = &Entry[R]{Elements: l, Kept: kept}
	return true
}

// findLocked returns what is kept and not being freed.
func (h *shelf[ID, R]) findLocked(id ID) (*Entry[R], bool) {
	r, ok := h.kept[id]
	return r, ok && r.freed == nil
}

// Used is what the steps of a program name.
type Used[B, S any] struct {
	Bases  map[backend.BasesID]*Entry[B]
	Spaces map[backend.SpaceID]*Entry[S]
}

// Use validates a program and counts a use of all that it names, until End.
func (s *Set[B, S]) Use(steps []backend.Step) (*Used[B, S], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := newUsed[B, S]()
	if err := backend.Check(steps, backend.Memory{Bases: s.bases.notingLocked(u.Bases), Space: s.spaces.notingLocked(u.Spaces)}); err != nil {
		return nil, err
	}
	u.countLocked(1)
	return u, nil
}

// Find does what Use does for a program that somebody else validates: it looks at the ids
// only.
func (s *Set[B, S]) Find(steps []backend.Step) (*Used[B, S], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := newUsed[B, S]()
	for i, step := range steps {
		for _, a := range backend.Accesses(step) {
			if !u.noteLocked(s, a) {
				return nil, backend.InStep(i, step, fmt.Errorf("%w: there is no space %d, or no bases %d", backend.ErrInvalidInput, a.Space, a.Bases))
			}
		}
	}
	u.countLocked(1)
	return u, nil
}

// noteLocked notes what an access names; false when there is none.
func (u *Used[B, S]) noteLocked(s *Set[B, S], a backend.Access) (ok bool) {
	if a.Bases != 0 {
		_, ok = s.bases.notingLocked(u.Bases)(a.Bases)
	} else {
		_, ok = s.spaces.notingLocked(u.Spaces)(a.Space)
	}
	return ok
}

func newUsed[B, S any]() *Used[B, S] {
	return &Used[B, S]{Bases: make(map[backend.BasesID]*Entry[B]), Spaces: make(map[backend.SpaceID]*Entry[S])}
}

// Memory returns what the ids of a program name.
func (u *Used[B, S]) Memory() backend.Memory {
	return backend.Memory{
		Bases: func(id backend.BasesID) (backend.Elements, bool) { return elements(u.Bases, id) },
		Space: func(id backend.SpaceID) (backend.Elements, bool) { return elements(u.Spaces, id) },
	}
}

func elements[ID comparable, R any](of map[ID]*Entry[R], id ID) (backend.Elements, bool) {
	e, ok := of[id]
	if !ok {
		return backend.Elements{}, false
	}
	return e.Elements, true
}

// notingLocked returns a function that finds what is kept, and notes it in used.
func (h *shelf[ID, R]) notingLocked(used map[ID]*Entry[R]) func(ID) (backend.Elements, bool) {
	return func(id ID) (backend.Elements, bool) {
		if r, ok := h.findLocked(id); ok {
			used[id] = r
		}
		return elements(used, id)
	}
}

// End ends the uses that Use counted.
func (s *Set[B, S]) End(u *Used[B, S]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.countLocked(-1)
}

// countLocked adds uses to what a program names. The caller holds the set's mu.
func (u *Used[B, S]) countLocked(uses int) {
	for _, r := range u.Bases {
		r.releaseLocked(-uses)
	}
	for _, r := range u.Spaces {
		r.releaseLocked(-uses)
	}
}

// releaseLocked ends some uses. The caller holds the set's mu.
func (r *Entry[R]) releaseLocked(uses int) {
	r.uses -= uses
	if r.uses == 0 && r.freed != nil {
		close(r.freed)
	}
}

// FreeBases takes bases away from new calls, waits for their uses and then calls
// free, once. When ctx ends first it returns, and the rest happens later; Close
// waits for it. It is a call of its own, as between Begin and its end.
func (s *Set[B, S]) FreeBases(ctx context.Context, id backend.BasesID, free func(B) error) error {
	return freeFrom(ctx, s, &s.bases, id, free)
}

// FreeSpace does what FreeBases does, for a space.
func (s *Set[B, S]) FreeSpace(ctx context.Context, id backend.SpaceID, free func(S) error) error {
	return freeFrom(ctx, s, &s.spaces, id, free)
}

// freeFrom does what FreeBases says, for what a shelf has.
func freeFrom[ID ~uint64, B, S, R any](ctx context.Context, s *Set[B, S], h *shelf[ID, R], id ID, free func(R) error) error {
	end, err := s.Begin()
	if err != nil {
		return err
	}
	defer end()
	s.mu.Lock()
	r, ok := h.findLocked(id)
	if !ok {
		s.mu.Unlock()
		return fmt.Errorf("%w: there is no %s %d here", backend.ErrInvalidInput, h.kind, id)
	}
	r.freed = make(chan struct{})
	r.releaseLocked(0)
	s.mu.Unlock()
	done := make(chan error, 1)
	s.calls.Go(func() {
		<-r.freed
		s.mu.Lock()
		delete(h.kept, id)
		s.mu.Unlock()
		done <- free(r.Kept)
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return backend.Ended(ctx)
	}
}

// Close lets no call begin any more, waits for those in flight and answers
// what was still kept. Only the first of several is told.
func (s *Set[B, S]) Close() (bases []B, spaces []S, first bool) {
	s.mu.Lock()
	first = !s.closed
	s.closed = true
	s.mu.Unlock()
	s.calls.Wait()
	if !first {
		return nil, nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	bases, spaces = s.bases.clearLocked(), s.spaces.clearLocked()
	close(s.done)
	return bases, spaces, true
}

func (h *shelf[ID, R]) clearLocked() (kept []R) {
	for _, r := range h.kept {
		kept = append(kept, r.Kept)
	}
	clear(h.kept)
	return kept
}
