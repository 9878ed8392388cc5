// Package backendutil is what implementations of backend.Backend share.
package backendutil

import (
	"context"
	"fmt"
	"sync"

	"github.com/pippin-zk/pippin/backend"
)

// Residents is what a Backend keeps, with who uses it, and its calls in flight:
// for implementations, which keep a B for each set of bases and an S for each
// space of vectors. It is safe for concurrent use.
type Residents[B, S any] struct {
	name string

	mu     sync.Mutex
	bases  shelf[backend.BasesID, B]
	spaces shelf[backend.SpaceID, S]
	closed bool
	calls  sync.WaitGroup // none begins after closed
	done   chan struct{}  // closed by Close, after the last call
}

// shelf is all residents of a kind, under Residents.mu.
type shelf[ID ~uint64, R any] struct {
	kind string // for errors
	kept map[ID]*Resident[R]
	last ID
}

// Resident is one set of bases, or one space.
type Resident[R any] struct {
	Loaded
	Kept R
	// Under Residents.mu:
	uses int
	// freed is made when it is freed, and closed when the last use has ended.
	freed chan struct{}
}

// NewResidents is nothing kept yet; name is the backend's, for errors.
func NewResidents[B, S any](name string) *Residents[B, S] {
	return &Residents[B, S]{
		name:   name,
		bases:  shelf[backend.BasesID, B]{kind: "bases", kept: make(map[backend.BasesID]*Resident[B])},
		spaces: shelf[backend.SpaceID, S]{kind: "space", kept: make(map[backend.SpaceID]*Resident[S])},
		done:   make(chan struct{}),
	}
}

// Done is closed when Close has waited for the last call.
func (s *Residents[B, S]) Done() <-chan struct{} { return s.done }

// Ping is Backend.Ping of a backend that is there as long as it is open.
func (s *Residents[B, S]) Ping(ctx context.Context) error {
	end, err := s.Begin()
	if err != nil {
		return err
	}
	defer end()
	return backend.Ended(ctx)
}

// Begin enters a call, which end leaves; after Close it is backend.ErrClosed.
func (s *Residents[B, S]) Begin() (end func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("%w: backend %s", backend.ErrClosed, s.name)
	}
	s.calls.Add(1)
	return s.calls.Done, nil
}

// AddBases gives bases an id.
func (s *Residents[B, S]) AddBases(l Loaded, kept B) backend.BasesID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bases.add(l, kept)
}

// AddSpace gives a space an id.
func (s *Residents[B, S]) AddSpace(l Loaded, kept S) backend.SpaceID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spaces.add(l, kept)
}

func (h *shelf[ID, R]) add(l Loaded, kept R) ID {
	h.last++
	h.kept[h.last] = &Resident[R]{Loaded: l, Kept: kept}
	return h.last
}

// PutBases is AddBases with an id that somebody else gave; false when it is
// taken. Only one of the two is used.
func (s *Residents[B, S]) PutBases(id backend.BasesID, l Loaded, kept B) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bases.put(id, l, kept)
}

// PutSpace is to AddSpace what PutBases is to AddBases.
func (s *Residents[B, S]) PutSpace(id backend.SpaceID, l Loaded, kept S) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spaces.put(id, l, kept)
}

func (h *shelf[ID, R]) put(id ID, l Loaded, kept R) bool {
	if _, taken := h.kept[id]; taken {
		return false
	}
	h.kept[id] = &Resident[R]{Loaded: l, Kept: kept}
	return true
}

// find answers for what is kept and not being freed.
func (h *shelf[ID, R]) find(id ID) (*Resident[R], bool) {
	r, ok := h.kept[id]
	return r, ok && r.freed == nil
}

// UseJobs validates a batch and counts a use of the bases of every job, until
// EndJobs.
func (s *Residents[B, S]) UseJobs(jobs []backend.Job) ([]*Resident[B], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := CheckJobs(jobs, s.bases.loaded); err != nil {
		return nil, err
	}
	used := make([]*Resident[B], len(jobs))
	for i := range jobs {
		used[i] = s.bases.kept[jobs[i].Bases]
		used[i].uses++
	}
	return used, nil
}

func (h *shelf[ID, R]) loaded(id ID) (Loaded, bool) {
	r, ok := h.find(id)
	if !ok {
		return Loaded{}, false
	}
	return r.Loaded, true
}

// EndJobs ends the uses that UseJobs counted.
func (s *Residents[B, S]) EndJobs(used []*Resident[B]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range used {
		r.release(1)
	}
}

// Used is what the steps of a program name.
type Used[B, S any] struct {
	Bases  map[backend.BasesID]*Resident[B]
	Spaces map[backend.SpaceID]*Resident[S]
}

// UseSteps validates a program and counts a use of all that it names, until
// EndSteps.
func (s *Residents[B, S]) UseSteps(steps []backend.Step) (*Used[B, S], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := &Used[B, S]{Bases: make(map[backend.BasesID]*Resident[B]), Spaces: make(map[backend.SpaceID]*Resident[S])}
	if err := CheckSteps(steps, s.bases.noting(u.Bases), s.spaces.noting(u.Spaces)); err != nil {
		return nil, err
	}
	u.count(1)
	return u, nil
}

// noting is loaded, and notes in used what was found.
func (h *shelf[ID, R]) noting(used map[ID]*Resident[R]) func(ID) (Loaded, bool) {
	return func(id ID) (Loaded, bool) {
		if r, ok := h.find(id); ok {
			used[id] = r
		}
		return h.loaded(id)
	}
}

// EndSteps ends the uses that UseSteps counted.
func (s *Residents[B, S]) EndSteps(u *Used[B, S]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.count(-1)
}

func (u *Used[B, S]) count(uses int) {
	for _, r := range u.Bases {
		r.release(-uses)
	}
	for _, r := range u.Spaces {
		r.release(-uses)
	}
}

// release ends some uses; the caller holds mu.
func (r *Resident[R]) release(uses int) {
	r.uses -= uses
	if r.uses == 0 && r.freed != nil {
		close(r.freed)
	}
}

// FreeBases takes bases away from new calls, waits for their uses and then calls
// free, once. When ctx ends first it returns, and the rest happens later; Close
// waits for it. The caller is between Begin and its end.
func (s *Residents[B, S]) FreeBases(ctx context.Context, id backend.BasesID, free func(B) error) error {
	return freeFrom(ctx, s, &s.bases, id, free)
}

// FreeSpace is FreeBases for a space.
func (s *Residents[B, S]) FreeSpace(ctx context.Context, id backend.SpaceID, free func(S) error) error {
	return freeFrom(ctx, s, &s.spaces, id, free)
}

func freeFrom[ID ~uint64, B, S, R any](ctx context.Context, s *Residents[B, S], h *shelf[ID, R], id ID, free func(R) error) error {
	s.mu.Lock()
	r, ok := h.find(id)
	if !ok {
		s.mu.Unlock()
		return fmt.Errorf("%w: there is no %s %d here", backend.ErrInvalidInput, h.kind, id)
	}
	r.freed = make(chan struct{})
	r.release(0)
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
func (s *Residents[B, S]) Close() (bases []B, spaces []S, first bool) {
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
	bases, spaces = s.bases.clear(), s.spaces.clear()
	close(s.done)
	return bases, spaces, true
}

func (h *shelf[ID, R]) clear() (kept []R) {
	for _, r := range h.kept {
		kept = append(kept, r.Kept)
	}
	clear(h.kept)
	return kept
}
