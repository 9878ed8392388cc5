package tenancy

import (
	"context"
	"sync/atomic"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
)

// private reads bases into memory of this process before they are hashed and passed on. What
// another process can still write could be one thing to the hash and another to the backend.
type private struct {
	b        *backend.Bases
	hash     *backend.Hasher
	progress *load
	begun    bool  // the backend has asked for pieces
	room     int64 // how many bytes are copied at a time

	// Hashing points and passing them to the backend take turns, like calls, because all users
	// share the processors. A load has no turn while it waits for the source.
	ctx   context.Context
	turns *turns
	queue *queue
	turn  atomic.Pointer[turn]
}

// takeTurn waits for a turn, until leave ends it.
func (p *private) takeTurn() error {
	u := &turn{t: p.turns, queue: p.queue, load: true}
	if err := u.take(p.ctx); err != nil {
		return err
	}
	p.turn.Store(u)
	return nil
}

// leave ends the turn, if there is one.
func (p *private) leave() {
	if u := p.turn.Swap(nil); u != nil {
		u.leave()
	}
}

// pause gives the turn away for a while if somebody else comes first.
func (p *private) pause(ctx context.Context) error {
	if u := p.turn.Load(); u != nil {
		return u.pause(ctx)
	}
	return backend.Ended(ctx)
}

// pieces is a source for backend.Bases.Pieces. Called a second time it begins anew, if the source
// can. After the last piece it keeps the turn until leave, because the backend checks points then.
func (p *private) pieces(yield func([]byte, error) bool) {
	if p.begun {
		p.hash = backend.NewHasher(p.b)
	}
	p.begun = true
	p.leave()
	buf := make([]byte, p.room)
	filled, left := 0, p.b.Size()
	for piece, err := range p.b.All() {
		if err != nil {
			yield(nil, err)
			return
		}
		if p.progress != nil {
			p.progress.move()
		}
		for len(piece) > 0 {
			n := min(len(piece), len(buf)-filled)
			shm.Copy(buf[filled:], piece[:n])
			piece, filled, left = piece[n:], filled+n, left-int64(n)
			if filled < len(buf) && left > 0 {
				continue
			}
			if err := p.takeTurn(); err != nil {
				yield(nil, err)
				return
			}
			p.hash.Write(buf[:filled])
			more := yield(buf[:filled], nil)
			if left > 0 {
				p.leave()
			}
			if !more {
				return
			}
			filled = 0
		}
	}
}
