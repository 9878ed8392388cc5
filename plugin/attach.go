package plugin

import (
	"context"
	"sync"

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

// attach makes sure that the plugin has mapped an arena that cannot be
// dropped meanwhile, because the caller holds a region of it.
func (a *arenas) attach(ctx context.Context, arena *shm.Arena) error {
	a.mu.Lock()
	at, ok := a.attached[arena.ID()]
	if !ok {
		at = &attachment{done: make(chan struct{})}
		a.attached[arena.ID()] = at
	}
	a.mu.Unlock()
	if !ok {
		// Done to its end even when the caller goes away: others may wait.
		if at.err = a.send(arena); at.err != nil {
			a.mu.Lock()
			delete(a.attached, arena.ID())
			a.mu.Unlock()
		}
		close(at.done)
	}
	select {
	case <-at.done:
		return at.err
	case <-ctx.Done():
		return ctx.Err()
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
