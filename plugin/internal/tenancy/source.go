package tenancy

import (
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
)

// private has bases read into memory of this process before they are hashed and
// handed on: what another process can still write could be one thing to the
// hash and another to the backend.
type private struct {
	b        *backend.Bases
	hash     *backend.Hasher
	progress *load
	begun    bool  // pieces have been asked for
	room     int64 // bytes that are copied at a time
}

// pieces returns a source for backend.Bases.Pieces; a second time it begins anew, where the
// source can.
func (p *private) pieces(yield func([]byte, error) bool) {
	if p.begun {
		p.hash = backend.NewHasher(p.b)
	}
	p.begun = true
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
			p.hash.Write(buf[:filled])
			if !yield(buf[:filled], nil) {
				return
			}
			filled = 0
		}
	}
}
