package msm

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/pippin-zk/pippin/backend"
)

// slot is one opened backend with what is resident in it.
type slot struct {
	name string
	b    backend.Backend

	// Guarded by Engine.mu.
	refs    int
	retired bool
	dead    bool // a call on it ended in ErrGone, or it answered wrongly

	mu  sync.Mutex
	ids map[*points]*residence
}

// residence is bases that are, or are being, loaded into one slot.
type residence struct {
	done chan struct{} // closed when id and err are set
	id   backend.BasesID
	err  error
}

// ensure makes p resident and returns its id. Concurrent callers share one
// load; the caller holds references to both the slot and p.
func (s *slot) ensure(ctx context.Context, p *points) (backend.BasesID, error) {
	for {
		s.mu.Lock()
		r := s.ids[p]
		if r == nil && p.readOnce && p.loaded {
			s.mu.Unlock()
			return 0, fmt.Errorf("%w: they are not in %q and may be read only once", ErrBasesLost, s.name)
		}
		if r == nil {
			r = &residence{done: make(chan struct{})}
			s.ids[p] = r
			s.mu.Unlock()
			r.id, r.err = s.b.LoadBases(ctx, p.spec)
			if r.err != nil && !lasting(r.err) {
				s.mu.Lock()
				delete(s.ids, p)
				s.mu.Unlock()
			}
			close(r.done)
			return r.id, r.err
		}
		s.mu.Unlock()
		select {
		case <-r.done:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		// The loader's own context may have ended the load; ours has not.
		if !errors.Is(r.err, context.Canceled) && !errors.Is(r.err, context.DeadlineExceeded) {
			return r.id, r.err
		}
	}
}

// lasting tells errors that a second load would end in as well. They are
// remembered, so that calls go to the fallback at once, until other bases are
// freed.
func lasting(err error) bool {
	return errors.Is(err, backend.ErrOutOfMemory) || errors.Is(err, backend.ErrUnsupported)
}

// free releases p if it is resident. Nobody else holds a reference to p.
func (s *slot) free(p *points) error {
	s.mu.Lock()
	r := s.ids[p]
	delete(s.ids, p)
	for other, o := range s.ids {
		select {
		case <-o.done:
			if o.err != nil {
				delete(s.ids, other)
			}
		default:
		}
	}
	s.mu.Unlock()
	if r == nil {
		return nil
	}
	<-r.done
	if r.err != nil {
		return nil
	}
	return s.b.FreeBases(context.Background(), r.id)
}
