package engine

import (
	"context"
	"errors"

	"github.com/pippin-zk/pippin/backend"
)

// Kept is memory of closed sessions that those opened later with the same Space.Keep get, as it is: to
// take memory of another process, and to give it back, is 0.2 ms each. Close such a session after the
// programs that use its memory. They end with steps that overwrite it with zeros.
//
// Memory is wiped and given back by Close, if a program has failed, if it is much, and when a session
// or bases find no room. Close it after the sessions.
type Kept struct {
	e      *Engine
	closed bool // under Engine.mu
}

// Keep returns a Kept that has nothing yet.
func (e *Engine) Keep() *Kept { return &Kept{e: e} }

// keptSpaces is what is kept in a backend. Engine.mu guards it.
type keptSpaces struct {
	ids   map[keptKey][]backend.SpaceID
	count int
	bytes int64
}

type keptKey struct {
	by *Kept
	backend.Elements
}

// A backend keeps at most so many spaces, of at most so many bytes together.
const mostKept, mostKeptBytes = 16, 32 << 20

// takeKept returns memory for a session, if some is kept.
func (g *generation) takeKept(space Space) (id backend.SpaceID, ok bool) {
	g.e.mu.Lock()
	defer g.e.mu.Unlock()
	key := keptKey{space.Keep, space.Elements}
	ids := g.kept.ids[key]
	if len(ids) == 0 {
		return 0, false
	}
	last := len(ids) - 1
	g.kept.ids[key] = ids[:last]
	g.kept.count--
	g.kept.bytes -= space.bytes()
	return ids[last], true
}

// keepLocked keeps the memory of a session that is closed. It returns false if it must be freed.
func (g *generation) keepLocked(s *Session) bool {
	k, size := s.space.Keep, s.bytes()
	if k == nil || k.closed || s.unsure || g.retired || g.kept.count == mostKept || g.kept.bytes+size > mostKeptBytes {
		return false
	}
	if g.kept.ids == nil {
		g.kept.ids = map[keptKey][]backend.SpaceID{}
	}
	key := keptKey{k, s.space.Elements}
	g.kept.ids[key] = append(g.kept.ids[key], s.id)
	g.kept.count++
	g.kept.bytes += size
	return true
}

// dropLocked takes what is kept by one, or by all if by is nil, from what is kept.
func (g *generation) dropLocked(by *Kept) (dropped []backend.SpaceID) {
	for key, ids := range g.kept.ids {
		if by == nil || key.by == by {
			dropped = append(dropped, ids...)
			g.kept.bytes -= int64(len(ids)) * int64(key.Count) * int64(key.Element.Bytes())
			delete(g.kept.ids, key)
		}
	}
	g.kept.count -= len(dropped)
	return dropped
}

// taking does what on does with f, which takes memory: a second time without what is kept, if there was
// no room beside it.
func taking[T any](ctx context.Context, g *generation, f func(context.Context, backend.Backend) (T, error)) (T, error) {
	v, err := on(ctx, g, f)
	if errors.Is(err, backend.ErrOutOfMemory) && g.freeKept() {
		v, err = on(ctx, g, f)
	}
	return v, err
}

// freeKept gives all kept memory back and reports whether there was any.
func (g *generation) freeKept() bool {
	g.e.mu.Lock()
	dropped := g.dropLocked(nil)
	g.e.mu.Unlock()
	if err := g.freeSpaces(dropped); err != nil {
		g.e.cfg.Log.Warn("freeing memory that was kept", "cause", err)
	}
	return len(dropped) > 0
}

func (g *generation) freeSpaces(ids []backend.SpaceID) (err error) {
	for _, id := range ids {
		err = errors.Join(err, g.freeSpace(id))
	}
	return err
}

// Close wipes what is kept and gives it back. Closing twice is no error.
func (k *Kept) Close() (err error) {
	e := k.e
	e.mu.Lock()
	k.closed = true
	dropped := map[*generation][]backend.SpaceID{}
	for g := range e.generations {
		if ids := g.dropLocked(k); len(ids) > 0 && g.ctx.Err() == nil && g.enterLocked() {
			dropped[g] = ids
		}
	}
	e.mu.Unlock()
	for g, ids := range dropped {
		err = errors.Join(err, g.freeSpaces(ids))
		g.roomier()
		g.leave()
	}
	return err
}

// distrust keeps none of the memory that sessions have now: a program has failed, and may still write.
func (g *generation) distrust() {
	g.e.mu.Lock()
	defer g.e.mu.Unlock()
	for s := range g.sessions {
		s.unsure = true
	}
}
