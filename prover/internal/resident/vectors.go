package resident

import (
	"context"
	"sync"

	"github.com/pippin-zk/pippin/backend"
)

// Session is the sessions T of one call or of what is resident, such as *vector.Session.
type Session[T any] interface {
	Together(T) bool
	Err() error
	Close() error
}

// Vectors are a key's vectors V in sessions T, in one backend at a time. A proof on
// another, after a death or a swap, moves them; proofs in flight end where they
// began.
type Vectors[T Session[T], V any] struct {
	turn chan struct{} // of the one who looks, and moves

	mu  sync.Mutex // beside turn, for users
	now *residence[T, V]
}

// residence is a key's vectors in a session.
type residence[T Session[T], V any] struct {
	session T
	vectors V
	users   int // proofs, and Vectors
}

// NewVectors returns Vectors that no backend has yet.
func NewVectors[T Session[T], V any]() *Vectors[T, V] {
	return &Vectors[T, V]{turn: make(chan struct{}, 1)}
}

// Beside returns the vectors in the backend of a session. They stay until release. If they
// are not there yet, load brings them, in a session of their own.
func (p *Vectors[T, V]) Beside(ctx context.Context, s T, load func(context.Context, T) (T, V, error)) (_ V,
	release func() error, err error) {
	var none V
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return none, nil, backend.Ended(ctx)
	}
	defer func() { <-p.turn }()
	r := p.now
	if r == nil || r.session.Err() != nil || !s.Together(r.session) {
		session, vectors, err := load(ctx, s)
		if err != nil {
			return none, nil, err
		}
		r = &residence[T, V]{session: session, vectors: vectors}
		if err := p.set(r); err != nil {
			return none, nil, err
		}
	}
	p.count(r, 1)
	return r.vectors, func() error { return p.count(r, -1) }, nil
}

// set replaces what was there by r. The old one ends with the proofs that use it.
func (p *Vectors[T, V]) set(r *residence[T, V]) error {
	was := p.now
	if p.now = r; r != nil {
		p.count(r, 1)
	}
	if was == nil {
		return nil
	}
	return p.count(was, -1)
}

// count adds users to a residence, and closes it after the last one.
func (p *Vectors[T, V]) count(r *residence[T, V], more int) error {
	p.mu.Lock()
	r.users += more
	left := r.users
	p.mu.Unlock()
	if left > 0 {
		return nil
	}
	return r.session.Close()
}

// Close ends what is there. No proof begins any more.
func (p *Vectors[T, V]) Close() error {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	return p.set(nil)
}
