package resident

import (
	"context"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/vector"
)

// Vectors are a key's vectors V of elements S, in one backend at a time. A proof on
// another, after a death or a swap, moves them; proofs in flight end where they
// began.
type Vectors[S comparable, V any] struct {
	turn chan struct{} // of the one who looks, and moves

	mu  sync.Mutex // beside turn, for users
	now *residence[S, V]
}

// residence is a key's vectors in a session.
type residence[S comparable, V any] struct {
	session *vector.Session[S]
	vectors V
	users   int // proofs, and Vectors
}

// NewVectors returns Vectors that no backend has yet.
func NewVectors[S comparable, V any]() *Vectors[S, V] {
	return &Vectors[S, V]{turn: make(chan struct{}, 1)}
}

// Beside returns the vectors in the backend of a session. They stay until release. If they
// are not there yet, load brings them, in a session of their own.
func (p *Vectors[S, V]) Beside(ctx context.Context, s *vector.Session[S], load func(context.Context, *vector.Session[S]) (*vector.Session[S], V, error)) (_ V, release func() error, err error) {
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
		r = &residence[S, V]{session: session, vectors: vectors}
		if err := p.set(r); err != nil {
			return none, nil, err
		}
	}
	p.count(r, 1)
	return r.vectors, func() error { return p.count(r, -1) }, nil
}

// set replaces what was there by r. The old one ends with the proofs that use it.
func (p *Vectors[S, V]) set(r *residence[S, V]) error {
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
func (p *Vectors[S, V]) count(r *residence[S, V], more int) error {
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
func (p *Vectors[S, V]) Close() error {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	return p.set(nil)
}
