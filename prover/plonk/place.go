package plonk

import (
	"context"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/vector"
)

// place is where a key's vectors are: in one backend at a time. A proof on another,
// after a death or a swap, moves them; proofs in flight end where they began.
type place[S comparable] struct {
	turn chan struct{} // of the one who looks, and moves

	mu  sync.Mutex // beside turn, for users
	now *residence[S]
}

// residence is a key's vectors in a session.
type residence[S comparable] struct {
	session *vector.Session[S]
	vectors *keyVectors[S]
	users   int // proofs, and the place
}

func newPlace[S comparable]() *place[S] { return &place[S]{turn: make(chan struct{}, 1)} }

// beside is the vectors in the backend of a session, until release. Where they are
// not there, load brings them.
func (p *place[S]) beside(ctx context.Context, s *vector.Session[S], load func(context.Context, *vector.Session[S]) (*vector.Session[S], *keyVectors[S], error)) (_ *keyVectors[S], release func() error, err error) {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, backend.Ended(ctx)
	}
	defer func() { <-p.turn }()
	r := p.now
	if r == nil || r.session.Err() != nil || !s.Together(r.session) {
		session, vectors, err := load(ctx, s)
		if err != nil {
			return nil, nil, err
		}
		r = &residence[S]{session: session, vectors: vectors}
		if err := p.set(r); err != nil {
			return nil, nil, err
		}
	}
	p.count(r, 1)
	return r.vectors, func() error { return p.count(r, -1) }, nil
}

// set has r in the place of what was there, which ends with the proofs that use it.
func (p *place[S]) set(r *residence[S]) error {
	was := p.now
	if p.now = r; r != nil {
		p.count(r, 1)
	}
	if was == nil {
		return nil
	}
	return p.count(was, -1)
}

func (p *place[S]) count(r *residence[S], more int) error {
	p.mu.Lock()
	r.users += more
	left := r.users
	p.mu.Unlock()
	if left > 0 {
		return nil
	}
	return r.session.Close()
}

// close ends what is there. No proof begins any more.
func (p *place[S]) close() error {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	return p.set(nil)
}
