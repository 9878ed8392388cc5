package plugin

import (
	"context"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/proto"
	"github.com/pippin-zk/pippin/plugin/shm"
)

// arenas keeps which arenas the plugin has mapped.
type arenas struct {
	c    *Client
	stop []func()

	mu       sync.Mutex
	attached map[uint64]*attachment
}

// attachment is one arena at the plugin; err is valid when done is closed.
type attachment struct {
	done chan struct{}
	err  error
}

func (a *arenas) init(c *Client) {
	a.c = c
	a.attached = map[uint64]*attachment{}
	for _, p := range []*shm.Pool{c.pool, c.staging} {
		a.stop = append(a.stop, p.Watch(a.dropped))
	}
}

// attach makes sure that the plugin has mapped the arena of a region, which
// the caller holds. It does not wait longer than ctx, but the attaching goes
// on: others may wait for it too.
func (a *arenas) attach(ctx context.Context, r *shm.Region) error {
	id := r.Arena().ID()
	a.mu.Lock()
	at, ok := a.attached[id]
	if !ok {
		at = &attachment{done: make(chan struct{})}
		a.attached[id] = at
	}
	a.mu.Unlock()
	if !ok {
		r.Retain() // keeps the arena from being dropped meanwhile
		a.c.background(func() {
			if at.err = a.send(r.Arena()); at.err != nil {
				a.mu.Lock()
				delete(a.attached, id)
				a.mu.Unlock()
			}
			close(at.done)
			r.Release()
		})
	}
	select {
	case <-at.done:
		return at.err
	default:
	}
	select {
	case <-at.done:
		return at.err
	case <-ctx.Done():
		return backend.Ended(ctx)
	}
}

func (a *arenas) send(arena *shm.Arena) error {
	size := uint64(len(arena.Bytes()))
	if err := a.c.channel.Send(shm.Message{Kind: shm.KindArena, ID: arena.ID(), Size: size}, arena.File()); err != nil {
		return a.c.lost(err)
	}
	if _, err := a.c.rpc.Attach(a.c.ctx, &proto.AttachRequest{Arena: arena.ID(), Size: size}); err != nil {
		return a.c.failure(err)
	}
	return nil
}

// dropped tells the plugin that an arena is no more, so that it lets go of
// the memory. Called under a pool's lock.
func (a *arenas) dropped(arena uint64) {
	a.mu.Lock()
	_, ok := a.attached[arena]
	delete(a.attached, arena)
	a.mu.Unlock()
	if ok {
		a.c.background(func() {
			// A plugin that fails here only keeps memory mapped.
			_, _ = a.c.rpc.Detach(a.c.ctx, &proto.DetachRequest{Arena: arena})
		})
	}
}

func (a *arenas) close() {
	for _, stop := range a.stop {
		stop()
	}
}
