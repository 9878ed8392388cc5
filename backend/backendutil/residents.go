// Package backendutil is what implementations of backend.Backend share.
package backendutil

import (
	"context"
	"fmt"
	"sync"

	"github.com/pippin-zk/pippin/backend"
)

// Residents is the bases that a Backend keeps, with who uses them, and its
// calls in flight: for implementations, which keep an R for each set. It is
// safe for concurrent use.
type Residents[R any] struct {
	name string

	mu     sync.Mutex
	sets   map[backend.BasesID]*Resident[R]
	last   backend.BasesID
	closed bool
	calls  sync.WaitGroup // none begins after closed
	done   chan struct{}  // closed by Close, after the last call
}

// Resident is one set of bases.
type Resident[R any] struct {
	Loaded
	Kept R
	// Under Residents.mu:
	uses int
	// freed is made by Free, and closed when the last use has ended.
	freed chan struct{}
}

// NewResidents is no bases yet; name is the backend's, for errors.
func NewResidents[R any](name string) *Residents[R] {
	return &Residents[R]{name: name, sets: make(map[backend.BasesID]*Resident[R]), done: make(chan struct{})}
}

// Done is closed when Close has waited for the last call.
func (s *Residents[R]) Done() <-chan struct{} { return s.done }

// Ping is Backend.Ping of a backend that is there as long as it is open.
func (s *Residents[R]) Ping(ctx context.Context) error {
	end, err := s.Begin()
	if err != nil {
		return err
	}
	defer end()
	return backend.Ended(ctx)
}

// Begin enters a call, which end leaves; after Close it is backend.ErrClosed.
func (s *Residents[R]) Begin() (end func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("%w: backend %s", backend.ErrClosed, s.name)
	}
	s.calls.Add(1)
	return s.calls.Done, nil
}

// Add gives bases an id.
func (s *Residents[R]) Add(l Loaded, kept R) backend.BasesID {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.sets[s.last] = &Resident[R]{Loaded: l, Kept: kept}
	return s.last
}

// Put is Add with an id that somebody else gave; false when it is taken. Only
// one of the two is used.
func (s *Residents[R]) Put(id backend.BasesID, l Loaded, kept R) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.sets[id]; taken {
		return false
	}
	s.sets[id] = &Resident[R]{Loaded: l, Kept: kept}
	return true
}

// Use validates a batch and counts a use of the bases of every job, until
// Unuse.
func (s *Residents[R]) Use(jobs []backend.Job) ([]*Resident[R], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := CheckJobs(jobs, func(id backend.BasesID) (Loaded, bool) {
		r, ok := s.sets[id]
		if !ok || r.freed != nil {
			return Loaded{}, false
		}
		return r.Loaded, true
	})
	if err != nil {
		return nil, err
	}
	used := make([]*Resident[R], len(jobs))
	for i := range jobs {
		used[i] = s.sets[jobs[i].Bases]
		used[i].uses++
	}
	return used, nil
}

// Unuse ends the uses that Use counted.
func (s *Residents[R]) Unuse(used []*Resident[R]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range used {
		r.release(1)
	}
}

// release ends some uses; the caller holds mu.
func (r *Resident[R]) release(uses int) {
	r.uses -= uses
	if r.uses == 0 && r.freed != nil {
		close(r.freed)
	}
}

// Free takes bases away from new calls, waits for their uses and then calls
// free, once. When ctx ends first it returns, and the rest happens later; Close
// waits for it. The caller is between Begin and its end.
func (s *Residents[R]) Free(ctx context.Context, id backend.BasesID, free func(R) error) error {
	r, err := s.retire(id)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	s.calls.Go(func() {
		<-r.freed
		s.mu.Lock()
		delete(s.sets, id)
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

func (s *Residents[R]) retire(id backend.BasesID) (*Resident[R], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.sets[id]
	if !ok || r.freed != nil {
		return nil, fmt.Errorf("%w: bases %d are not loaded", backend.ErrInvalidInput, id)
	}
	r.freed = make(chan struct{})
	r.release(0)
	return r, nil
}

// Close lets no call begin any more, waits for those in flight and answers
// what was still kept. Only the first of several is told.
func (s *Residents[R]) Close() (kept []R, first bool) {
	s.mu.Lock()
	first = !s.closed
	s.closed = true
	s.mu.Unlock()
	s.calls.Wait()
	if !first {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.sets {
		kept = append(kept, r.Kept)
	}
	clear(s.sets)
	close(s.done)
	return kept, true
}
